/** A model as we sell it: its name, prices, limits and capabilities. */
import type { Json, JsonObject } from './json-body.ts'
import type { Pico } from './money.ts'
import type { Refusal } from './refusal.ts'
import type { Usage, UsageClass } from './usage.ts'

/** Pico-USD per unit and class. A class without a rate is priced as its base class (cache_read as input, reasoning as output). */
export type UnitPrices = { readonly [Class in UsageClass]?: Pico }

/** Rates that replace the base rates for the whole call once its input is longer than `aboveInputTokens`. */
export type Tier = { readonly aboveInputTokens: number; readonly rates: UnitPrices }

export type Price = {
  readonly rates: UnitPrices
  /** Ascending by `aboveInputTokens`; empty for most models. */
  readonly tiers: readonly Tier[]
  /** Version of the price table the rates come from, e.g. `genai-prices-0.1.8`, or `config`. */
  readonly version: string
}

/**
 * The cheaper, lower-priority way to the same model: the tier to ask the vendor for, and the price of a call that it
 * served in that tier.
 */
type Cheaper = { readonly tier: string; readonly price: Price }

export type ModelKind = 'chat' | 'embeddings' | 'media'

/** What a model produces, by the names of the specification's descriptors. */
export type Category =
  | 'chat'
  | 'embeddings'
  | 'image'
  | 'video'
  | 'speech'
  | 'transcription'
  | 'music'
  | 'video_editing'
  | 'utility'

/**
 * One call of a product that is not chat: its inputs (checked, with defaults), its unit prices and its maximum units.
 */
export type Priced = {
  readonly inputs: JsonObject
  readonly price: Price
  readonly most: Usage
  /** The units that the inputs ask for, where `most` has a margin above them. */
  readonly asked?: Usage
  /** The list price, where an organisation's own key is asked and `price` is not that. */
  readonly list?: Price
}

/**
 * Unit prices of calls whose inputs have these values, or one of a list of values. An empty `when` matches all other
 * calls.
 */
type PriceRow = {
  readonly when: Readonly<Record<string, Json | readonly Json[]>>
  readonly price: Price
}

/** An input that names media, by an address or a file of ours. */
export type MediaInput = {
  readonly name: string
  /** Whether it takes a list. */
  readonly list: boolean
  /** Types it takes, such as `image/*`, separated by commas. */
  readonly types: string
  /** Whether the vendor takes this address as it is. If not, we read it and pass a `data:` address instead. */
  readonly takes: (address: string) => boolean
}

/** What admission, pricing and descriptors need to know of a product that is not chat; its record is in `media/`. */
export type Product = {
  readonly category: Category
  readonly title: string
  readonly description: string
  /** The names of its inputs. */
  readonly inputs: readonly string[]
  /** The names of those inputs that name media. */
  readonly media: readonly MediaInput[]
  /** What `price` accepts, as JSON Schema; built on request. */
  readonly schema: () => JsonObject
  /** Example inputs for a first-time user. */
  readonly example: JsonObject
  /** What calls cost, by their inputs: the first row whose `when` matches applies. */
  readonly rows: readonly PriceRow[]
  /** Whether it answers at once, or by a job that may outlive its request. */
  readonly flow: 'once' | 'job'
  /** Checks and prices a call's inputs. */
  readonly price: (inputs: Json | undefined) => Priced | Refusal
}

export type Capability =
  | 'streaming'
  | 'function_calling'
  | 'vision'
  | 'audio'
  | 'reasoning'
  | 'structured_output'
  | 'embeddings'

/**
 * How to ask a model whose vendor speaks two dialects: which of them it takes (`both` are OpenAI's, `both_of_google`
 * generate-content and interactions), and when its chat completions refuse tools: beside a reasoning effort, or unless the
 * effort is `none`.
 */
export type RequestStyle = {
  readonly in: 'chat' | 'responses' | 'both' | 'interactions' | 'both_of_google'
  readonly chatTools?: 'without_effort' | 'effort_none'
}

export type Model = {
  /** `<vendor>/<name>`; the discounted twin carries a trailing `l`. */
  readonly id: string
  readonly vendor: string
  /** The name the vendor knows the model by. */
  readonly upstreamName: string
  readonly kind: ModelKind
  /** The highest price a call may be charged; holds use it. */
  readonly price: Price
  /** For a discounted model: the price that is charged instead while the vendor serves it in the cheaper tier. */
  readonly cheaper?: Cheaper
  /** Input plus output tokens the model can hold. */
  readonly contextTokens: number
  readonly maxOutputTokens: number
  readonly capabilities: readonly Capability[]
  /** The most tokens one image can cost, for holds. */
  readonly imageTokensMax: number
  /** When the vendor retires the model, in ms since 1970; from then on it is not sold. */
  readonly endsAt?: number
  /** The operator's own names for it. */
  readonly aliases?: readonly string[]
  /** Set where some of the vendor's models are not asked in the vendor's usual dialect. */
  readonly requestStyle?: RequestStyle
  /** For the kind `media`: how its calls are checked and priced. */
  readonly product?: Product
  /**
   * Of the twin under which a call by an organisation's own key runs: the model itself, the fee in place of its price, and
   * whether keys of the house may answer.
   */
  readonly own?: {
    readonly list: Model
    readonly fee: { readonly basisPoints: number; readonly perCall: bigint }
    readonly falls: boolean
  }
  /** The same model with its next price, and when that begins, in ms since 1970; it may have a next one too. */
  readonly coming?: { readonly from: number; readonly model: Model }
}
