/**
 * News of limits: changes by another process or by this one. Room leased under an old limit must not admit what the new
 * one no longer allows, so the paths concerned give back their unused room.
 */

import { LatelyHeard } from '../core/lately.ts'
import type { Clock } from '../core/time.ts'
import type { SubWalletNews } from '../store/accounts/sub-wallet-port.ts'
import type { Key } from '../tenancy/key.ts'
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
  readonly heard: Heard
}

/** What this process heard of lately: all that any process acknowledged. */
export type Heard = {
  readonly keys: LatelyHeard<Key>
  readonly rules: LatelyHeard<KnownRules>
  readonly subs: LatelyHeard<SubWalletNews>
}

export const newHeard = (): Heard => ({
  keys: new LatelyHeard(),
  rules: new LatelyHeard(),
  subs: new LatelyHeard(),
})

/** Takes in what was read, at once; resolves when the room that was given back has reached the ledger. */
export type Learn = (news: News) => Promise<void>

export const createNews = ({ keys, rules, leases, clock, heard }: NewsParts): Learn => {
  // A call may have read a state before the news of it came.
  const learnKey = (key: Key): boolean => {
    heard.keys.hear(key.id, key, clock.monotonicMs())
    return keys.learn(key)
  }
  const learnRules = (known: KnownRules): boolean => {
    heard.rules.hear(known.walletId, known, clock.monotonicMs())
    return rules.learn(known)
  }
  const learnSub = (sub: SubWalletNews): boolean => heard.subs.hear(sub.id, sub, clock.monotonicMs())

  return async (news) => {
    const changed = {
      keys: new Set((news.keys ?? []).filter(learnKey).map(({ id }) => id)),
      wallets: new Set((news.rules ?? []).filter(learnRules).map(({ walletId }) => walletId)),
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
