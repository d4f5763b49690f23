/** What grows beside the postings and is not needed for ever; it is deleted in batches when its time is over. */
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
  /** Whether others held it up; then it may be requested again. */
  readonly busy: boolean
}

export type PruneStore = {
  /** Makes room in advance for the details of future months, if the engine keeps months apart. */
  keepMonths(): Promise<void>
  /**
   * Decides that details of calls charged before the present month and the `months` before it are deleted, and returns
   * that instant. From then on reports read sums for the time before it; the sums are made first.
   */
  endDetails(months: number): Promise<Instant>
  /**
   * Drops whole months of details of calls that began before the instant, if the engine keeps months apart. What must
   * stay longer is left for `pruneDetails`.
   */
  dropMonths(before: Instant): Promise<Dropped>
  /**
   * Looks at a number of details of old calls after a given call, and deletes those of calls charged before the
   * instant. Calls that wait to be exported stay. Postings are never touched.
   */
  pruneDetails(before: Instant, after: CallId, most: number): Promise<PrunedDetails>
  /**
   * Deletes at most this many of each kind: ended attempts to sign in, sessions and links; and from before the instant,
   * unpaid checkouts and x402 payments that moved no money; and what failed more than so many days ago. Returns the number
   * of the kind that had most.
   */
  pruneRest(before: Instant, failureDays: number, most: number): Promise<number>
}
