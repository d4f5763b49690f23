/** An answer on its way to the caller. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Whole, or as a stream whose end settles the call. */
  readonly body: Uint8Array | AsyncGenerator<Uint8Array>
}
