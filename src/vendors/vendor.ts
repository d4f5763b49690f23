/** A vendor as data: where it is, how to call it, and how it differs from others. */
import type { Model, RequestStyle, UnitPrices } from '../core/model.ts'
import type { VendorTraits } from '../dialects/dialect.ts'
import type { VendorMedia } from '../media/product.ts'
import type { VendorBatches } from './batches/vendor-batch.ts'

/**
 * What happens to the bill when the caller hangs up in mid-stream.
 * `stop`: the vendor stops generating and bills what it produced, so abort and charge what was delivered.
 * `drain`: the vendor finishes and bills anyway, so read on (bounded) to its usage and charge that.
 */
export type CancelPolicy = 'stop' | 'drain'

export type Vendor = VendorTraits & {
  readonly id: string
  readonly name: string
  /** Variable that holds the key; commas separate several keys. */
  readonly keyVariable: string
  /** Another variable, without which the vendor stays off. */
  readonly alsoNeeds?: string
  /** Base address, up to and without the dialect's own path; `<ID>_BASE_URL` overrides it. */
  readonly baseUrl: string
  readonly surfaces: readonly ('chat' | 'embeddings')[]
  /** Set to Amazon's binary framing of streams; server-sent events when absent. */
  readonly framing?: 'aws'
  readonly cancel: CancelPolicy
  /** The header that carries the key; `Authorization: Bearer` when absent. */
  readonly auth?:
    | 'bearer'
    | 'x-api-key'
    | 'x-goog-api-key'
    | 'api-key'
    | 'xi-api-key'
    | 'x-key'
    | 'Token'
    | 'Key'
    | 'DeepL-Auth-Key'
    /** `Authorization` without a scheme. */
    | 'plain'
  /** The path of a call if it differs from the dialect's own, which it receives. */
  readonly path?: (model: Model, usual: string) => string
  /** How to ask a model, by the vendor's own name for it, if not all models are asked in one dialect. */
  readonly requestStyleOf?: (upstreamName: string) => RequestStyle | undefined
  /**
   * Its sections in the two catalogues from which the price table is made; without them, models come from the
   * operator's settings.
   */
  readonly catalogue?: {
    readonly prices: string
    readonly limits: string
    /** A pattern of the names that are the vendor's own, if its section contains others. */
    readonly names?: string
  }
  /** Its own name for a model of the price table, where the table has another. */
  readonly wireName?: (name: string) => string
  /** Whether its models may be named without `<vendor>/`. */
  readonly shortIds?: boolean
  /** What the tools that it runs cost beside tokens, by its own name of the model; only then are these sold. */
  readonly hostedRatesOf?: (upstreamName: string) => UnitPrices | undefined
  /** Its own batches, if they cost less than calls. */
  readonly batches?: VendorBatches
  /** Its products that are not chat. */
  readonly media?: VendorMedia
  /** Its WebSocket at the address of responses, and how many minutes one may stay open. */
  readonly socket?: { readonly minutes: number }
  /** Headers beside the credential. */
  readonly headers?: Readonly<Record<string, string>>
}
