/** Responses that are kept for the key that asked for them, so that its next request can name them. */
import type { KeyId } from '../../tenancy/key.ts'

/** One item of an output. */
type KeptItem = { readonly id: string; readonly body: string }

export type KeptResponse = {
  readonly keyId: KeyId
  readonly id: string
  /** The response it went on from. */
  readonly previousId: string | undefined
  /** JSON of the request's own items, as a list. */
  readonly input: string
  /** JSON of the response without its output. */
  readonly body: string
  readonly output: readonly KeptItem[]
}

export type ResponseStore = {
  /** Keeps a response for `lifeMs`; the same id again replaces it. The oldest of a key go when all are larger than their bound. */
  keepResponse(response: KeptResponse, lifeMs: number): Promise<void>
  /**
   * The items of a conversation up to and with a response, oldest first, as JSON: each request's list, and each item of an
   * output. All of it is kept for another `lifeMs`. Undefined when a part of it is not there any more, or when it is longer
   * than `bytesMax`.
   */
  conversation(
    keyId: KeyId,
    id: string,
    within: { readonly lifeMs: number; readonly bytesMax: number },
  ): Promise<readonly string[] | undefined>
  /** JSON of the named items of outputs, by id; those that are not there are left out. */
  keptItems(keyId: KeyId, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** JSON of a response without its output, and of each item of the output. */
  keptResponse(
    keyId: KeyId,
    id: string,
  ): Promise<{ readonly body: string; readonly output: readonly string[] } | undefined>
  /** False when there is none. */
  forgetResponse(keyId: KeyId, id: string): Promise<boolean>
}
