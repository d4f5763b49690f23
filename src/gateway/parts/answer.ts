/** Answers on their way to the caller. */

/** Pieces that are pulled one by one; while nobody pulls, the vendor is held back. */
export type ByteStream = AsyncIterableIterator<Uint8Array>

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Values of `Set-Cookie`; each becomes a header of its own. */
  readonly cookies?: readonly string[]
  /** The whole body, or a stream whose end settles the call. */
  readonly body: Uint8Array | ByteStream
}

/**
 * The stream with its first piece put back. A plain object, because a generator around the stream would add a cost to
 * every piece.
 */
export const startedWith = (first: Uint8Array, rest: AsyncGenerator<Uint8Array>): ByteStream => {
  let held: Uint8Array | undefined = first
  const stream: ByteStream = {
    next: () => {
      if (held === undefined) return rest.next()
      const value = held
      held = undefined
      return Promise.resolve({ done: false, value })
    },
    return: () => rest.return(undefined),
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}
