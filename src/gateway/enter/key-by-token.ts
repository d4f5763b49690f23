/**
 * Finds keys by their tokens while the server's secret changes: under either secret, and moves them to the present one.
 */
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { KeyStore } from '../../store/accounts/tenancy-port.ts'
import type { Key } from '../../tenancy/key.ts'

type Tokens = {
  readonly store: { readonly keys: Pick<KeyStore, 'keyByHash' | 'rehash'> }
  readonly hash: KeyedHash
}

/** The key of a token as stored in the ledger, deleted or not. */
export const keyByToken = async ({ store, hash }: Tokens, token: string): Promise<Key | undefined> => {
  const found = await store.keys.keyByHash(hash(token))
  if (found !== undefined || hash.before === undefined) return found
  return store.keys.keyByHash(hash.before(token))
}

/** Stores the hash under the present secret for a key that was found by the previous one. */
export const moveKey = async ({ store, hash }: Tokens, token: string, { id }: Key): Promise<void> => {
  if (hash.before === undefined) return
  await store.keys.rehash(id, { before: hash.before(token), hash: hash(token), hashedBy: hash.id })
}
