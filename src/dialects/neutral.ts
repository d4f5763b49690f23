/**
 * The neutral form: what a call, an answer and a stream say, in no dialect's own words. Each dialect translates to and
 * from it, so that N ways to ask and M ways to be asked need N + M translations. Same-dialect calls never pass through
 * here: their bytes go through untouched.
 */
import type { Json, JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import type { Signature } from './signatures.ts'

/** Bytes inline (base64) or an address the vendor fetches. */
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
/** Reasoning that may be shown; `redacted` has no text, only a signature that holds it. */
export type Thinking = {
  readonly type: 'thinking'
  readonly text: string
  readonly signature?: Signature
  readonly redacted?: boolean
}
type Declined = { readonly type: 'refusal'; readonly text: string }
export type Part = Text | Image | Audio | Document | ToolCall | ToolResult | Thinking | Declined

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
  /** `only` names those of the tools that may be called; all when absent. */
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
/** An effort, a budget of tokens, or both; `show` asks for the reasoning's text. */
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
  /** How many alternatives to report for each token; 0 for the chosen one alone. */
  readonly logprobs?: number
}

export type Conversation = Sampling & {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly parallelTools?: boolean
  readonly format?: Format
  readonly reasoning?: Reasoning
  /** What the answer may hold beside text. */
  readonly makes?: readonly OutputKind[]
  readonly stop: readonly string[]
  readonly choices: number
  readonly maxOutput?: number
  readonly user?: string
  /** Members of the request that have no place here, by name. The caller is told that they are not carried. */
  readonly ignored: readonly string[]
  /** Content that has no place here: without it another question would be answered, so the call is refused. */
  readonly unknownContent: readonly UnknownContent[]
}
/** Where it stands in the request, and what it is. */
export type UnknownContent = { readonly param: string; readonly what: string }

export type Finish = 'stop' | 'stop_sequence' | 'length' | 'tool_calls' | 'content_filter'

/** Where a stretch of an answer's text is from; `from` and `to` count UTF-16 units of the whole text. */
export type Citation = {
  readonly url: string
  readonly title?: string
  /** The text that stands at the address. */
  readonly quote?: string
  readonly from: number
  readonly to: number
}

export type Choice = {
  readonly parts: readonly Part[]
  readonly finish: Finish
  readonly stopSequence?: string
  readonly logprobs?: Json
  /** In the order in which the vendor named them. */
  readonly citations?: readonly Citation[]
}
export type Reply = {
  readonly id: string
  readonly model: string
  readonly choices: readonly Choice[]
  readonly usage: Usage | undefined
  /** The prompt itself was blocked, and there is no answer. */
  readonly blocked?: boolean
  /** What else the vendor said that is not carried to any caller, by name. */
  readonly notCarried?: readonly string[]
}

/** One step of a stream. Tools are numbered from 0 in each choice; a tool's arguments follow its start. */
export type Piece =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  | { readonly type: 'text' | 'thinking' | 'refusal'; readonly choice: number; readonly text: string }
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
  /** Something was said that is not carried to any caller. */
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
  | { readonly type: 'error'; readonly error: JsonObject }
  | { readonly type: 'end' }
