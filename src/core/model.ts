/** A model as it is sold: its name, prices, limits and capabilities. */
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

/** The lower-priority way to the same model: the tier asked of the vendor, and what a call costs that it served there. */
type Cheaper = { readonly tier: string; readonly price: Price }

export type ModelKind = 'chat' | 'embeddings' | 'media'

/** What a model makes, as the specification's descriptors name it. */
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

/** One call of a product that is not chat: its inputs, checked and with defaults, its unit prices and the most units. */
export type Priced = { readonly inputs: JsonObject; readonly price: Price; readonly most: Usage }

/** Unit prices of the calls whose inputs have these values, or one of them; of all others, when it is empty. */
type PriceRow = {
  readonly when: Readonly<Record<string, Json | readonly Json[]>>
  readonly price: Price
}

/** An input that names media, by an address or a file of ours. */
export type MediaInput = {
  readonly name: string
  /** Whether it takes a list of them. */
  readonly list: boolean
  /** Types it takes, such as `image/*`, separated by commas. */
  readonly types: string
  /** Whether it takes this address as it is; what it does not take is read, and given to it as a `data:` address. */
  readonly takes: (address: string) => boolean
}

/** What admission, pricing and descriptors need of a product that is not chat; its record is in `media/`. */
export type Product = {
  readonly category: Category
  readonly title: string
  readonly description: string
  /** Names of its inputs. */
  readonly inputs: readonly string[]
  /** Those of them that name media. */
  readonly media: readonly MediaInput[]
  /** What `price` accepts, as JSON Schema; made when it is asked for. */
  readonly schema: () => JsonObject
  /** Inputs that a first-time user sends. */
  readonly example: JsonObject
  /** What calls cost by their inputs: the first row whose `when` holds. */
  readonly rows: readonly PriceRow[]
  /** It is answered at once, or by a job that may outlive its request. */
  readonly flow: 'once' | 'job'
  /** Checks and prices the inputs of a call. */
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
 * How a model is asked whose vendor speaks both of OpenAI's dialects: in which of them, and when chat completions refuse
 * its tools: beside an effort, or unless the effort is `none`.
 */
export type AskStyle = {
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
  readonly asked?: AskStyle
  /** Of the kind `media`: how its calls are checked and priced. */
  readonly product?: Product
  /** The same model at the price that it has from then on, in ms since 1970; it may have a next one too. */
  readonly coming?: { readonly from: number; readonly model: Model }
}
