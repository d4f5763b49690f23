/** The time in the ids of calls: they begin with the milliseconds of their creation. */
import type { Instant } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'

const HEAD = /^([0-9a-f]{8})-([0-9a-f]{4})/

/** The smallest id of a call that began then; ids grow with time. */
export const leastId = (at: Instant): CallId => {
  const time = at.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

/** When the call with an id began. */
export const timeOf = (id: CallId): Instant => {
  const [, high = '', low = ''] = HEAD.exec(id) ?? []
  return Number.parseInt(high + low, 16)
}
