/** The store's port for the control plane: keys, wallets and reports of use. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { GuardRule } from '../../guardrails/rules.ts'
import type { Aliases, DisabledReason, Key, KeyId, WalletId } from '../../tenancy/key.ts'
import type { Limits, LimitsChange, Spent } from '../../tenancy/limits.ts'
import type { KeyTags } from '../../tenancy/tags.ts'
import type { KnownRules } from '../../tenancy/wallet-rules.ts'
import type { Actor } from '../people/event-port.ts'

type Rehash = {
  /** The hashes under one of which it is stored. */
  readonly before: readonly string[]
  readonly hash: string
  readonly hashedBy: string | undefined
}

export type NewKey = {
  readonly id: KeyId
  /** HMAC-SHA-256 of the whole token under the server secret, in hex. */
  readonly hash: string
  /** Which secret that was; unknown for keys that were made before this was recorded. */
  readonly hashedBy?: string | undefined
  readonly orgId: string
  readonly walletId: WalletId
  readonly parentId?: KeyId
  /** The key whose place it takes: it is put above that one. */
  readonly replaces?: KeyId
  readonly subWallet?: string
  readonly label: string
  readonly prefix: string
  readonly limits: Limits
  /** What another gateway charged it before, in the present periods: its caps count that. */
  readonly brought?: Spent
  /** If absent, the first key of a wallet may manage it, and no other key may. */
  readonly canManage?: boolean
  readonly aliases?: Aliases
  readonly tags?: KeyTags
  readonly guardrails?: readonly GuardRule[]
  readonly trialUntil?: Instant
}

/** Three states: absent keeps a limit, null removes it, a value sets it. */
export type KeyChange = LimitsChange & {
  /** null enables the key. */
  readonly disabledReason?: DisabledReason | null
  readonly label?: string
  readonly canManage?: boolean
  /** The sub-wallet that it and all keys below it are bound to from now on; null releases them. */
  readonly subWallet?: string | null
  /** A sign-in of an agent that ends. */
  readonly endLogin?: string
  /** Replaces all aliases that the key had. */
  readonly aliases?: Aliases | null
  /** Replaces all tags that the key had. */
  readonly tags?: KeyTags | null
  /** Replaces all rules that the key had. */
  readonly guardrails?: readonly GuardRule[] | null
  /** Disabling a key disables all keys below it; enabling it enables those again. */
  readonly withChildren?: boolean
  /** The name under which several keys are disabled: enabled under it, each is again what it was before. */
  readonly together?: string
  /** If the creator (operator or reseller) changes limits, the granted limits change too. */
  readonly byCreator: boolean
  /** The change is made only while the key has this version; else it throws ChangedSince. */
  readonly ifVersion?: number
}

/** What a key has spent and holds. `spent` counts the key's own calls and those of its descendants, as its caps do. */
export type KeySpend = Spent & {
  /** How much of it is what vendors bill the organisation for its own keys, by their list prices. */
  readonly estimated: Spent
  readonly held: Nano
  readonly requests: number
}

/**
 * The limit that leaves a key the least, with charges and holds counted; negative when the limit was lowered below
 * them.
 */
export type LeftToSpend = {
  /** Named as in a 402. */
  readonly limit: string
  /** The owner of the cap or stop-at; absent for limits that the account's keys share. */
  readonly owner?: KeyId
  readonly amount: Nano
}

export type Wallet = {
  readonly id: WalletId
  readonly orgId: string
  readonly name: string
  /** Postings so far. */
  readonly balance: Nano
  /** Held by open calls (not by idle leases). */
  readonly held: Nano
}

/** A committed change of a key, with the database's time after it, from which the wait for revocation counts. */
export type KeyChanged = {
  readonly key: Key
  /** The keys below that changed with it. */
  readonly below: readonly Key[]
  readonly at: Instant
}

/** Which keys to list. */
export type KeyQuery = {
  /** Only keys below this one, at any depth. */
  readonly below?: KeyId
  /** Only keys whose id or prefix matches. */
  readonly named?: string
  /** Deleted keys too. */
  readonly deleted?: boolean
  /** Only keys made before this one. */
  readonly after?: KeyId
  /** 1 000 by default. */
  readonly most?: number
}

export type WalletStore = {
  /** Makes an organisation with an empty wallet and returns the wallet. A repeat returns the same wallet. */
  createWallet(wallet: { id: WalletId; orgId: string; name: string }, by: Actor): Promise<Wallet>
  wallet(id: WalletId): Promise<Wallet | undefined>
  /** Gives its organisation another name; nothing happens if it has that one. */
  renameWallet(id: WalletId, name: string, by: Actor): Promise<void>
  /** All except those of payments, by id. */
  list(): Promise<readonly Wallet[]>
  /** Where an organisation, or that of a wallet, is that is not here, as its keys have it; undefined for those that are. */
  cellOf(id: string): Promise<string | undefined>
}

/**
 * Who made a key in the console, the reseller's name for its tenant, and the first key of its chain of rotations, if it
 * is not that key itself. A tenant is identified by that first key.
 */
export type KeyNote = { readonly madeBy?: string; readonly reference?: string; readonly tenantId?: KeyId }

/** A reference that the organisation has given already, and the label of the key that has it. */
export type ReferenceTaken = { readonly reference: string; readonly label: string }

/** A key that was to be made; `found` if one of this id was there, which stays as it is. */
export type KeyMade = Key & { readonly found?: true }

/** Each change records one event, in its transaction: what `by` did. */
export type KeyStore = {
  createKey(key: NewKey, by: Actor, note?: KeyNote): Promise<KeyMade>
  /**
   * Makes keys of one wallet, all or none: none if a reference of theirs is that of another key of the organisation that
   * is not deleted, also if that is made at the same moment.
   */
  createKeys(
    keys: readonly { readonly key: NewKey; readonly note: KeyNote }[],
    by: Actor,
  ): Promise<readonly Key[] | ReferenceTaken>
  /** Makes a key below one that may manage keys; undefined if that one may not (any more), or is disabled. */
  createChild(key: NewKey & { readonly parentId: KeyId }, by: Actor): Promise<KeyMade | undefined>
  /** The key of one of the hashes. Also finds a deleted key, and says so; its version tells caches that they are out of date. */
  keyByHash(...hashes: readonly string[]): Promise<Key | undefined>
  /** The same with all keys above it and the rules of its wallet: all that a call of a key needs to be known. */
  callerByHash(
    ...hashes: readonly string[]
  ): Promise<{ readonly key: Key; readonly above: readonly Key[]; readonly rules: KnownRules } | undefined>
  /** Stores the hash under another secret. Nothing happens if that was done since, or the key is another one. */
  rehash(id: KeyId, it: Rehash): Promise<void>
  /** Existing keys that no process has seen since their server got this secret, newest first, and their number. */
  hashedOtherwise(
    by: string,
    most: number,
  ): Promise<{ readonly count: number; readonly keys: readonly Key[] }>
  /** Whether there are keys under none of these secrets, as far as it is known which secret made them. */
  hashedByStrangers(known: readonly [string, string]): Promise<boolean>
  key(id: KeyId): Promise<Key | undefined>
  /** Those of them that there are. */
  keysOf(ids: readonly KeyId[]): Promise<readonly Key[]>
  /** Newest first. */
  list(query?: KeyQuery): Promise<readonly Key[]>
  /** How many keys below it are not deleted. */
  countBelow(id: KeyId): Promise<number>
  /** The lowest rate per minute that is set on each key or on one above it; keys without any are left out. */
  leastRpm(ids: readonly KeyId[]): Promise<ReadonlyMap<KeyId, number>>
  /** Changes a key, and those below it if the change says so, in one transaction. */
  changeKey(id: KeyId, change: KeyChange, by: Actor): Promise<KeyChanged | undefined>
  /** Deletes a key, and all below it if requested, in one transaction. */
  deleteKey(id: KeyId, withChildren: boolean, by: Actor): Promise<KeyChanged | undefined>
  /**
   * Writes a later state of a key that the ledger has lost; undefined where it has that or a later one, or no such key, or
   * a deleted one.
   */
  putBack(key: Key): Promise<KeyChanged | undefined>
  spend(id: KeyId): Promise<KeySpend>
  /** The limit that binds the key most; undefined for a key that does not exist. */
  left(id: KeyId): Promise<LeftToSpend | undefined>
}
