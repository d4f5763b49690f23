/** A vendor's own batches: how they are asked for and read, and what they cost. Many calls are sent in one part. */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Outgoing, VendorAnswer } from '../../media/shape.ts'
import type { CachedInput } from '../../pricing/batch-price.ts'

export type VendorBatches = {
  readonly form: VendorBatchForm
  /** How a model's cached input is billed there, by the vendor's own name for it; undefined if its batches do not take it. */
  readonly cachedInput: (upstreamName: string) => CachedInput | undefined
  /** Set where they take only deployments of the operator's, which turnpike.yaml names for each model (`batches`). */
  readonly ownDeployments?: true
}

/** A call in a part: the request as it would be sent by itself, under an id that its result will have. */
type PartCall = { readonly id: string; readonly body: Uint8Array }

/** Calls of one model at one path. */
export type NewPart = {
  /** Ours; it is told to the vendor where the vendor keeps such a name. */
  readonly id: string
  /** Relative to the vendor's base address, as for a call by itself. */
  readonly path: string
  readonly upstreamName: string
  readonly calls: readonly PartCall[]
}

/** What the vendor says of one call. `unsent`: it was cancelled or expired there, and is not billed. */
export type PartResult = { readonly id: string } & (
  | { readonly status: number; readonly body: Json }
  | { readonly unsent: true }
)

/** A part that has ended: where its results are, or the results themselves, as lines of JSON. */
export type EndedPart = { readonly files: readonly Outgoing[]; readonly lines: readonly JsonObject[] }

export type VendorBatchForm = {
  /** How much one part may have. */
  readonly callsMost: number
  readonly bytesMost: number
  /** Whether calls at this path can be in a batch. */
  readonly takes: (path: string) => boolean
  readonly submit: (part: NewPart) => Outgoing
  /** The vendor's name of the part, or what is asked next, after a pause; undefined for an answer that is neither. */
  readonly readSubmitted: (
    answer: VendorAnswer,
    part: NewPart,
  ) => string | { readonly next: Outgoing; readonly pauseMs?: number } | undefined
  /** Asks for the newest parts, to find one by our id; absent where the vendor keeps no name of ours. */
  readonly newest?: Outgoing
  readonly found?: (answer: VendorAnswer, id: string) => string | undefined
  readonly poll: (ref: string) => Outgoing
  /** Undefined for an answer that says nothing of the part. */
  readonly readPoll: (answer: VendorAnswer, ref: string) => 'running' | EndedPart | undefined
  readonly readResult: (line: JsonObject) => PartResult | undefined
  readonly cancel: (ref: string) => Outgoing
}

const encoder = new TextEncoder()

/** Bodies between texts, without reading them again. */
export const joined = (pieces: readonly (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece)))
