/** Answers on their way to the caller. */

/** Pieces that are taken one by one; taking none holds the vendor back. */
export type ByteStream = AsyncIterableIterator<Uint8Array>

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Whole, or as a stream whose end settles the call. */
  readonly body: Uint8Array | ByteStream
}
