/** Who an exchange with a vendor is for, as the exchange sees them. */

/** Whoever waits for the answer. */
export type Requester = {
  /** Whose call it is. */
  readonly keyId: string
  /** Whether they have gone; checked at each look of the watch. */
  hasGone(): boolean
  /** Called once when they have gone. */
  onGone(): void
  /** Called when the request is really sent, for a `fetch` that waits first: time before that is this process's own. */
  onSend(): void
  /** Called when a whole body is there: time after that is this process's own. */
  onWhole(): void
}

/** Counts an answer that is read whole. */
export type Counting = {
  /** Called with the number of bytes about to be kept; throws if they may not be. */
  take(bytes: number): void
  /** Called with a whole body before it is passed on; throws if the memory for parsing it may not be used. */
  weigh(body: Uint8Array): void
}
