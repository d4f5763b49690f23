/**
 * When a task that was put off is due: also when it was put off under a database clock that was ahead and was then set
 * right.
 */

/** Clocks a little ahead are usual, and do no harm. */
export const AHEAD_MS = 5_000

/** Whether the time in a column has come, or lies further ahead than the longest that anything is put off. */
export const isDue = (now: string, at: string, longestMs: number): string =>
  `(${at} <= ${now} or ${at} > ${now} + ${longestMs + AHEAD_MS})`
