/** Answers on their way to the caller. */

/** Pieces that are taken one by one; taking none holds the vendor back. */
export type ByteStream = AsyncIterableIterator<Uint8Array>

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** `Set-Cookie`, each a header of its own. */
  readonly cookies?: readonly string[]
  /** Whole, or as a stream whose end settles the call. */
  readonly body: Uint8Array | ByteStream
}

/** The stream with its first piece put back; a plain object, since a generator around it would cost every piece anew. */
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
