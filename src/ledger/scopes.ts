/** Scopes: the counters that a call of a key moves. Each cap is one, and so is a sub-wallet's budget. */
import type { Day, Month } from '../core/time.ts'
import type { KeyId, WalletId } from '../tenancy/key.ts'

export const lifetimeScope = (key: KeyId): string => `key:${key}`
export const monthScope = (key: KeyId, month: Month): string => `key:${key}:${month}`
export const dayScope = (wallet: WalletId, day: Day): string => `day:${wallet}:${day}`
export const subScope = (sub: string): string => `sub:${sub}`
/** The sub-wallet of a scope. */
export const subOf = (scope: string): string => scope.slice('sub:'.length)

/** A spending path: whose caps it counts against, on which wallet and day, and under which sub-wallet. */
type ScopePath = {
  readonly line: readonly KeyId[]
  readonly walletId: WalletId
  readonly day: Day
  readonly sub: string | undefined
}

/** The month of a day. */
export const monthOfDay = (day: Day): Month => day.slice(0, 7)

/**
 * The scopes of a lease: both caps of the key and of each of its makers, its wallet's day, and its sub-wallet; sorted, as
 * locks need it.
 */
export const scopesOf = ({ line, walletId, day, sub }: ScopePath): readonly string[] =>
  [
    ...line.flatMap((key) => [lifetimeScope(key), monthScope(key, monthOfDay(day))]),
    dayScope(walletId, day),
    ...(sub === undefined ? [] : [subScope(sub)]),
  ].sort()

/** The call a refund belongs to: its ref is the call's id, or that with `:` and anything after it for a further refund. */
export const refundedCall = (ref: string): string => ref.split(':')[0] ?? ref
