/** The store's port for the log of receipts: the tree of hashes over all charged calls and the sums of days. */
import type { Day, Instant } from '../../core/time.ts'
import type { AccountId } from '../../ledger/types.ts'
import type { Hash, TileId, Tiles } from '../../receipts/merkle.ts'

export type LogEnd = {
  readonly size: number
  readonly root: Hash
  /** Calls that were charged before this are not in the log: it did not exist. */
  readonly began: Instant
  /** When it was signed. */
  readonly at: Instant
  /** Empty while the log grows again to what was shown. */
  readonly token: string
}

/** Signs an end of the log that goes on from one of that size; empty if it is not to be shown yet. */
export type SignEnd = (end: Omit<LogEnd, 'token'>, from: number) => string

export type LogStore = {
  /** Adds what was charged next and is settled, or the sums of a day that is over; returns whether more may wait. */
  grow(sign: SignEnd): Promise<boolean>
  /** The end as it was signed last; undefined before the first pass. */
  end(): Promise<LogEnd | undefined>
  tiles(ids: readonly TileId[]): Promise<Tiles>
  /** Where the entry of that name is that was posted then; undefined if it is not in the log. */
  placeOf(name: string, postedAt: Instant): Promise<number | undefined>
  /** The salt of the entry of that name. */
  salt(name: string): Promise<string>
  /** What the log says, or will say, of an account's day; undefined if its calls posted nothing in it. */
  dayText(account: AccountId, day: Day): Promise<string | undefined>
}
