/**
 * What a package of products that this machine makes by itself tells the program: each product as a record, and the
 * function that makes it. Neither knows more of the other. The package imports types from this file and nothing else of
 * ours; the program imports the package's entry, which package.json names `#local-media`, and sells what that lists
 * under the vendor `local`.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import type { MediaModel } from '../../media/product.ts'

/** The inputs of a call or the facts of a result: a JSON object. */
export type Facts = JsonObject

/** What was made: facts, with pictures in base64 in `images`; or the bytes of a sound or film. */
export type Made =
  | { readonly json: Facts }
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly mediaType: string }

/** Bytes of a stored file from `start` up to but not including `end`; it stays with the server. */
export type Part = (start: number, end: number) => Promise<Uint8Array>

/**
 * Makes a product from checked inputs and the bytes that one of them names (none if none does). It runs in a process of
 * its own, without keys and settings, which is killed after 120 s of a processor or at 1 GB. Rejects with an Error that has a `field`,
 * the name of an input, if that is to blame; the message then goes to the caller, and ends without a full stop.
 */
export type Make = (inputs: Facts, bytes: Uint8Array<ArrayBuffer>, part: Part) => Promise<Made>

/** How a job ends, after how many seconds, and the inputs with which its result is made then. */
export type LocalJob = {
  readonly seconds: number
  readonly outcome: 'done' | 'failed' | 'blocked'
  readonly inputs: Facts
}

export type LocalProduct = Omit<MediaModel, 'shape' | 'upstreamName' | 'ends'> & {
  /** `bytes`: a sound or film. */
  readonly makes: 'images' | 'text' | 'facts' | 'bytes'
  /** The units of a result. Without it each image counts one, and anything else is the most that its inputs can cost. */
  readonly measure?: (inputs: Facts, made: Facts) => Usage
  /** The input that holds bytes or their https address, which the server fetches, and how many there may be. */
  readonly bytesFrom?: { readonly field: string; readonly bytesMax: number }
  /** It answers as a job. The inputs stand in the job's name: no prompt. */
  readonly job?: (inputs: Facts) => LocalJob
  readonly load: () => Promise<Make>
}

export type LocalPackage = {
  /** What this installation can make. */
  readonly products: readonly LocalProduct[]
  /** What it could with more npm packages. */
  readonly absent: readonly { readonly name: string; readonly packages: readonly string[] }[]
  /**
   * Measures a stored sound or film, of which it reads parts. Its input is `bytes`, the file's size; its result `ms`,
   * whole milliseconds rounded up, null if nobody can tell.
   */
  readonly length?: () => Promise<Make>
}
