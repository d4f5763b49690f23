/** Calls that are to be exported: noted with their charge, and forgotten when they are told elsewhere. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { CallId, UsageDetail } from '../../ledger/types.ts'

/** A call that was charged, without its content, which is nowhere. */
export type CallRecord = {
  readonly id: CallId
  /** When it was charged, by the database. */
  readonly at: Instant
  readonly keyId: string
  readonly orgId: string
  readonly payer: string
  readonly amount: Nano
  /** Absent for a call whose process died, and where details were deleted. */
  readonly detail?: UsageDetail
}

export type ExportStore = {
  /**
   * From now on each charge notes its call in the same transaction, so that no crash and no late charge skips one; or no
   * longer. Nothing happens where it is so already; what is noted stays.
   */
  noteExports(on: boolean): Promise<void>
  /** Up to so many noted calls, oldest ids first, which nobody else gets for so long. */
  claimExports(most: number, forMs: number): Promise<readonly CallRecord[]>
  /** They are told: they are forgotten. */
  exported(ids: readonly CallId[]): Promise<void>
  /** They are not: whoever asks next gets them. */
  releaseExports(ids: readonly CallId[]): Promise<void>
}
