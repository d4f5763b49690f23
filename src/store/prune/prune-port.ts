/** What grows beside the postings and is not needed for ever: deleted in batches, when its time is over. */
import type { Instant } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'

/** One batch of details. */
type PrunedDetails = {
  readonly deleted: number
  /** The last call that was looked at; absent when all were. */
  readonly next?: CallId
}

export type Dropped = {
  readonly months: number
  /** Whether others held it up: it may be asked for again. */
  readonly busy: boolean
}

export type PruneStore = {
  /** Makes places ahead for the details of months to come, where the engine keeps months apart. */
  keepMonths(): Promise<void>
  /**
   * Settles that details of calls charged before this month and so many before it are deleted, and tells that instant.
   * Reports read the sums of what is before it from then on, which are made first.
   */
  endDetails(months: number): Promise<Instant>
  /**
   * Drops whole months of details of calls that began before the instant, where the engine keeps months apart. What must
   * stay longer stays, for `pruneDetails`.
   */
  dropMonths(before: Instant): Promise<Dropped>
  /**
   * Looks at so many details of old calls behind a call, and deletes those of calls charged before the instant. What waits
   * to be exported stays. Postings are never touched.
   */
  pruneDetails(before: Instant, after: CallId, most: number): Promise<PrunedDetails>
  /**
   * Deletes so many of each at most: attempts to sign in, sessions and links that ended, and of before the instant
   * checkouts that nobody paid and payments by x402 that moved no money. Tells how many of the one that had most.
   */
  pruneRest(before: Instant, most: number): Promise<number>
}
