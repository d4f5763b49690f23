/**
 * The neutral form: what a call, an answer or a stream says, free of any dialect. Each dialect translates to and from
 * it, so N caller dialects and M vendor dialects need N + M translations. Same-dialect calls never come here: their
 * bytes pass through untouched.
 */
import type { Json, JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import type { Signature } from './translate/signatures.ts'

/** Inline bytes (base64), or an address that the vendor fetches. */
export type Media =
  | { readonly data: string; readonly mediaType: string }
  | { readonly url: string; readonly mediaType?: string }

export type Text = { readonly type: 'text'; readonly text: string; readonly cache?: Json }
export type Image = {
  readonly type: 'image'
  readonly media: Media
  readonly detail?: string
  readonly cache?: Json
}
export type Audio = { readonly type: 'audio'; readonly media: Media }
export type Document = {
  readonly type: 'document'
  readonly media: Media
  readonly name?: string
  readonly cache?: Json
}
/** `arguments` is JSON text, as the model wrote it. */
export type ToolCall = {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly signature?: Signature
  readonly cache?: Json
}
export type ToolResult = {
  readonly type: 'tool_result'
  readonly id: string
  readonly name?: string
  readonly parts: readonly (Text | Image | Document)[]
  readonly failed?: boolean
  readonly cache?: Json
}
/** Reasoning that may be shown; `redacted` has no text, only a signature that contains it. */
export type Thinking = {
  readonly type: 'thinking'
  readonly text: string
  readonly signature?: Signature
  readonly redacted?: boolean
}
type Declined = { readonly type: 'refusal'; readonly text: string }
/** What takes the place of a conversation; only answers to a compaction have one. */
type Summary = { readonly type: 'summary'; readonly text: string }
export type Part = Text | Image | Audio | Document | ToolCall | ToolResult | Thinking | Declined | Summary

export type Turn = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Part[]
  readonly name?: string
}

export type Tool = {
  readonly name: string
  readonly description?: string
  readonly parameters?: Json
  readonly strict?: boolean
  readonly cache?: Json
}
export type ToolChoice =
  /** `only` names the tools that may be called; all may when it is absent. */
  | { readonly type: 'auto' | 'none' | 'required'; readonly only?: readonly string[] }
  | { readonly type: 'named'; readonly name: string }

export type Format =
  | { readonly type: 'json' }
  | {
      readonly type: 'schema'
      readonly name: string
      readonly schema: Json
      readonly strict?: boolean
      readonly description?: string
    }

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof efforts)[number]
/** An effort, a token budget, or both; `show` asks for the reasoning's text. */
export type Reasoning = {
  readonly effort?: Effort
  readonly budget?: number
  readonly show?: boolean
}

type OutputKind = 'image' | 'audio'

type Sampling = {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** How many alternatives to report for each token; 0 reports only the chosen one. */
  readonly logprobs?: number
}

export type Conversation = Sampling & {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly parallelTools?: boolean
  readonly format?: Format
  readonly reasoning?: Reasoning
  /** What the answer may contain beside text. */
  readonly makes?: readonly OutputKind[]
  readonly stop: readonly string[]
  readonly choices: number
  readonly maxOutput?: number
  readonly user?: string
  /** Members of the request that have no place here, by name. The caller is told that they were not carried. */
  readonly ignored: readonly string[]
  /** Content that has no place here. Without it the vendor would answer another question, so the call is refused. */
  readonly unknownContent: readonly UnknownContent[]
}
/** Its place in the request, and what it is. */
export type UnknownContent = { readonly param: string; readonly what: string }

/** `compaction`: what it was asked for was a summary, and that is complete. */
export type Finish = 'stop' | 'stop_sequence' | 'length' | 'tool_calls' | 'content_filter' | 'compaction'

/** The source of a stretch of an answer's text; `from` and `to` count UTF-16 units of the whole text. */
export type Citation = {
  readonly url: string
  readonly title?: string
  /** The text found at the address. */
  readonly quote?: string
  readonly from: number
  readonly to: number
}

export type Choice = {
  readonly parts: readonly Part[]
  readonly finish: Finish
  readonly stopSequence?: string
  readonly logprobs?: Json
  /** In the vendor's order. */
  readonly citations?: readonly Citation[]
}
export type Reply = {
  readonly id: string
  readonly model: string
  readonly choices: readonly Choice[]
  readonly usage: Usage | undefined
  /** The prompt itself was blocked, and there is no answer. */
  readonly blocked?: boolean
  /** Why it is no answer: its vendor says that the model failed at it. */
  readonly fault?: string
  /** What else the vendor said that no caller gets, by name. */
  readonly notCarried?: readonly string[]
}

/** One step of a stream. Each choice numbers its tools from 0; a tool's arguments follow its start. */
export type Piece =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  | {
      readonly type: 'text' | 'thinking' | 'refusal' | 'summary'
      readonly choice: number
      readonly text: string
    }
  | {
      readonly type: 'signature'
      readonly choice: number
      readonly signature: Signature
      readonly redacted?: boolean
    }
  | {
      readonly type: 'tool'
      readonly choice: number
      readonly index: number
      readonly id: string
      readonly name: string
      readonly signature?: Signature
    }
  | { readonly type: 'arguments'; readonly choice: number; readonly index: number; readonly text: string }
  | { readonly type: 'image'; readonly choice: number; readonly image: Image }
  | { readonly type: 'audio'; readonly choice: number; readonly audio: Audio }
  | { readonly type: 'citation'; readonly choice: number; readonly citation: Citation }
  /** The vendor said something that no caller gets. */
  | { readonly type: 'not_carried'; readonly name: string }
  | { readonly type: 'logprobs'; readonly choice: number; readonly logprobs: Json }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly finish: Finish
      readonly stopSequence?: string
    }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'blocked' | 'ping' }
  /** The summary grows; it comes when it is whole. */
  | { readonly type: 'compacting' }
  | { readonly type: 'error'; readonly error: JsonObject }
  | { readonly type: 'end' }
