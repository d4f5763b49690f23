/** The store's port for the control plane: keys, wallets and reports of use. */
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type { DisabledReason, Key, KeyId, Limits, WalletId } from '../tenancy/key.ts'

export type NewKey = {
  readonly id: KeyId
  /** HMAC-SHA-256 of the whole token under the server secret, in hex. */
  readonly hash: string
  readonly orgId: string
  readonly walletId: WalletId
  readonly parentId?: KeyId
  readonly subWallet?: string
  readonly label: string
  readonly prefix: string
  readonly limits: Limits
  readonly trialUntil?: Instant
}

/** Tri-state: absent leaves a limit, null removes it. */
export type KeyChange = { readonly [Name in keyof Limits]?: Limits[Name] | null } & {
  /** null enables. */
  readonly disabledReason?: DisabledReason | null
  readonly label?: string
  /** When the creator (operator or reseller) changes limits, what it granted changes with them. */
  readonly byCreator: boolean
}

/** What a key has spent and holds. `spent` counts the key's own calls and those of its descendants, as its caps do. */
export type KeySpend = {
  readonly spent: Nano
  readonly spentThisMonth: Nano
  readonly held: Nano
  readonly requests: number
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

export type UsageRow = {
  readonly day?: string
  readonly model?: string
  readonly keyId?: KeyId
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: Nano
}

export type UsageQuery = {
  readonly keyIds: readonly KeyId[]
  readonly from: Instant
  readonly to: Instant
  readonly groupBy: readonly ('day' | 'model' | 'key')[]
}

export type TenancyStore = {
  /** Makes an organisation with an empty wallet; returns the wallet. Repeating it returns the same wallet. */
  createWallet(wallet: { id: WalletId; orgId: string; name: string }): Promise<Wallet>
  wallet(id: WalletId): Promise<Wallet | undefined>
  wallets(): Promise<readonly Wallet[]>
  createKey(key: NewKey): Promise<Key>
  /** Also finds a deleted key, which says so: its version then fences caches. */
  keyByHash(hash: string): Promise<Key | undefined>
  key(id: KeyId): Promise<Key | undefined>
  /** All keys, or the direct children of one, newest first; at most 1 000. */
  keys(of?: { parentId: KeyId }): Promise<readonly Key[]>
  /** Commits the change and returns the key with the database time after the commit, for the wait of revocation. */
  changeKey(id: KeyId, change: KeyChange): Promise<{ key: Key; at: Instant } | undefined>
  deleteKey(id: KeyId): Promise<{ at: Instant } | undefined>
  spend(id: KeyId): Promise<KeySpend>
  usage(query: UsageQuery): Promise<readonly UsageRow[]>
  /** A value made once per database, such as the secret that hashes keys; the first writer wins and all read the same. */
  setting(name: string, make: () => string): Promise<string>
}
