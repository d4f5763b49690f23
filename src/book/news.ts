/**
 * News of limits: changes by another process or by this one. Room leased under an old limit must not admit what the new
 * one no longer allows, so the paths concerned give back their unused room.
 */

import type { Lately } from '../core/lately.ts'
import type { Clock } from '../core/time.ts'
import type { SubWalletNews } from '../store/accounts/sub-wallet-port.ts'
import type { Key, KeyId } from '../tenancy/key.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'
import type { KnownKeys, RulesKnown } from './callers.ts'
import type { LeasePool } from './lease-pool.ts'

type News = {
  readonly keys?: readonly Key[]
  readonly rules?: readonly KnownRules[]
  readonly subWallets?: readonly SubWalletNews[]
}

type NewsParts = {
  readonly keys: KnownKeys
  readonly rules: RulesKnown
  readonly leases: LeasePool
  readonly clock: Clock
  /** The states of keys that were heard lately. */
  readonly heard: Lately<Key>
}

const SUBS_MAX = 100_000
const KEYS_MAX = 100_000

/** Takes in what was read, at once; resolves when the room that was given back has reached the ledger. */
export type Learn = (news: News) => Promise<void>

export const createNews = ({ keys, rules, leases, clock, heard }: NewsParts): Learn => {
  const subVersions = new Map<string, number>()

  /** Whether it was new; a key seen for the first time may be. */
  const learnSub = ({ id, version }: SubWalletNews): boolean => {
    if ((subVersions.get(id) ?? 0) >= version) return false
    if (subVersions.size >= SUBS_MAX) subVersions.clear()
    subVersions.set(id, version)
    return true
  }

  const versions = new Map<KeyId, number>()
  const learnKey = (key: Key): boolean => {
    // A call may have read the state before the news of it came.
    if ((versions.get(key.id) ?? 0) < key.version) {
      if (versions.size >= KEYS_MAX) versions.clear()
      versions.set(key.id, key.version)
      heard.add(key, clock.monotonicMs())
    }
    return keys.learn(key)
  }

  return async (news) => {
    const changed = {
      keys: new Set((news.keys ?? []).filter(learnKey).map(({ id }) => id)),
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
