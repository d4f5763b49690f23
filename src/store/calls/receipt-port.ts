/** The store's port for receipts. */
import type { Instant, Month } from '../../core/time.ts'
import type { CallId, ChargedCall } from '../../ledger/types.ts'
import type { Actor } from '../people/event-port.ts'

export type StoredReceiptKey = {
  readonly number: number
  readonly kid: string
  readonly publicKey: string
  readonly sealed: string
  readonly signsFrom: Instant
  readonly createdAt: Instant
}

/** Receipts: the keys that sign them, and their contents. */
export type ReceiptStore = {
  /** All keys, oldest first. */
  receiptKeys(): Promise<readonly StoredReceiptKey[]>
  /**
   * Adds the key that signs from `waitMs` on; returns the key of that number, which may be one that another process
   * added first.
   */
  addReceiptKey(
    key: Pick<StoredReceiptKey, 'number' | 'kid' | 'publicKey' | 'sealed'>,
    waitMs: number,
    by: Actor,
  ): Promise<StoredReceiptKey>
  /** Replaces the sealed form of a key, unless it has changed meanwhile. */
  sealReceiptKey(kid: string, it: { readonly before: string; readonly sealed: string }): Promise<void>
  /** False if there is no such key. */
  removeReceiptKey(kid: string, by: Actor): Promise<boolean>
  /** A call that was charged, with the month that it counts in; or one that the house paid. */
  chargedCall(callId: CallId): Promise<(ChargedCall & { readonly month?: Month }) | undefined>
}
