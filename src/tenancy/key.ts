/** API keys: what is known of one, and the limits that bind it. */
import type { Nano } from '../core/money.ts'
import type { Instant, Month } from '../core/time.ts'
import type { RateLimits } from './rates.ts'

export type KeyId = string
export type WalletId = string

/** The limits of a key; an absent one does not bind. Amounts in nano-USD. */
export type Limits = RateLimits & {
  readonly spendCap?: Nano
  readonly monthlyCap?: Nano
  readonly stopAt?: Nano
}

/** A key's own names for models: model ids, or names of the operator's, by the name. */
export type Aliases = Readonly<Record<string, string>>

/** Who or what switched the key off. `operator` covers the operator and the reseller; a key cannot lift that itself. */
export type DisabledReason = 'self' | 'operator' | 'spend_cap' | 'monthly_cap'

export type Key = {
  readonly id: KeyId
  readonly walletId: WalletId
  /** The organisation whose wallet pays; a child's is its reseller's. */
  readonly orgId: string
  /** The key that made this one, then that key's maker, and so on; empty for a key of the operator's making. */
  readonly ancestors: readonly KeyId[]
  /** The sub-wallet that the key is bound to: a ceiling on the wallet's money that such keys share. */
  readonly subWallet?: string
  readonly label: string
  /** The first characters of the key, for people to recognise it by. */
  readonly prefix: string
  readonly limits: Limits
  /** What the creator set: the key itself may stay at or under these, never above. */
  readonly granted: Limits
  /** Whether it may make and govern keys below itself and, where it speaks for the whole account, the wallet. */
  readonly canManage: boolean
  /** Absent where it has none; keys below it do not use them. */
  readonly aliases?: Aliases
  readonly disabledReason?: DisabledReason
  /** The key above this one with which it was disabled; its reason is then `operator`. */
  readonly disabledBy?: KeyId
  /** What it was before that: it had switched itself off. */
  readonly disabledBefore?: 'self'
  /** For `monthly_cap`: the month it was hit; the key is enabled again in the next. */
  readonly disabledMonth?: Month
  readonly deleted: boolean
  /** Set for the key of an anonymous trial: when it ends. */
  readonly trialUntil?: Instant
  readonly createdAt: Instant
  /** Grows by one with every change; a cache keeps the highest it has seen. */
  readonly version: number
}

/** Whether the key is one that anybody may know: not deleted, and not of a trial that is over. */
export const isKnown = (key: Key, now: Instant): boolean =>
  !key.deleted && (key.trialUntil === undefined || now < key.trialUntil)

/** Whether the key may make calls in `month`; a monthly cap lifts by itself in a later month. */
export const isEnabled = (key: Key, month: Month): boolean =>
  !key.deleted &&
  (key.disabledReason === undefined ||
    (key.disabledReason === 'monthly_cap' && key.disabledMonth !== undefined && key.disabledMonth < month))

/** Switched off by a person or deleted, not by a cap. */
export const isRevoked = ({ deleted, disabledReason }: Key): boolean =>
  deleted || disabledReason === 'self' || disabledReason === 'operator'
