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

export type ModelKind = 'chat' | 'embeddings'

export type Capability =
  | 'streaming'
  | 'function_calling'
  | 'vision'
  | 'audio'
  | 'reasoning'
  | 'structured_output'
  | 'embeddings'

export type Model = {
  /** `<vendor>/<name>`; the discounted twin carries a trailing `l`. */
  readonly id: string
  readonly vendor: string
  /** The name the vendor knows the model by. */
  readonly upstreamName: string
  readonly kind: ModelKind
  readonly price: Price
  /** Input plus output tokens the model can hold. */
  readonly contextTokens: number
  readonly maxOutputTokens: number
  readonly capabilities: readonly Capability[]
  /** The most tokens one image can cost, for holds. */
  readonly imageTokensMax: number
  /** True for the discounted, lower-priority family. */
  readonly discounted: boolean
}
