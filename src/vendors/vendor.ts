/** A vendor as data: where it is, how it is called, and what it does that others do not. */
import type { UsageTaste } from '../metering/usage-taste.ts'
/**
 * What happens to the bill when the caller hangs up in mid-stream.
 * `stop`: the vendor stops generating and bills what it produced, so abort and charge what was delivered.
 * `drain`: the vendor finishes and bills anyway, so read on (bounded) to its usage and charge that.
 */
export type CancelPolicy = 'stop' | 'drain'

export type Vendor = UsageTaste & {
  readonly id: string
  readonly name: string
  /** Variable that holds the key; several keys are separated by commas. */
  readonly keyVariable: string
  /** Base address up to and without `/chat/completions`; `<ID>_BASE_URL` overrides it. */
  readonly baseUrl: string
  readonly surfaces: readonly ('chat' | 'embeddings')[]
  /** The member that bounds the output in requests to this vendor. */
  readonly outputBound: 'max_tokens' | 'max_completion_tokens'
  /** Whether `stream_options.include_usage` may be sent; false where the vendor refuses it and reports usage anyway. */
  readonly takesStreamOptions: boolean
  readonly cancel: CancelPolicy
  /** Value of `service_tier` for the discounted family, where the vendor has a cheaper tier. */
  readonly cheaperTier?: string
  /** Its sections in the two catalogues the price table is made of; without them, models come from the operator's settings. */
  readonly catalogue?: { readonly prices: string; readonly limits: string }
  /** Whether its models may be named without `<vendor>/`. */
  readonly shortIds?: boolean
  /** Headers beside the bearer. */
  readonly headers?: Readonly<Record<string, string>>
}
