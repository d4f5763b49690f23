/** The store's port for money under way and money posted. */
import type { Nano } from '../../core/money.ts'
import type {
  AccountId,
  CallId,
  CommitBatch,
  CommitResult,
  InstanceId,
  LeaseId,
  Loan,
  LoanRefused,
  LoanRequest,
  Transfer,
} from '../../ledger/types.ts'
import type { NewEvent } from '../people/event-port.ts'

export type AuditRow = { readonly check: string; readonly ok: boolean; readonly detail?: string }

/** Money under way: leases, holds, settlement. */
export type LedgerStore = {
  lend(ask: LoanRequest): Promise<Loan | LoanRefused>
  /**
   * Returns unused room. The instance subtracts it from its memory before asking, and an unknown outcome counts as
   * returned, so this is the one method that is never repeated. Room that open calls hold must not be returned.
   */
  giveBack(lease: LeaseId, back: Nano): Promise<void>
  /**
   * Ends own leases: all that no open call holds of them is free, known to the instance or not. One with open calls
   * closes after them. Repeating it changes nothing.
   */
  release(instance: InstanceId, leases: readonly LeaseId[]): Promise<void>
  /**
   * Extends the instance's own leases by `ttlMs`, at most to the end of the UTC day. Leases that have ended or were
   * fenced are missing from the answer.
   */
  renew(
    instance: InstanceId,
    leases: readonly LeaseId[],
    ttlMs: number,
  ): Promise<readonly { readonly leaseId: LeaseId; readonly lifeMs: number }[]>
  /**
   * One group commit. Call ids that grow with time (`newId`) halve its cost, because the indexes then grow at
   * their end.
   */
  commit(batch: CommitBatch): Promise<CommitResult>
  /**
   * Posts a transfer outside a call. The same (kind, ref) with other content throws `ReplayConflict`; more than a
   * wallet has free throws `Overdrawn`. A refund's ref is the call's id, or `<call id>:<n>` for a further refund.
   * Refunds together never exceed the call's charge, and they count back against the caps in the call's month. The
   * event is recorded together with the posting.
   */
  post(transfer: Transfer, event?: NewEvent): Promise<'posted' | 'replayed'>
  /**
   * Expired leases: fences them and frees money without a durable intent; after `longestCallMs`, charges orphans for
   * their last checkpoint.
   */
  reap(bounds: {
    graceMs: number
    longestCallMs: number
  }): Promise<{ quarantined: number; closed: number; recovered: number }>
  /** Checks every law of the books; `sums` leaves out what reads the detail of each call. */
  audit(what?: 'all' | 'sums'): Promise<readonly AuditRow[]>
  /** Balance of a house account or wallet by its postings. */
  balance(account: AccountId): Promise<Nano>
  /** Everything that was posted under a reference, such as a call's id. */
  transfersOf(ref: string): Promise<readonly Transfer[]>
  /** Which of these calls the ledger has charged, or written off. */
  charged(calls: readonly CallId[]): Promise<ReadonlySet<CallId>>
}
