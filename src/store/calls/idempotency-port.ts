/** The store's port for calls that may be repeated. */
import type { CallId, IdempotencyRef, InstanceId, StoredAnswer } from '../../ledger/types.ts'

export type IdempotencyState =
  /** Run it, under this id: the proposed one, or that of the attempt it repeats, so that both collide in the ledger. */
  | { readonly state: 'first'; readonly callId: CallId }
  | { readonly state: 'running'; readonly by: InstanceId }
  | { readonly state: 'done'; readonly answer: StoredAnswer; readonly callId: CallId }
  | { readonly state: 'conflict' }

/** The name that an answer is kept under, and who claims it. */
export type Claim = {
  readonly ref: IdempotencyRef
  readonly instance: InstanceId
  readonly lockMs: number
}

/** Calls under an Idempotency-Key; kept for 24 hours. `commit` stores answers together with the settlement. */
export type IdempotencyStore = {
  /**
   * Claims the key, or says who has it. A claim is free again when it was released, when its lock expired, or when its
   * instance has not sent a heartbeat for 3 s; then the next attempt runs under the id of the first.
   */
  begin(
    entry: Claim & {
      fingerprint: string
      /** The same under the server's previous secret: a claim with this fingerprint has the same content. */
      fingerprintBefore?: string | undefined
      callId: CallId
    },
  ): Promise<IdempotencyState>
  /**
   * The call failed in a way that may be retried: the next attempt runs again, under the same id. Only the instance
   * that has the claim can release it, because another one may have taken it over.
   */
  release(ref: IdempotencyRef, by: InstanceId): Promise<void>
  /** The stored answer of a call. */
  kept(ref: IdempotencyRef, callId: CallId): Promise<StoredAnswer | undefined>
  /** Nothing came of the claim, so it is as if it had never been made. */
  forget(ref: IdempotencyRef, callId: CallId, by: InstanceId): Promise<void>
}
