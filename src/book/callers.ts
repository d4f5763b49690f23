/**
 * What this process knows of callers: their keys, the keys above those, the rules of their wallets, their rates. A version
 * never goes backwards, and what is known is only trusted while a heartbeat proves that no change was missed.
 */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import { Refusal } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import type { KeyStore } from '../store/accounts/tenancy-port.ts'
import type { WalletRulesStore } from '../store/accounts/wallet-rules-port.ts'
import { isEnabled, isKnown, type Key, type KeyId, type WalletId } from '../tenancy/key.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { Book } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Rates } from './rates.ts'
import { type Touch, unreachable } from './touch.ts'

export type KnownKeys = {
  /** The newest known state; undefined if it was never read. */
  get(id: KeyId): Key | undefined
  /**
   * By the hash of its token: from memory, else from the store, by any of the hashes. Undefined for deleted and unknown keys, and for keys of
   * ended trials.
   */
  find(hash: string, others?: readonly string[]): Key | undefined | Promise<Key | undefined>
  /** Whether the hash belongs to an ended trial, as far as this process has read. */
  isEndedTrial(hash: string): boolean
  /** A key was stored under this hash: it is looked up again, even if it was unknown a moment ago. */
  lookAgain(hash: string): void
  /** Takes in a state that was read; a state older than the known one changes nothing. Returns whether it was new. */
  learn(key: Key): boolean
  /** Reports each newer state of a key that was already known. */
  onChanged(listener: (key: Key) => void): void
  /** Reads the key again from the store. */
  reread(id: KeyId): Promise<Key | undefined>
}

/** Unknown hashes are remembered, so that random keys do not reach the database each time. */
const UNKEYS_MAX = 10_000
const UNKNOWN_MS = 5_000
const KEYS_MAX = 200_000

export const createKnownKeys = (store: Pick<KeyStore, 'key' | 'keyByHash'>, clock: Clock): KnownKeys => {
  const keys = new Map<KeyId, Key>()
  const idByHash = new Map<string, KeyId>()
  const unknownUntil = new Map<string, number>()
  const listeners: ((key: Key) => void)[] = []
  const loading = new Map<string, Promise<Key | undefined>>()

  const learn = (key: Key): boolean => {
    const known = keys.get(key.id)
    if (known !== undefined && known.version >= key.version) return false
    keys.set(key.id, key)
    if (known !== undefined) for (const listener of listeners) listener(key)
    return true
  }

  const current = (id: KeyId): Key | undefined => {
    const key = keys.get(id)
    return key === undefined || !isKnown(key, clock.now()) ? undefined : key
  }

  const load = async (hash: string, others: readonly string[]): Promise<Key | undefined> => {
    const key = await store.keyByHash(hash, ...others)
    if (key === undefined) {
      if (unknownUntil.size >= UNKEYS_MAX) unknownUntil.clear()
      unknownUntil.set(hash, clock.monotonicMs() + UNKNOWN_MS)
      return undefined
    }
    if (idByHash.size >= KEYS_MAX) idByHash.clear()
    idByHash.set(hash, key.id)
    learn(key)
    return current(key.id)
  }

  const loadOnce = (hash: string, others: readonly string[]): Promise<Key | undefined> => {
    const started = load(hash, others).finally(() => loading.delete(hash))
    loading.set(hash, started)
    return started
  }

  return {
    get: (id) => keys.get(id),
    learn,
    isEndedTrial: (hash) => {
      const key = keys.get(idByHash.get(hash) ?? '')
      return key?.trialUntil !== undefined && !key.deleted && key.trialUntil <= clock.now()
    },
    lookAgain: (hash) => void unknownUntil.delete(hash),
    onChanged: (listener) => void listeners.push(listener),
    find: (hash, others = []) => {
      const id = idByHash.get(hash)
      if (id !== undefined) return current(id)
      if ((unknownUntil.get(hash) ?? 0) > clock.monotonicMs()) return undefined
      const running = loading.get(hash)
      if (running !== undefined) return running
      return loadOnce(hash, others)
    },
    reread: async (id) => {
      const key = await store.key(id)
      if (key !== undefined) learn(key)
      return keys.get(id)
    },
  }
}

export type RulesKnown = {
  /** From memory, else from the store. */
  of(id: WalletId): KnownRules | Promise<KnownRules>
  /** Takes in a state that was read; a state older than the known one changes nothing. Returns whether it was new. */
  learn(known: KnownRules): boolean
}

const RULES_MAX = 100_000

export const createKnownRules = (store: Pick<WalletRulesStore, 'walletRules'>): RulesKnown => {
  const known = new Map<WalletId, KnownRules>()
  const loading = new Map<WalletId, Promise<KnownRules>>()

  const learn = (read: KnownRules): boolean => {
    const before = known.get(read.walletId)
    if (before !== undefined && before.version >= read.version) return false
    if (known.size >= RULES_MAX) known.clear()
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

/** A call that learns why it was fenced does not wait a second time for a ledger that is away. */
const REREAD_MS = 250

type CallersParts = {
  readonly clock: Clock
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'fresh'>
  readonly keys: KnownKeys
  readonly rules: RulesKnown
  readonly rates: Rates
  readonly touch: Touch
}

/** Callers, as fresh as the heartbeat proves. */
type Callers = Pick<Book, 'caller' | 'makersOf' | 'rules' | 'rateLeft' | 'takeRate' | 'whyFenced'>

export const createCallers = (parts: CallersParts): Callers => {
  const { clock, gate, heartbeat, keys, rules, rates, touch } = parts
  const read = <T>(reading: Promise<T>): Promise<T | Refusal> =>
    touch.whileInTouch(reading).catch(unreachable)
  const callerNow = (hash: string, others?: readonly string[]): ReturnType<Book['caller']> => {
    const refusal = gate.refusesNew()
    if (refusal) return refusal
    const found = keys.find(hash, others)
    return found instanceof Promise ? read(found) : found
  }
  const callerFresh = async (hash: string, others?: readonly string[]) => {
    await gate.untilFresh()
    return callerNow(hash, others)
  }
  const makersRead = async (above: readonly KeyId[]) => {
    try {
      const makers = await Promise.all(above.map((id) => keys.get(id) ?? keys.reread(id)))
      return makers.filter((maker) => maker !== undefined)
    } catch {
      return unreachable()
    }
  }
  return {
    caller: (hash, others) => {
      const now = callerNow(hash, others)
      return now instanceof Refusal && !heartbeat.fresh() ? callerFresh(hash, others) : now
    },
    makersOf: ({ above }) => {
      const known = above.flatMap((id) => keys.get(id) ?? [])
      return known.length === above.length ? known : makersRead(above)
    },
    rules: (walletId) => {
      const known = rules.of(walletId)
      return known instanceof Promise ? read(known.then((one) => one.rules)) : known.rules
    },
    takeRate: (keyId, limits, planRpm, tokens) => {
      const verdict = rates.take(keyId, limits, planRpm, tokens)
      // A request that cannot be counted is not admitted, because the window would no longer be exact.
      return verdict instanceof Promise ? read(verdict) : verdict
    },
    rateLeft: rates.left,
    whyFenced: async (key) => {
      const now = await Promise.race([
        keys.reread(key.id).catch(() => key),
        clock.sleep(REREAD_MS).then(() => key),
      ])
      if (now === undefined || !isKnown(now, clock.now())) return unknownKey()
      return isEnabled(now, monthOf(clock.now())) ? unreachable() : disabledKey(now)
    },
  }
}
