/** A vendor's own batches: how they are asked for and read, and what they cost. Many calls are sent in one part. */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Outgoing, VendorAnswer } from '../../media/shape.ts'
import type { CachedInput } from '../../pricing/batch-price.ts'

export type VendorBatches = {
  readonly form: VendorBatchForm
  /** How a model's cached input is billed there, by the vendor's own name for it; undefined if its batches do not take it. */
  readonly cachedInput: (upstreamName: string) => CachedInput | undefined
  /**
   * What of the operator's they need, as turnpike.yaml gives it: a name for each model (`batches`), such as a deployment of its
   * own or an account, or a bucket (`batch`) of Amazon's S3 or of Google's Cloud Storage.
   */
  readonly needs?: 'names' | 's3' | 'gs'
  /** Where they are asked for, if not below the vendor's base address; at an address of the operator's own, its path there. */
  readonly at?: string
}

/** A bucket of the operator's that batches read and write. */
export type BatchBucket = {
  /** With the folder that is ours, such as `s3://bucket/folder`. */
  readonly uri: string
  /** As whom the vendor reads and writes there, where it asks for that. */
  readonly role?: string | undefined
  /** The only models that are handed on, by their names below the vendor's; without it, all that the vendor takes. */
  readonly models?: readonly string[] | undefined
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
  /** The operator's name for batches of the model; empty where none is needed. */
  readonly named: string
  readonly bucket?: BatchBucket | undefined
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
  /** A part of fewer is filled up, at the house's expense; so fewer lines than this of a batch are run here. */
  readonly callsLeast?: number
  /** Whether calls at this path can be in a batch. */
  readonly takes: (path: string) => boolean
  /** A call's body as it stands in a part, if not as in a call by itself; `named` as in a part. */
  readonly inPart?: (body: Uint8Array, named: string) => Uint8Array
  readonly submit: (part: NewPart) => Outgoing
  /**
   * The vendor's name of the part, or what is asked next, after a pause; undefined for an answer that is neither. The answer
   * to what was submitted is read with `step` 0.
   */
  readonly readSubmitted: (
    answer: VendorAnswer,
    part: NewPart,
    step: number,
  ) => string | { readonly next: Outgoing; readonly pauseMs?: number } | undefined
  /** Asks for a part by our id, or for the newest, to find it by that; absent where the vendor keeps no name of ours. */
  readonly newest?: (part: Pick<NewPart, 'id' | 'named'>) => Outgoing
  readonly found?: (answer: VendorAnswer, id: string) => string | undefined
  readonly poll: (ref: string) => Outgoing
  /** `next` asks where the results are. Undefined for an answer that says nothing of the part. */
  readonly readPoll: (
    answer: VendorAnswer,
    ref: string,
  ) => 'running' | EndedPart | { readonly next: Outgoing } | undefined
  /** Reads the answer to `next`. */
  readonly readPlaces?: (answer: VendorAnswer) => EndedPart | undefined
  readonly readResult: (line: JsonObject) => PartResult | undefined
  readonly cancel: (ref: string) => Outgoing
  /** Set where a part is refused for what it is, and never for one of its lines: these are sent again. */
  readonly refusesParts?: true
  /** Asks which objects a part has in the operator's bucket, and reads how each is removed. */
  readonly stored?: (part: Pick<NewPart, 'id' | 'bucket'>) => Outgoing
  readonly removals?: (answer: VendorAnswer) => readonly Outgoing[] | undefined
}

const encoder = new TextEncoder()

/** How much of a part vendors of files of lines are given. */
export const usualPart = { callsMost: 2_000, bytesMost: 16 * 1024 * 1024 } as const

/** Lines of JSON, each of a call: `head` of its id, a body that is not read again, and the end of the line. */
export const jsonLines = (
  calls: readonly { readonly id: string; readonly body: string | Uint8Array }[],
  head: (id: string) => string,
): Uint8Array => joined(calls.flatMap(({ id, body }) => [head(JSON.stringify(id)), body, '}\n']))

/** Bodies between texts, without reading them again. */
export const joined = (pieces: readonly (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece)))
