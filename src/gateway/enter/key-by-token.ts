/**
 * Finds keys by their tokens where they are not stored under the present secret: under the previous one while it changes, or
 * under the hash of the gateway that they came from. When they are first used they go over to the present one.
 */
import { createHash } from 'node:crypto'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { KeyStore } from '../../store/accounts/tenancy-port.ts'
import type { Key } from '../../tenancy/key.ts'

type Tokens = {
  readonly store: { readonly keys: Pick<KeyStore, 'keyByHash' | 'rehash'> }
  readonly hash: KeyedHash
}

/** Under which a key is stored whose value was made elsewhere, by the SHA-256 of that value in hex. */
export const importedHash = (sha256: string): string => `sha256:${sha256}`

/** The hashes under which a token may be stored that is not stored under the present secret. */
export const earlierHashes = (hash: KeyedHash, token: string): readonly [string, ...string[]] => [
  importedHash(createHash('sha256').update(token).digest('hex')),
  ...(hash.before === undefined ? [] : [hash.before(token)]),
]

/** The key of a token as stored in the ledger, deleted or not. */
export const keyByToken = async ({ store, hash }: Tokens, token: string): Promise<Key | undefined> =>
  (await store.keys.keyByHash(hash(token))) ?? store.keys.keyByHash(...earlierHashes(hash, token))

/** Stores the hash under the present secret for a key that was found by an earlier one. */
export const moveKey = ({ store, hash }: Tokens, token: string, { id }: Key): Promise<void> =>
  store.keys.rehash(id, {
    before: earlierHashes(hash, token),
    hash: hash(token),
    hashedBy: hash.id,
  })
