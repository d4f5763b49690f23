/** Scopes: the counters that a call of a key moves. Each cap is one, and so is a sub-wallet's budget. */
import type { Month } from '../core/time.ts'
import type { KeyId } from '../tenancy/key.ts'

export const lifetimeScope = (key: KeyId): string => `key:${key}`
export const monthScope = (key: KeyId, month: Month): string => `key:${key}:${month}`
export const subScope = (sub: string): string => `sub:${sub}`

/** The scopes of a lease: both caps of the key and of each of its makers, and its sub-wallet; sorted, as locks need it. */
export const scopesOf = (line: readonly KeyId[], month: Month, sub: string | undefined): readonly string[] =>
  [
    ...line.flatMap((key) => [lifetimeScope(key), monthScope(key, month)]),
    ...(sub === undefined ? [] : [subScope(sub)]),
  ].sort()

/** The call a refund belongs to: its ref is the call's id, or that with `:` and anything after it for a further refund. */
export const refundedCall = (ref: string): string => ref.split(':')[0] ?? ref
