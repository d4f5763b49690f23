/** A call on its way to a vendor of another dialect: what the translation needs to know, and what it returns. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'

/** How one vendor wants its requests, where vendors of a dialect differ. */
export type Quirks = {
  /** Chat completions: the member that bounds the output. */
  readonly outputBound: 'max_tokens' | 'max_completion_tokens'
  /** Chat completions: whether `stream_options.include_usage` may be sent. */
  readonly takesStreamOptions: boolean
  /** Messages: whether to mark long beginnings that will come again for the vendor's cache. */
  readonly cacheMarks?: boolean
  /**
   * Chat completions: what the vendor does with its own reasoning when a caller sends it back. `needed`: without it, it
   * refuses a loop of tools; `taken`: it continues thinking from it; `refused`: it refuses the member. Absent if no
   * public source says: then what a caller of the same dialect sends passes, and no other reasoning is sent.
   */
  readonly reasoningBack?: 'needed' | 'taken' | 'refused'
  /**
   * Chat completions: how to turn reasoning off. `openai`: by an effort that depends on the model; `none`: by that
   * effort; else by the member of that name. Absent if no public source says: then the caller is told that it was not
   * turned off.
   */
  readonly reasoningOff?: 'openai' | 'none' | 'thinking' | 'enable_thinking'
  /**
   * Its models compact a conversation when they are asked to in its own dialect. The name is that of the maker on what
   * it made: nobody else can read it.
   */
  readonly compacts?: string
  /**
   * OpenAI's dialects: the tier that the listed prices are for, where the vendor's own settings may choose a dearer one
   * for calls that name none. Absent if none of its tiers is dearer without being asked for.
   */
  readonly standardTier?: 'default'
  /** Chat completions: sampling members and stop sequences that its reasoning models refuse. */
  readonly refusedBesideReasoning?: readonly ('presencePenalty' | 'frequencyPenalty' | 'stop')[]
  /** Chat completions: members that it refuses in every call of another dialect. */
  readonly refuses?: readonly ('logprobs' | 'user')[]
  /** Chat completions: the member that holds the seed; `seed` when absent. */
  readonly seed?: 'random_seed'
}

export type Target = {
  readonly model: Model
  readonly quirks: Quirks
  /** The bound that was priced; undefined leaves the caller's own, or none. */
  readonly outputBound: number | undefined
  readonly stream: boolean
  /** Betas of the messages dialect that this vendor takes. */
  readonly betas?: readonly string[]
}

export type Encoded = {
  readonly body: JsonObject
  /** What is not carried, by name; the answer means the same without it. */
  readonly notCarried: readonly string[]
}

/** Asks in words for JSON, where the dialect or the vendor has no member for it. */
export const AS_JSON = 'Answer with one JSON object and nothing else.'

/** The 400 for what the vendor's dialect cannot express: without it the vendor would answer another question. */
export const refuseUnsupported = (param: string, what: string): Refusal =>
  invalid(param, `The model's vendor cannot take ${what}; leave it out or choose another model.`)
