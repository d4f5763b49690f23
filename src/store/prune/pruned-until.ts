/** The mark up to which details of calls may be gone, so that reports read the sums instead. */

export const PRUNED = 'details_pruned_until'

/**
 * The mark inside a statement, so that the mark and what the statement reads belong to one moment; 0 if nothing was
 * deleted.
 */
export const prunedUntil = `(select coalesce((select cast(s.value as bigint) from setting s where s.name = '${PRUNED}'), 0))`

/** The later of two instants inside a statement; the function's name differs by engine. */
export const laterOf = (one: string, other: string): string =>
  `case when ${one} > ${other} then ${one} else ${other} end`
