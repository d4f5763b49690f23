/** A vendor as data: where it is, how it is called, and what it does that others do not. */
import type { AskStyle, Model } from '../core/model.ts'
import type { Speaker } from '../dialects/dialect.ts'
import type { VendorMedia } from '../media/product.ts'

/**
 * What happens to the bill when the caller hangs up in mid-stream.
 * `stop`: the vendor stops generating and bills what it produced, so abort and charge what was delivered.
 * `drain`: the vendor finishes and bills anyway, so read on (bounded) to its usage and charge that.
 */
export type CancelPolicy = 'stop' | 'drain'

export type Vendor = Speaker & {
  readonly id: string
  readonly name: string
  /** Variable that holds the key; several keys are separated by commas. */
  readonly keyVariable: string
  /** A further variable without which the vendor stays off. */
  readonly alsoNeeds?: string
  /** Base address, up to and without the dialect's own path; `<ID>_BASE_URL` overrides it. */
  readonly baseUrl: string
  readonly surfaces: readonly ('chat' | 'embeddings')[]
  /** Amazon's binary framing of streams; server-sent events when absent. */
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
  /** The path of a call where it is not the dialect's own, which is given. */
  readonly path?: (model: Model, usual: string) => string
  /** How a model is asked, by the vendor's own name of it, where they are not all asked in one dialect. */
  readonly asked?: (upstreamName: string) => AskStyle | undefined
  /** Its sections in the two catalogues the price table is made of; without them, models come from the operator's settings. */
  readonly catalogue?: {
    readonly prices: string
    readonly limits: string
    /** A pattern of the names that are the vendor's own, where its section holds others. */
    readonly names?: string
  }
  /** Whether its models may be named without `<vendor>/`. */
  readonly shortIds?: boolean
  /** What it sells that is not chat. */
  readonly media?: VendorMedia
  /** Headers beside the credential. */
  readonly headers?: Readonly<Record<string, string>>
}
