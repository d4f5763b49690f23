/**
 * The keys that sign receipts, as this process knows them. The first start makes one. They are read again now and then,
 * so that every process knows of a key that the operator adds or removes before it matters.
 */
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { KeyedHash } from '../../core/keyed-hash.ts'
import type { Log } from '../../core/log.ts'
import type { Clock, Instant } from '../../core/time.ts'
import { type PublicKey, publicKeyOf, seal, unseal } from '../../receipts/keys.ts'
import { type SigningKey, signingKey } from '../../receipts/token.ts'
import type { ReceiptStore, StoredReceiptKey } from '../../store/calls/receipt-port.ts'
import { type Actor, theHouse } from '../../store/people/event-port.ts'

export type ReceiptKeys = {
  /** The key that signs now; undefined when there is none, or none that this process can unseal. */
  signer(): SigningKey | undefined
  /** The public keys, including old ones, at most five seconds old; while the database is away, the last known ones. */
  published(): Promise<readonly PublicKey[]>
}

type ReceiptKeyParts = {
  readonly store: ReceiptStore
  /** HMAC under the server's secret; keys are sealed under its hash of a fixed text. */
  readonly hash: KeyedHash<string>
}

/** A new key is published for this long before it signs: twice the time that a copy of the key set may be cached. */
export const PUBLISHED_FIRST_MS = 10 * 60 * 1000

const SIGNER_AGE_MS = 60_000
const PUBLISHED_AGE_MS = 5_000

type KnownKey = {
  readonly signsFrom: Instant
  readonly public: PublicKey
  readonly signing: SigningKey | undefined
}

/** Reads the keys, and makes the first one if this process can unseal none. */
export const openReceiptKeys = async (
  parts: ReceiptKeyParts & { readonly clock: Clock; readonly log: Log },
): Promise<ReceiptKeys> => {
  const { store, clock, log } = parts
  const load = async () => (await store.receiptKeys()).flatMap((key) => knownOf(parts, key))
  const stored = await store.receiptKeys()
  let known = stored.flatMap((key) => knownOf(parts, key))
  if (!known.some(({ signing }) => signing !== undefined)) {
    // The new key's number follows from what was read, so that processes that start together make a single key.
    await makeKey(parts, { after: stored, waitMs: 0, by: theHouse })
    known = await load()
  }
  let loadedMs = clock.monotonicMs()
  let loading: Promise<void> | undefined
  /** Reads the keys again if the last reading is too old; after a failure the known ones stay. */
  const refresh = (ageMs: number): Promise<void> => {
    if (loading === undefined && clock.monotonicMs() - loadedMs > ageMs) {
      loadedMs = clock.monotonicMs()
      loading = load()
        .then((read) => {
          known = read
        })
        .catch((error: unknown) => log.warn('the receipt keys could not be read', { error: String(error) }))
        .finally(() => {
          loading = undefined
        })
    }
    return loading ?? Promise.resolve()
  }
  return {
    signer: () => {
      void refresh(SIGNER_AGE_MS)
      const now = clock.now()
      const able = known.filter(({ signing }) => signing !== undefined)
      // The first key signs at once, even if this clock is behind the database's, which dates the keys.
      return (able.findLast(({ signsFrom }) => signsFrom <= now) ?? able[0])?.signing
    },
    published: async () => {
      await refresh(PUBLISHED_AGE_MS)
      return known.map((key) => key.public)
    },
  }
}

const sealingSecret = (hash: ReceiptKeyParts['hash']): Uint8Array<ArrayBuffer> =>
  Buffer.from(hash('turnpike: the secret that seals receipt keys'), 'hex')

const knownOf = ({ hash }: ReceiptKeyParts, key: StoredReceiptKey): readonly KnownKey[] => {
  const read = publicKeyOf(key.publicKey)
  if (read === undefined || read.kid !== key.kid) return []
  const opened =
    unseal(key.sealed, key.kid, sealingSecret(hash)) ??
    (hash.before === undefined ? undefined : unseal(key.sealed, key.kid, sealingSecret(hash.before)))
  return [
    {
      signsFrom: key.signsFrom,
      public: read,
      signing: opened === undefined ? undefined : signingKey(key.kid, opened),
    },
  ]
}

/** Seals under the present secret those keys that only the previous one opens. Returns how many neither opens. */
export const sealAnew = async ({ store, hash }: ReceiptKeyParts): Promise<number> => {
  let closed = 0
  for (const { kid, sealed } of await store.receiptKeys()) {
    if (unseal(sealed, kid, sealingSecret(hash)) !== undefined) continue
    const opened = hash.before && unseal(sealed, kid, sealingSecret(hash.before))
    if (opened === undefined) closed++
    else
      await store.sealReceiptKey(kid, {
        before: sealed,
        sealed: seal(opened, kid, sealingSecret(hash), randomBytes(12)),
      })
  }
  return closed
}

/** Makes a key that signs from `waitMs` on. If another process adds one at the same moment, that one is returned. */
export const addReceiptKey = async (
  parts: ReceiptKeyParts,
  waitMs: number,
  by: Actor,
): Promise<StoredReceiptKey> => makeKey(parts, { after: await parts.store.receiptKeys(), waitMs, by })

const makeKey = async (
  { store, hash }: ReceiptKeyParts,
  it: { readonly after: readonly StoredReceiptKey[]; readonly waitMs: number; readonly by: Actor },
): Promise<StoredReceiptKey> => {
  const last = it.after.at(-1)?.number ?? 0
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const read = publicKeyOf(rawOf(publicKey))
  if (read === undefined) throw new Error('a new receipt key could not be read back')
  const sealed = seal(privateKey, read.kid, sealingSecret(hash), randomBytes(12))
  return store.addReceiptKey({ number: last + 1, kid: read.kid, publicKey: read.x, sealed }, it.waitMs, it.by)
}

const rawOf = (key: KeyObject): string => {
  const { x } = key.export({ format: 'jwk' })
  return typeof x === 'string' ? x : ''
}
