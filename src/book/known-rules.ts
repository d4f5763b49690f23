/**
 * Known wallet rules: read once per wallet, then kept current by the heartbeat, which also proves that nothing was
 * missed.
 */
import type { WalletRulesStore } from '../store/accounts/wallet-rules-port.ts'
import type { WalletId } from '../tenancy/key.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'

export type RulesKnown = {
  /** From memory, else from the store. */
  of(id: WalletId): KnownRules | Promise<KnownRules>
  /** Takes in a state that was read; a state older than the known one changes nothing. Returns whether it was new. */
  learn(known: KnownRules): boolean
}

const KNOWN_MAX = 100_000

export const createKnownRules = (store: Pick<WalletRulesStore, 'walletRules'>): RulesKnown => {
  const known = new Map<WalletId, KnownRules>()
  const loading = new Map<WalletId, Promise<KnownRules>>()

  const learn = (read: KnownRules): boolean => {
    const before = known.get(read.walletId)
    if (before !== undefined && before.version >= read.version) return false
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(read.walletId, read)
    return true
  }
  const load = async (id: WalletId): Promise<KnownRules> => {
    const read = await store.walletRules(id)
    learn(read)
    return known.get(id) ?? read
  }
  const loadOnce = (id: WalletId): Promise<KnownRules> => {
    const started = load(id).finally(() => loading.delete(id))
    loading.set(id, started)
    return started
  }
  return {
    of: (id) => {
      return known.get(id) ?? loading.get(id) ?? loadOnce(id)
    },
    learn,
  }
}
