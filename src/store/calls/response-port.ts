/** Responses that are kept for the key that asked for it, so that its later requests can name them. */
import type { KeyId } from '../../tenancy/key.ts'

/** One item of an output. */
type KeptItem = { readonly id: string; readonly body: string }

export type KeptResponse = {
  readonly keyId: KeyId
  readonly id: string
  /** The response that it continued. */
  readonly previousId: string | undefined
  /** JSON of the request's own items, as a list. */
  readonly input: string
  /** JSON of the response without its output. */
  readonly body: string
  readonly output: readonly KeptItem[]
}

export type ResponseStore = {
  /**
   * Keeps a response for `lifeMs`; the same id again replaces it. If a key's responses exceed their limit, its oldest
   * ones are deleted.
   */
  keepResponse(response: KeptResponse, lifeMs: number): Promise<void>
  /**
   * The items of a conversation up to and including a response, oldest first, as JSON: each request's list, and each
   * item of an output. All of it is kept for another `lifeMs`. Undefined when part of it no longer exists, or when it
   * is longer than `bytesMax`.
   */
  conversation(
    keyId: KeyId,
    id: string,
    within: { readonly lifeMs: number; readonly bytesMax: number },
  ): Promise<readonly string[] | undefined>
  /** JSON of the named items of outputs, by id; missing ones are left out. */
  keptItems(keyId: KeyId, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** JSON of a response without its output, and of each item of the output. */
  keptResponse(
    keyId: KeyId,
    id: string,
  ): Promise<{ readonly body: string; readonly output: readonly string[] } | undefined>
  /** False if there is none. */
  forgetResponse(keyId: KeyId, id: string): Promise<boolean>
}
