/** Scopes: the counters that a key's call moves. Each cap is one, of a key or of a tag's budget, and so is a sub-wallet's budget. */
import {
  DAY_MS,
  type Day,
  dayOf,
  type Instant,
  type Month,
  nextDayStart,
  nextMonthStart,
  weekOf,
} from '../core/time.ts'
import type { KeyId, WalletId } from '../tenancy/key.ts'
import { type CapName, capList } from '../tenancy/limits.ts'

/** What a key spends in a period, or in its whole life. */
export const keyScope = (key: KeyId, period?: string): string =>
  period === undefined ? `key:${key}` : `key:${key}:${period}`
export const dayScope = (wallet: WalletId, day: Day): string => `day:${wallet}:${day}`
/** What calls with a tag's value spend in a period, or ever. */
export const tagScope = (budget: string, period?: string): string =>
  period === undefined ? `tag:${budget}` : `tag:${budget}:${period}`
export const subScope = (sub: string): string => `sub:${sub}`
/** The sub-wallet of a scope. */
export const subOf = (scope: string): string => scope.slice('sub:'.length)

/** A spending path: whose caps it counts against, on which wallet and day, in which sub-wallet, and by its tags. */
type ScopePath = {
  readonly line: readonly KeyId[]
  readonly walletId: WalletId
  readonly day: Day
  readonly sub: string | undefined
  /** The ids of the budgets of its tags. */
  readonly tagBudgets?: readonly string[] | undefined
}

/** The month of a day. */
export const monthOfDay = (day: Day): Month => day.slice(0, 7)

export type CapPeriod = {
  readonly cap: CapName
  /** The column of a counter, and of a lease, that names the period. */
  readonly column?: 'month' | 'week' | 'day'
  readonly period?: string
}

/** When the month, week or day ends that holds an instant. */
export const periodEnd = (period: NonNullable<CapPeriod['column']>, now: Instant): Instant =>
  period === 'month'
    ? nextMonthStart(now)
    : period === 'day'
      ? nextDayStart(now)
      : Date.parse(weekOf(dayOf(now)).slice(0, 10)) + 7 * DAY_MS

/** The caps of a key, and what each of them counts on a day: all, or the calls of that month, week or day. */
export const capPeriods = (day: Day): readonly CapPeriod[] => {
  const periods = { month: monthOfDay(day), week: weekOf(day), day }
  return capList.map(({ name, cap: { period } }) =>
    period === 'life' ? { cap: name } : { cap: name, column: period, period: periods[period] },
  )
}

/**
 * The scopes of a lease: all caps of the key and of each key above it, its wallet's day, its sub-wallet, and all caps of
 * its tags' budgets; sorted, in the order in which they are locked.
 */
export const scopesOf = ({ line, walletId, day, sub, tagBudgets = [] }: ScopePath): readonly string[] =>
  [
    ...line.flatMap((key) => capPeriods(day).map(({ period }) => keyScope(key, period))),
    dayScope(walletId, day),
    ...(sub === undefined ? [] : [subScope(sub)]),
    ...tagBudgets.flatMap((id) => capPeriods(day).map(({ period }) => tagScope(id, period))),
  ].sort()

/**
 * The call that a refund belongs to: its ref is the call's id, or the id with `:` and a suffix for a further refund.
 */
export const refundedCall = (ref: string): string => ref.split(':')[0] ?? ref
