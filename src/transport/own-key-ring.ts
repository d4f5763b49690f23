/**
 * Seals the keys that organisations have at vendors, and opens them for calls. Each organisation has a data key, which a
 * master wraps; both what is unwrapped and what is opened is forgotten after a time.
 */
import { randomBytes } from 'node:crypto'
import type { KeyedHash } from '../core/keyed-hash.ts'
import { refuse, retryIn } from '../core/refusal.ts'
import { sealed, unsealed } from '../core/sealed.ts'
import { Secret } from '../core/secret.ts'
import type { Clock } from '../core/time.ts'
import type { OwnKeySettings } from '../settings/own-keys.ts'
import type { DataKey, DataKeys, SealedKey } from '../tenancy/own-keys.ts'
import { awsKms, type Master, NoMaster, vaultTransit } from './key-services.ts'

export type OwnKeyRing = {
  /** Seals a key for the organisation's row of that id. */
  seal(orgId: string, row: Pick<SealedKey, 'id' | 'vendor'>, value: string): Promise<string>
  /** Throws the 503 of a master that cannot be asked, or of what cannot be opened. */
  open(orgId: string, row: SealedKey): Promise<Secret>
  /** How long what was opened may be used. */
  readonly openMs: number
  /** Wraps data keys anew that another master wrapped; tells how many it could not. */
  wrapAnew(): Promise<{ readonly wrapped: number; readonly left: number }>
  /** How many another master wrapped. */
  otherwise(): Promise<number>
}

type Parts = {
  readonly store: DataKeys
  readonly hash: KeyedHash<string>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly settings: OwnKeySettings
}

/** Wrapped by this process, under a secret of its settings. */
const localMaster = (hash: KeyedHash<string>): Master => {
  const secret = Buffer.from(hash('turnpike: the secret that wraps data keys'), 'hex')
  const purpose = (owner: string) => `data key ${owner}`
  return {
    id: `secret:${hash('turnpike: which secret wraps data keys').slice(0, 16)}`,
    wrap: async (key, owner) => sealed(key, purpose(owner), secret, randomBytes(12)),
    unwrap: async (wrapped, owner) => {
      const key = unsealed(wrapped, purpose(owner), secret)
      if (key === undefined) throw new NoMaster('the secret does not open it')
      return key
    },
  }
}

const hashUnder =
  (secret: Secret): KeyedHash<string> =>
  (text) =>
    new Bun.CryptoHasher('sha256', secret.reveal()).update(text).digest('hex')

/** The masters that the settings know, first the one that wraps. */
const mastersOf = ({ hash, settings }: Parts): readonly Master[] => {
  const { kmsKey, kmsUrl, awsId, awsSecret, awsSession, vaultUrl, vaultToken, vaultKey } = settings
  const own = settings.secret === undefined ? [] : [localMaster(hashUnder(settings.secret))]
  const local = [...own, localMaster(hash), ...(hash.before === undefined ? [] : [localMaster(hash.before)])]
  const all: Master[] = [...local]
  if (kmsKey !== undefined && awsId !== undefined && awsSecret !== undefined) {
    const region = kmsKey.split(':')[3] ?? ''
    const key = { id: awsId.reveal(), secret: awsSecret, sessionToken: awsSession, region }
    all.push(awsKms(key, kmsKey, kmsUrl))
  }
  if (vaultUrl !== undefined && vaultToken !== undefined && vaultKey !== undefined)
    all.push(vaultTransit({ url: vaultUrl, token: vaultToken, key: vaultKey }))
  const first = all.filter(({ id }) => id.startsWith(`${settings.master}:`))
  return [...first, ...all]
}

/** The 503 for calls of that vendor by that organisation: nobody else's are concerned. */
const notOpened = (reason: string) =>
  refuse(
    'own_keys_unavailable',
    `Your organisation's own keys of vendors cannot be opened now: ${reason}. Nothing was sent and nothing was charged.`,
    retryIn(10),
  )

const boundTo = (orgId: string, { vendor, id }: Pick<SealedKey, 'id' | 'vendor'>): string =>
  `own key ${orgId} ${vendor} ${id}`

const KNOWN_MOST = 10_000
const AT_ONCE = 100

export const newOwnKeyRing = (parts: Parts): OwnKeyRing => {
  const { store, clock, settings } = parts
  const masters = mastersOf(parts)
  const [master = localMaster(parts.hash)] = masters
  const known = new Map<string, { readonly untilMs: number; readonly key: Promise<Uint8Array> }>()

  const unwrap = async ({ orgId, master: id, wrapped }: DataKey): Promise<Uint8Array> => {
    const by = masters.find((one) => one.id === id)
    if (by === undefined) throw new NoMaster('the settings lack what wrapped them')
    return by.unwrap(wrapped, orgId)
  }

  const make = async (orgId: string): Promise<Uint8Array> => {
    const wrapped = await master.wrap(randomBytes(32), orgId)
    return unwrap(await store.firstDataKey({ orgId, master: master.id, wrapped }))
  }

  const keyOf = async (orgId: string): Promise<Uint8Array> => {
    const nowMs = clock.monotonicMs()
    const before = known.get(orgId)
    if (before !== undefined && nowMs < before.untilMs) return before.key
    const key = store
      .dataKey(orgId)
      .then((stored) => (stored === undefined ? make(orgId) : unwrap(stored)))
      .catch((fault: unknown) => {
        known.delete(orgId)
        throw fault instanceof NoMaster ? notOpened(fault.message) : fault
      })
    if (known.size >= KNOWN_MOST) known.clear()
    known.set(orgId, { untilMs: nowMs + settings.openMs, key })
    return key
  }

  return {
    openMs: settings.openMs,
    seal: async (orgId, row, value) =>
      sealed(Buffer.from(value), boundTo(orgId, row), await keyOf(orgId), randomBytes(12)),
    open: async (orgId, row) => {
      const value = unsealed(row.sealed, boundTo(orgId, row), await keyOf(orgId))
      if (value === undefined) throw notOpened('one of them was changed')
      return new Secret(value.toString())
    },
    otherwise: async () => (await store.wrappedOtherwise(master.id, 0)).count,
    wrapAnew: async () => {
      let wrapped = 0
      for (;;) {
        const { count, keys } = await store.wrappedOtherwise(master.id, AT_ONCE)
        let moved = 0
        for (const before of keys) {
          const key = await unwrap(before).catch(() => undefined)
          if (key === undefined) continue
          const again = await master.wrap(key, before.orgId)
          await store.rewrap(before, { orgId: before.orgId, master: master.id, wrapped: again })
          moved++
        }
        wrapped += moved
        if (moved === 0) return { wrapped, left: count }
      }
    },
  }
}
