/**
 * When a posting counts in reports and statements: on the UTC day on which its call was admitted, as in the caps and
 * limits that the call was held under. Otherwise the report of a month could exceed the cap it was sold under.
 */
import { DAY_MS } from '../../core/time.ts'
import type { SqlDialect } from '../engine/engine.ts'

/**
 * How long the books of a day stay open for what is posted after it: charges of calls and jobs that went on, and
 * refunds. What comes later counts when it comes, so that old months do not change and reports need not look for it in
 * all the years since.
 */
export const BOOKS_OPEN_MS = 7 * DAY_MS

/**
 * When posting `t` counts: when it was posted, or in the last millisecond of the day of its call if that is over and
 * its books are open. It is never after `t.at`, and never more than `BOOKS_OPEN_MS` before it.
 */
export const countsAt = ({ dayStart }: SqlDialect): string => {
  const end = `(${dayStart('t.day')} + ${DAY_MS})`
  return `case when t.at >= ${end} and t.at < ${end} + ${BOOKS_OPEN_MS} then ${end} - 1 else t.at end`
}
