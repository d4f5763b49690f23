/**
 * Known keys: what this process has read of them. A version never goes backwards, and a key is only trusted while a
 * heartbeat proves that no change was missed.
 */
import type { Clock } from '../core/time.ts'
import type { KeyStore } from '../store/accounts/tenancy-port.ts'
import { isKnown, type Key, type KeyId } from '../tenancy/key.ts'

export type KnownKeys = {
  /** The newest known state; undefined if it was never read. */
  get(id: KeyId): Key | undefined
  /**
   * By the hash of its token: from memory, else from the store. Undefined for deleted and unknown keys, and for keys of
   * ended trials.
   */
  find(hash: string): Key | undefined | Promise<Key | undefined>
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
const UNKNOWN_MAX = 10_000
const UNKNOWN_MS = 5_000
const KNOWN_MAX = 200_000

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

  const load = async (hash: string): Promise<Key | undefined> => {
    const key = await store.keyByHash(hash)
    if (key === undefined) {
      if (unknownUntil.size >= UNKNOWN_MAX) unknownUntil.clear()
      unknownUntil.set(hash, clock.monotonicMs() + UNKNOWN_MS)
      return undefined
    }
    if (idByHash.size >= KNOWN_MAX) idByHash.clear()
    idByHash.set(hash, key.id)
    learn(key)
    return current(key.id)
  }

  const loadOnce = (hash: string): Promise<Key | undefined> => {
    const started = load(hash).finally(() => loading.delete(hash))
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
    find: (hash) => {
      const id = idByHash.get(hash)
      if (id !== undefined) return current(id)
      if ((unknownUntil.get(hash) ?? 0) > clock.monotonicMs()) return undefined
      const running = loading.get(hash)
      if (running !== undefined) return running
      return loadOnce(hash)
    },
    reread: async (id) => {
      const key = await store.key(id)
      if (key !== undefined) learn(key)
      return keys.get(id)
    },
  }
}
