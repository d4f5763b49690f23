/** A model as it is sold: its name, prices, limits and capabilities. */
import type { Pico } from './money.ts'
import type { UsageClass } from './usage.ts'

/** Pico-USD per unit and class. A class without a rate is priced as its base class (cache_read as input, reasoning as output). */
export type Rates = { readonly [Class in UsageClass]?: Pico }

/** Rates that replace the base rates for the whole call once its input is longer than `aboveInputTokens`. */
export type Tier = { readonly aboveInputTokens: number; readonly rates: Rates }

export type Price = {
  readonly rates: Rates
  /** Ascending by `aboveInputTokens`; empty for most models. */
  readonly tiers: readonly Tier[]
  /** Version of the price table the rates come from, e.g. `genai-prices-0.1.8`, or `config`. */
  readonly version: string
}

/** The lower-priority way to the same model: the tier asked of the vendor, and what a call costs that it served there. */
type Cheaper = { readonly tier: string; readonly price: Price }

export type ModelKind = 'chat' | 'embeddings'

export type Capability =
  | 'streaming'
  | 'function_calling'
  | 'vision'
  | 'audio'
  | 'reasoning'
  | 'structured_output'
  | 'embeddings'

/**
 * How a model is asked whose vendor speaks both of OpenAI's dialects: in which of them, and when chat completions refuse
 * its tools: beside an effort, or unless the effort is `none`.
 */
export type Asked = {
  readonly in: 'chat' | 'responses' | 'both'
  readonly chatTools?: 'without_effort' | 'effort_none'
}

export type Model = {
  /** `<vendor>/<name>`; the discounted twin carries a trailing `l`. */
  readonly id: string
  readonly vendor: string
  /** The name the vendor knows the model by. */
  readonly upstreamName: string
  readonly kind: ModelKind
  /** The most a call may be charged by: holds are made of it. */
  readonly price: Price
  /** Of a discounted model: what it is charged instead, as long as the vendor serves it in the cheaper tier. */
  readonly cheaper?: Cheaper
  /** Input plus output tokens the model can hold. */
  readonly contextTokens: number
  readonly maxOutputTokens: number
  readonly capabilities: readonly Capability[]
  /** The most tokens one image can cost, for holds. */
  readonly imageTokensMax: number
  /** When the vendor ends the model, in ms since 1970: from then on it is not sold. */
  readonly endsAt?: number
  /** The operator's own names for it. */
  readonly aliases?: readonly string[]
  /** Where the vendor's models are not all asked in its one dialect. */
  readonly asked?: Asked
}
