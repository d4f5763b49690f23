/** Proofs from the log of receipts: that an entry is in it, and that one of its ends goes on from another. */
import { refuse } from '../core/refusal.ts'
import type { Instant } from '../core/time.ts'
import { consistencyRanges, type Hash, inclusionRanges, rootsOf, tilesOf } from '../receipts/merkle.ts'
import type { LogEnd, LogStore } from '../store/log/log-port.ts'

const hexOf = (hashes: readonly Hash[]): string[] => hashes.map((hash) => Buffer.from(hash).toString('hex'))

/** The end of the log. Throws where there is none. */
export const logEnd = async (log: LogStore): Promise<LogEnd> => {
  const end = await log.end()
  if (end === undefined)
    throw refuse('not_found', 'There is no log of receipts: RECEIPTS is off, or it is about to begin.')
  if (end.token === '')
    throw refuse(
      'not_found',
      'The log of receipts grows again to the end that was shown last; ask again in a minute.',
    )
  return end
}

type Wanted = { readonly name: string; readonly postedAt: Instant; readonly size?: number | undefined }

/** Where an entry is in the log of that size or, without one, as it ends now; undefined if it is not in it. */
export const inclusionOf = async (log: LogStore, { name, postedAt, size }: Wanted) => {
  const end = await log.end()
  if (end === undefined) return undefined
  const among = Math.min(size ?? end.size, end.size)
  const index = await log.placeOf(name, postedAt)
  if (index === undefined || index >= among) return undefined
  const ranges = inclusionRanges(index, among)
  const proof = hexOf(rootsOf(ranges, await log.tiles(tilesOf(ranges))))
  return { index, size: among, salt: await log.salt(name), proof }
}

export const consistencyOf = async (log: LogStore, from: number, to: number): Promise<string[]> => {
  const ranges = consistencyRanges(from, to)
  return hexOf(rootsOf(ranges, await log.tiles(tilesOf(ranges))))
}
