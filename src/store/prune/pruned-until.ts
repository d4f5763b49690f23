/** The mark up to which details of calls may be gone, so that reports take their sums instead. */

export const PRUNED = 'details_pruned_until'

/** The mark inside a statement, so that it and what the statement reads are of one moment; 0 where nothing was deleted. */
export const prunedUntil = `(select coalesce((select cast(s.value as bigint) from setting s where s.name = '${PRUNED}'), 0))`

/** The later of two instants inside a statement: engines differ in the name of the greatest. */
export const laterOf = (one: string, other: string): string =>
  `case when ${one} > ${other} then ${one} else ${other} end`
