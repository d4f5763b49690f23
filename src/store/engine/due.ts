/**
 * When a postponed task is due; also if it was postponed under a database clock that was ahead and was then corrected.
 */

/** Clocks that are slightly ahead are normal, and do no harm. */
export const AHEAD_MS = 5_000

/** Whether the time in a column has come, or lies further ahead than anything is ever postponed. */
export const isDue = (now: string, at: string, longestMs: number): string =>
  `(${at} <= ${now} or ${at} > ${now} + ${longestMs + AHEAD_MS})`
