/** Calls to be exported: recorded with their charge, and deleted when the sink has them. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { CallId, UsageDetail } from '../../ledger/types.ts'

/** A charged call, without its content, which is stored nowhere. */
export type CallRecord = {
  readonly id: CallId
  /** When it was charged, by the database. */
  readonly at: Instant
  readonly keyId: string
  readonly orgId: string
  readonly payer: string
  readonly amount: Nano
  /** Absent for a call whose process died, and if details were deleted. */
  readonly detail?: UsageDetail
}

export type ExportStore = {
  /**
   * Turns recording on or off. While it is on, each charge records its call in the same transaction, so that no crash
   * and no late charge skips one. Nothing happens if that is the present state; recorded calls stay.
   */
  noteExports(on: boolean): Promise<void>
  /** Up to `most` recorded calls, oldest ids first, which nobody else gets for a while. */
  claimExports(most: number, forMs: number): Promise<readonly CallRecord[]>
  /** They were exported: they are deleted. */
  exported(ids: readonly CallId[]): Promise<void>
  /** They were not exported: whoever asks next gets them. */
  releaseExports(ids: readonly CallId[]): Promise<void>
}
