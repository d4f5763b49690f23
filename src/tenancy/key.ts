/** API keys: what is known of a key, and the limits that bind it. */
import type { Instant, Month } from '../core/time.ts'
import type { GuardRule } from '../guardrails/rules.ts'
import type { Condition } from './conditions.ts'
import type { Limits } from './limits.ts'
import type { KeyTags } from './tags.ts'
import type { Terms } from './terms.ts'

export type KeyId = string
export type WalletId = string

/** A key's own names for models: each name with its model id, or with a name of the operator's. */
export type Aliases = Readonly<Record<string, string>>

/**
 * Who or what disabled the key. `reseller` means a key above it, or the account that it is from; `operator` means the
 * operator, or an admin for a key of the account itself. A key cannot undo either itself.
 */
export type DisabledReason = 'self' | 'operator' | 'reseller' | 'spend_cap' | 'monthly_cap'

export type Key = {
  readonly id: KeyId
  readonly walletId: WalletId
  /** The organisation whose wallet pays; for a child key, its reseller's. */
  readonly orgId: string
  /** The key that made this one, then the key that made that one, and so on; empty for a key that the operator made. */
  readonly ancestors: readonly KeyId[]
  /**
   * All keys whose limits bind it too and that govern it: its ancestors, and right after each key, itself first, those
   * that took its place by rotation.
   */
  readonly above: readonly KeyId[]
  /** The first of the keys in whose place it stands by rotation; absent if it took nobody's place. */
  readonly place?: KeyId
  /** The sub-wallet that the key is bound to: a ceiling on the wallet's money that such keys share. */
  readonly subWallet?: string
  readonly label: string
  /** The first characters of the key, so that people recognise it. */
  readonly prefix: string
  readonly limits: Limits
  /** What the creator set: the key itself may stay at or below these limits, never above. */
  readonly granted: Limits
  /** Whether it may make and manage keys below itself and, if it speaks for the whole account, the wallet. */
  readonly canManage: boolean
  /**
   * In a request: the lists of models that it and the keys above it are for; a model must be in all of them. Absent
   * where none is set.
   */
  readonly models?: readonly (readonly string[])[]
  /** In a request: the conditions that it and the keys above it ask for, and those of the request. */
  readonly requires?: readonly Condition[]
  /** Absent if it has none; keys below it do not use them. */
  readonly aliases?: Aliases
  /** What its calls are for where they do not say; in a request, with the fixed tags of the keys above it. */
  readonly tags?: KeyTags
  /** What is looked for in the texts of its calls; in a request, with the rules of the keys above it. */
  readonly guardrails?: readonly GuardRule[]
  /** In a request of a tenant: how it is told of money. Absent if it is told our price. */
  readonly terms?: Terms
  readonly disabledReason?: DisabledReason
  /** The key above this one, or the suspension, that it was disabled together with; its own reason is then that of others. */
  readonly disabledBy?: string
  /** Its state before that: it had disabled itself. */
  readonly disabledBefore?: 'self'
  /** For `monthly_cap`: the month in which the cap was reached; the key is enabled again in the next. */
  readonly disabledMonth?: Month
  readonly deleted: boolean
  /** Of a key that agents sign in to: the ids of sign-ins that were ended while an access token was valid. */
  readonly endedLogins?: readonly string[]
  /** Set where its organisation is not here: `leaving <cell>` while it is moved, and then the cell that it is in. */
  readonly cell?: string
  /** Set for the key of an anonymous trial: when the trial ends. */
  readonly trialUntil?: Instant
  readonly createdAt: Instant
  /** Grows by one with every change; a cache keeps the highest version it has seen. */
  readonly version: number
}

/** The newest of the keys that took its place by rotation, or itself. */
export const newestOf = ({ id, ancestors: [maker], above }: Key): KeyId =>
  (maker === undefined ? above : above.slice(0, above.indexOf(maker))).at(-1) ?? id

/** The key under which it is remembered what the key called: all values of a rotated key are one caller. */
export const placeOf = ({ id, place = id }: Key): KeyId => place

/** Whether others may learn that the key exists: it is not deleted, and not of an ended trial. */
export const isKnown = (key: Key, now: Instant): boolean =>
  !key.deleted && (key.trialUntil === undefined || now < key.trialUntil)

/**
 * Whether the key may make calls in `month`; a monthly cap ends by itself in a later month. Calls that were `admitted` before
 * its organisation began to leave go on.
 */
export const isEnabled = (key: Key, month: Month, admitted = false): boolean =>
  !key.deleted &&
  (key.cell === undefined || (admitted && awayOf(key)?.leaving === true)) &&
  (key.disabledReason === undefined ||
    (key.disabledReason === 'monthly_cap' && key.disabledMonth !== undefined && key.disabledMonth < month))

/** What stands before the cell's name while an organisation is on its way there. */
export const LEAVING = 'leaving '

/** Whether its organisation is being moved, and where that is going or gone; undefined for what is here. */
export const awayOf = ({ cell }: Pick<Key, 'cell'>) => (cell === undefined ? undefined : placeAway(cell))

/** The same of what its row says. */
export const placeAway = (cell: string) => ({
  leaving: cell.startsWith(LEAVING),
  cell: cell.slice(cell.startsWith(LEAVING) ? LEAVING.length : 0),
})

/** Disabled by somebody else, who alone can enable it. */
export const isBlocked = ({ disabledReason }: Key): boolean =>
  disabledReason === 'operator' || disabledReason === 'reseller'

/** Disabled by a person or deleted, not by a cap. */
export const isRevoked = (key: Key): boolean => key.deleted || key.disabledReason === 'self' || isBlocked(key)
