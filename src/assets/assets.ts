/** Results of calls that live here: stored once for each place of a run, given an address, served, and swept when over. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { CallId } from '../ledger/types.ts'
import type { Asset, AssetId, AssetStore } from '../store/calls/asset-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { PublicParts } from '../transport/public-address.ts'
import { fetchPublic } from '../transport/public-fetch.ts'
import { checkSignature, type Hash, signedAddress } from './address.ts'
import type { ByteStore, Opened, Span } from './byte-store.ts'
import { gather } from './gather.ts'
import type { Family } from './kind.ts'
import { lengthOf } from './length.ts'
import { newRoom, type SmallSettings } from './room.ts'
import { AssetFault, type From, takeBytes, WRITING_MS } from './take.ts'
import { openUploads, type UploadSettings, type Uploads } from './uploads.ts'

export type AssetSettings = {
  /** How long bytes are kept, and how long an address of them is good. */
  readonly lifeMs: number
  readonly addressMs: number
  /** What all of them may be together, and what must stay free on the disk. */
  readonly bytesMax: number
  readonly freeBytesMin: number
  /** Which results lie in their rows rather than among the bytes. */
  readonly small: SmallSettings
  readonly uploads: UploadSettings
}

export type AssetParts = {
  readonly store: AssetStore
  readonly bytes: ByteStore
  readonly web: PublicParts
  readonly clock: Clock
  readonly log: Log
  /** HMAC under the server's secret. */
  readonly hash: Hash
  /** 128 random bits in hex. */
  readonly newId: () => AssetId
  /** What addresses begin with, such as `https://gate.example.com`. */
  readonly base: () => string
  readonly settings: AssetSettings
}

/** A result as its caller is told of it. */
export type StoredAsset = {
  readonly id: AssetId
  /** Signed: good with no key, for hours. */
  readonly url: string
  readonly type: Family
  readonly media_type: string
  readonly bytes: number
  readonly sha256: string
  readonly width?: number
  readonly height?: number
  readonly seconds?: number
  /** ISO 8601. */
  readonly expires_at: string
}

export type Result = {
  readonly keyId: KeyId
  readonly runId: CallId
  /** Which of the run's results, from 0. */
  readonly index: number
  readonly type: Family
  readonly from: From
  /** Who made it, such as a vendor's name; never an address. */
  readonly sourceName?: string
}

export type Assets = {
  /**
   * Stores a result and tells of it; of a place that is stored already, tells again with a new address, and reads nothing.
   * Throws the refusal `asset_too_large`, AssetFault, or StoreFault; each leaves nothing that is charged or seen.
   */
  keep(result: Result): Promise<StoredAsset>
  /** A result that is stored, told again with a new address; undefined when it is gone. */
  kept(runId: CallId, index: number, type: Family): Promise<StoredAsset | undefined>
  /** What addresses begin with. */
  base(): string
  /** The 503 for calls that would have to be stored, while there is no room; asked before they are submitted. */
  full(): Promise<Refusal | undefined>
  /** All bytes of an asset that was just kept. Throws AssetFault when they are gone. */
  bytes(id: AssetId): Promise<Uint8Array>
  /** How long a sound or film is that was just kept, in whole milliseconds; undefined where it cannot be told. */
  lengthMs(id: AssetId): Promise<number | undefined>
  /** Whether an address of ours is good; without a look into the store. */
  checkSignature(it: { name: string; exp: string; sig: string }): 'good' | 'over' | 'forged'
  /** One that lives: for who has a good address, and for a key that owns it or is above the one that does. */
  find(id: AssetId): Promise<Asset | undefined>
  findFor(id: AssetId, keyId: KeyId): Promise<Asset | undefined>
  /** Its bytes, or where they are. Undefined when they are gone. */
  open(asset: Asset, span: Span): Promise<Opened | undefined>
  /** Ends it for everybody at once; false when there is none for this key. */
  end(id: AssetId, keyId: KeyId): Promise<boolean>
  /** Removes what is over, in batches; tells how many went. */
  sweep(): Promise<number>
  /** The bytes behind a public address that an input names. Throws FetchFault while they are read. */
  fetchInput(url: string, bytesMax: number, leaving: AbortSignal): AsyncGenerator<Uint8Array>
  /** Files that callers bring. */
  readonly uploads: Uploads
}

export const nameOf = ({ id, extension }: Asset): string => `${id}.${extension}`

export const openAssets = (parts: AssetParts): Assets => {
  const { store, bytes, clock, hash, settings } = parts
  const room = newRoom({ ...parts, ...settings })
  const addressOf = (asset: Asset): string => {
    const until = Math.min(clock.now() + settings.addressMs, asset.expiresAt)
    return signedAddress(hash, parts.base(), nameOf(asset), until)
  }
  const shown = (asset: Asset, type: Family): StoredAsset => ({
    id: asset.id,
    url: addressOf(asset),
    type,
    media_type: asset.mediaType,
    bytes: asset.bytes,
    sha256: asset.sha256,
    ...(asset.width === undefined ? {} : { width: asset.width }),
    ...(asset.height === undefined ? {} : { height: asset.height }),
    expires_at: new Date(asset.expiresAt).toISOString(),
  })
  const addWhole = gather(parts, settings.lifeMs)
  const storeOne = async ({ keyId, runId, index, type, from, sourceName }: Result, id: AssetId) => {
    const row = { id, keyId, runId, place: index, source: sourceName ?? '' }
    const begin = () => store.beginAsset(row, WRITING_MS)
    const { body, ...measured } = await takeBytes(parts, { id, type, from, inRow: room.inRow, begin })
    return body === undefined
      ? store.finishAsset(id, measured, settings.lifeMs)
      : addWhole({ ...row, ...measured, body })
  }
  const inRow = async ({ id, bytes: size }: Asset): Promise<Uint8Array | undefined> =>
    size <= settings.small.bytes ? store.bodyOf(id) : undefined
  return {
    keep: async (it) => {
      // What is in hand is not read again: its place is looked at where it is written.
      const before = 'url' in it.from ? await store.assetOfRun(it.runId, it.index) : undefined
      if (before !== undefined) return shown(before, it.type)
      const id = parts.newId()
      const asset = await orDiscard(parts, id, storeOne(it, id))
      if (asset !== undefined) {
        room.took(asset.bytes)
        return shown(asset, it.type)
      }
      await discard(parts, id)
      const other = await store.assetOfRun(it.runId, it.index)
      if (other === undefined)
        throw new AssetFault('storage', 'the result was swept while it was stored', { again: true })
      return shown(other, it.type)
    },
    kept: async (runId, index, type) => {
      const asset = await store.assetOfRun(runId, index)
      return asset === undefined || asset.expiresAt <= clock.now() ? undefined : shown(asset, type)
    },
    base: parts.base,
    full: room.refusal,
    bytes: async (id) => {
      const asset = await store.asset(id)
      const all = asset && ((await inRow(asset)) ?? (await bytes.whole(id)))
      return all ?? gone()
    },
    lengthMs: async (id) => {
      const asset = await store.asset(id)
      if (asset === undefined) return undefined
      const body = await inRow(asset)
      const part = async (start: number, end: number): Promise<Uint8Array> =>
        body?.subarray(start, end) ?? (await bytes.part(id, { first: start, last: end - 1 })) ?? gone()
      return lengthOf({ bytes: asset.bytes, part })
    },
    checkSignature: (it) => checkSignature(hash, it, clock.now()),
    find: (id) => store.asset(id),
    findFor: (id, keyId) => store.assetFor(id, keyId),
    open: async (asset, span) => {
      const body = await inRow(asset)
      return body === undefined ? bytes.open(asset.id, span) : { pieces: partOf(body, span) }
    },
    end: (id, keyId) => store.endAsset(id, keyId),
    sweep: () => sweep(parts),
    fetchInput: (url, bytesMax, leaving) =>
      fetchPublic(parts.web, { url, bytesMax, leaving, ...INPUT_TIMES }),
    uploads: openUploads(parts, { room, discard: (id) => discard(parts, id), addressOf }),
  }
}

async function* partOf(body: Uint8Array, { first, last }: Span): AsyncGenerator<Uint8Array> {
  yield body.subarray(first, last + 1)
}

/** A caller waits for inputs that are fetched. */
const INPUT_TIMES = { idleMs: 30_000, totalMs: 60_000 }

const gone = (): never => {
  throw new AssetFault('storage', 'the bytes of a result are gone', { again: false })
}

const orDiscard = async <T>(parts: AssetParts, id: AssetId, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    await discard(parts, id)
    throw error
  }
}

/** Takes away what was begun; what resists is left to the sweep, which finds its row. */
const discard = async ({ bytes, store, log }: AssetParts, id: AssetId): Promise<void> => {
  try {
    await bytes.remove(id)
    await store.forgetAssets([id])
  } catch (error) {
    log.warn('bytes of a result that failed are left to the sweep', { error: messageOf(error) })
  }
}

const BATCH = 50

/**
 * First the bytes, then their rows: a sweep that is cut goes on where it was. Several processes may do it at a time.
 * Rejects when some bytes could not be removed, and has removed the others of their batch.
 */
const sweep = async ({ store, bytes }: AssetParts): Promise<number> => {
  for (let swept = 0; ; ) {
    const ids = await store.endedAssets(BATCH)
    const removals = await Promise.allSettled(ids.map((id) => bytes.remove(id)))
    const removed = ids.filter((_id, place) => removals[place]?.status === 'fulfilled')
    if (removed.length > 0) await store.forgetAssets(removed)
    const failed = removals.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    swept += removed.length
    if (ids.length < BATCH) return swept
  }
}
