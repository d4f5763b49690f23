/**
 * News of limits: changes by another process or by this one. Room leased under an old limit must not admit what the new
 * one no longer allows, so the paths concerned give back their unused room.
 */
import type { SubWalletNews } from '../store/accounts/sub-wallet-port.ts'
import type { Key } from '../tenancy/key.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'
import type { KnownKeys } from './known-keys.ts'
import type { RulesKnown } from './known-rules.ts'
import type { LeasePool } from './lease-pool.ts'

type News = {
  readonly keys?: readonly Key[]
  readonly rules?: readonly KnownRules[]
  readonly subWallets?: readonly SubWalletNews[]
}

type NewsParts = { readonly keys: KnownKeys; readonly rules: RulesKnown; readonly leases: LeasePool }

const SUBS_MAX = 100_000

/** Takes in what was read, at once; resolves when the room that was given back has reached the ledger. */
export type Learn = (news: News) => Promise<void>

export const createNews = ({ keys, rules, leases }: NewsParts): Learn => {
  const subVersions = new Map<string, number>()

  /** Whether it was new; a key seen for the first time may be. */
  const learnSub = ({ id, version }: SubWalletNews): boolean => {
    if ((subVersions.get(id) ?? 0) >= version) return false
    if (subVersions.size >= SUBS_MAX) subVersions.clear()
    subVersions.set(id, version)
    return true
  }

  return async (news) => {
    const changed = {
      keys: new Set((news.keys ?? []).filter((key) => keys.learn(key)).map(({ id }) => id)),
      wallets: new Set(
        (news.rules ?? []).filter((known) => rules.learn(known)).map(({ walletId }) => walletId),
      ),
      subs: new Set((news.subWallets ?? []).filter(learnSub).map(({ id }) => id)),
    }
    if (changed.keys.size + changed.wallets.size + changed.subs.size === 0) return
    await leases.limitsChanged(({ keyId, sub }) => {
      const key = keys.get(keyId)
      return (
        changed.keys.has(keyId) ||
        // The caps of a reseller also bind its children's calls.
        key?.above.some((maker) => changed.keys.has(maker)) === true ||
        changed.wallets.has(key?.walletId ?? '') ||
        changed.subs.has(sub ?? key?.subWallet ?? '')
      )
    })
  }
}
