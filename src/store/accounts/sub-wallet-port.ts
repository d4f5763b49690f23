/** The store's port for sub-wallets: named ceilings on a wallet's money. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { Key, KeyId, WalletId } from '../../tenancy/key.ts'
import type { Actor } from '../people/event-port.ts'

/** How many sub-wallets and teams a wallet has at most. */
export const SUB_WALLETS_MOST = 1_000

export type SubWallet = {
  readonly id: string
  readonly label: string
  /** The most that calls in it may cost in all. */
  readonly budget: Nano
  readonly spent: Nano
  /** What open calls hold. */
  readonly held: Nano
  readonly createdAt: Instant
}

/** A sub-wallet as it was made or changed; the version grows with every change. */
export type SubWalletNews = {
  readonly id: string
  readonly walletId: WalletId
  readonly label: string
  /** None once it is deleted. */
  readonly budget: Nano | undefined
  readonly version: number
}

export type NewSubWallet = {
  readonly id: string
  readonly walletId: WalletId
  /** The key that makes it; absent for the operator. */
  readonly makerId?: KeyId
  readonly label: string
  readonly budget: Nano
}

/**
 * Who asks: a key, or the organisation and the operator, who see and govern everything in the wallet. A key governs what
 * it or a key below it made, and sees also what serves it.
 */
export type SubViewer =
  | Pick<Key, 'id' | 'walletId' | 'subWallet'>
  | { readonly walletId: WalletId; readonly id?: undefined; readonly subWallet?: undefined }

/** If `by` says who does it, an event is recorded with the change. */
export type SubWalletStore = {
  /**
   * Undefined when the wallet, or the child key that makes it, already has as many as it may have. A repeat returns the
   * same one.
   */
  createSubWallet(sub: NewSubWallet, by: Actor): Promise<SubWallet | undefined>
  /** Newest first; at most 1 000. */
  list(viewer: SubViewer): Promise<readonly SubWallet[]>
  subWallet(viewer: SubViewer, id: string): Promise<SubWallet | undefined>
  /**
   * The sub-wallet, if it serves the key: a bound key has its own and no other; else one that the key or a key above it
   * made, and for a key of the account also one that the organisation made.
   */
  serving(key: Key, id: string): Promise<SubWallet | undefined>
  /**
   * Commits the change, if the viewer governs the sub-wallet, and returns the database time after it. The caller then
   * waits until every process has given back what it leased under the old ceiling.
   */
  changeSubWallet(
    viewer: SubViewer,
    id: string,
    change: { readonly label?: string; readonly budget?: Nano },
    by: Actor,
  ): Promise<{ readonly sub: SubWallet; readonly at: Instant } | undefined>
  /** Nothing can be spent under it any more, not even by a key that is bound to it. */
  deleteSubWallet(viewer: SubViewer, id: string, by: Actor): Promise<{ readonly at: Instant } | undefined>
  /** Writes a later state of one that the ledger has lost; returns whether it had an older one. */
  putBack(sub: SubWalletNews): Promise<boolean>
}
