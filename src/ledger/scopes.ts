/** Scopes: the counters that a key's call moves. Each cap is one, and so is a sub-wallet's budget. */
import { type Day, type Month, weekOf } from '../core/time.ts'
import type { KeyId, WalletId } from '../tenancy/key.ts'
import { type CapName, capList } from '../tenancy/limits.ts'

/** What a key spends in a period, or in its whole life. */
export const keyScope = (key: KeyId, period?: string): string =>
  period === undefined ? `key:${key}` : `key:${key}:${period}`
export const dayScope = (wallet: WalletId, day: Day): string => `day:${wallet}:${day}`
export const subScope = (sub: string): string => `sub:${sub}`
/** The sub-wallet of a scope. */
export const subOf = (scope: string): string => scope.slice('sub:'.length)

/** A spending path: whose caps it counts against, on which wallet and day, and in which sub-wallet. */
type ScopePath = {
  readonly line: readonly KeyId[]
  readonly walletId: WalletId
  readonly day: Day
  readonly sub: string | undefined
}

/** The month of a day. */
export const monthOfDay = (day: Day): Month => day.slice(0, 7)

export type CapPeriod = {
  readonly cap: CapName
  /** The column of a counter, and of a lease, that names the period. */
  readonly column?: 'month' | 'week' | 'day'
  readonly period?: string
}

/** The caps of a key, and what each of them counts on a day: all, or the calls of that month, week or day. */
export const capPeriods = (day: Day): readonly CapPeriod[] => {
  const periods = { month: monthOfDay(day), week: weekOf(day), day }
  return capList.map(({ name, cap: { period } }) =>
    period === 'life' ? { cap: name } : { cap: name, column: period, period: periods[period] },
  )
}

/**
 * The scopes of a lease: all caps of the key and of each key above it, its wallet's day, and its sub-wallet; sorted, in
 * the order in which they are locked.
 */
export const scopesOf = ({ line, walletId, day, sub }: ScopePath): readonly string[] =>
  [
    ...line.flatMap((key) => capPeriods(day).map(({ period }) => keyScope(key, period))),
    dayScope(walletId, day),
    ...(sub === undefined ? [] : [subScope(sub)]),
  ].sort()

/**
 * The call that a refund belongs to: its ref is the call's id, or the id with `:` and a suffix for a further refund.
 */
export const refundedCall = (ref: string): string => ref.split(':')[0] ?? ref
