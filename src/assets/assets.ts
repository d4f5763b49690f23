/**
 * Results of calls that are stored here: stored once for each place of a run, given an address, served, and swept when
 * they expire.
 */
import { present } from '../core/json-body.ts'
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { CallId } from '../ledger/types.ts'
import type { Asset, AssetId, AssetStore } from '../store/calls/asset-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { Pool } from '../transport/local-media/pool.ts'
import { LENGTH } from '../transport/local-media/work.ts'
import type { PublicParts } from '../transport/public-address.ts'
import { fetchPublic } from '../transport/public-fetch.ts'
import type { Part } from '../vendors/local/product.ts'
import { checkSignature, type Hash, signedAddress } from './address.ts'
import type { ByteStore, Opened, Span } from './byte-store.ts'
import { gather } from './gather.ts'
import type { Family } from './kind.ts'
import { newStorageQuota, type SmallSettings } from './storage-quota.ts'
import { AssetFault, type From, takeBytes, WRITING_MS } from './take.ts'
import { openUploads, type UploadSettings, type Uploads } from './uploads.ts'

export type AssetSettings = {
  /** How long bytes are kept, and how long an address of them is valid. */
  readonly lifeMs: number
  readonly addressMs: number
  /** The most bytes of all assets together, and how much of the disk must stay free. */
  readonly bytesMax: number
  readonly freeBytesMin: number
  /** Which results are stored in their rows instead of among the bytes. */
  readonly small: SmallSettings
  readonly uploads: UploadSettings
}

export type AssetParts = {
  readonly store: AssetStore
  readonly bytes: ByteStore
  readonly web: PublicParts
  /** The processes that read strangers' films and sounds. */
  readonly measuring: Pool
  readonly clock: Clock
  readonly log: Log
  /** HMAC under the server's secret. */
  readonly hash: Hash
  /** 128 random bits in hex. */
  readonly newId: () => AssetId
  /** The beginning of addresses, such as `https://gate.example.com`. */
  readonly base: () => string
  readonly settings: AssetSettings
}

/** A result as its caller sees it. */
export type StoredAsset = {
  readonly id: AssetId
  /** Signed: valid without a key, for hours. */
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
  /** Its index among the run's results. */
  readonly index: number
  readonly type: Family
  readonly from: From
  /** Who made it, such as a vendor's name; never an address. */
  readonly sourceName?: string
}

export type Assets = {
  /**
   * Stores a result and returns its description. If its place is stored already, returns that with a new address and
   * reads nothing. Throws the refusal `asset_too_large`, AssetFault, or StoreFault; then nothing is charged or visible.
   */
  keep(result: Result): Promise<StoredAsset>
  /** A stored result with a new address; undefined when it is gone. */
  kept(runId: CallId, index: number, type: Family): Promise<StoredAsset | undefined>
  /** The beginning of addresses. */
  base(): string
  /** The 503 for calls whose results must be stored, while there is no room; checked before they are submitted. */
  full(): Promise<Refusal | undefined>
  /** All bytes of an asset that was just stored. Throws AssetFault when they are gone. */
  bytes(id: AssetId): Promise<Uint8Array>
  /**
   * The length of a sound or film that was just stored, in whole milliseconds; undefined if it cannot be determined.
   */
  lengthMs(id: AssetId): Promise<number | undefined>
  /** Whether an address of ours is valid; does not look into the store. */
  checkSignature(it: { name: string; exp: string; sig: string }): 'good' | 'over' | 'forged'
  /**
   * An asset that still exists: for whoever has a valid address, and for the key that owns it or one above that key.
   */
  find(id: AssetId): Promise<Asset | undefined>
  findFor(id: AssetId, keyId: KeyId): Promise<Asset | undefined>
  /** Its bytes, or where to get them. Undefined when they are gone. */
  open(asset: Asset, span: Span): Promise<Opened | undefined>
  /** Ends it for everybody at once; false when this key has no such asset. */
  end(id: AssetId, keyId: KeyId): Promise<boolean>
  /** Removes expired assets, in batches; returns how many. */
  sweep(): Promise<number>
  /** The bytes at a public address that an input names. Throws FetchFault, also while they are being read. */
  fetchInput(url: string, bytesMax: number, leaving: AbortSignal): AsyncGenerator<Uint8Array>
  /** Files that callers upload. */
  readonly uploads: Uploads
}

export const nameOf = ({ id, extension }: Asset): string => `${id}.${extension}`

export const openAssets = (parts: AssetParts): Assets => {
  const { store, bytes, clock, hash, settings } = parts
  const quota = newStorageQuota({ ...parts, ...settings })
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
    ...present({ width: asset.width, height: asset.height }),
    expires_at: new Date(asset.expiresAt).toISOString(),
  })
  const addWhole = gather(parts, settings.lifeMs)
  const storeOne = async ({ keyId, runId, index, type, from, sourceName }: Result, id: AssetId) => {
    const row = { id, keyId, runId, place: index, source: sourceName ?? '' }
    const begin = () => store.beginAsset(row, WRITING_MS)
    const { body, ...measured } = await takeBytes(parts, { id, type, from, inRow: quota.inRow, begin })
    return body === undefined
      ? store.finishAsset(id, measured, settings.lifeMs)
      : addWhole({ ...row, ...measured, body })
  }
  const inRow = async ({ id, bytes: size }: Asset): Promise<Uint8Array | undefined> =>
    size <= settings.small.bytes ? store.bodyOf(id) : undefined
  return {
    keep: async (it) => {
      // Bytes that we already hold are not read again; their place is checked when it is written.
      const before = 'url' in it.from ? await store.assetOfRun(it.runId, it.index) : undefined
      if (before !== undefined) return shown(before, it.type)
      const id = parts.newId()
      const asset = await orDiscard(parts, id, storeOne(it, id))
      if (asset !== undefined) {
        quota.took(asset.bytes)
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
    full: quota.refusal,
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
      return lengthOf(parts.measuring, { bytes: asset.bytes, part })
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
    uploads: openUploads(parts, { quota: quota, discard: (id) => discard(parts, id), addressOf }),
  }
}

async function* partOf(body: Uint8Array, { first, last }: Span): AsyncGenerator<Uint8Array> {
  yield body.subarray(first, last + 1)
}

/** A caller is waiting while inputs are fetched. */
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

/** Removes what was begun; if that fails, the sweep finds its row later. */
const discard = async ({ bytes, store, log }: AssetParts, id: AssetId): Promise<void> => {
  try {
    await bytes.remove(id)
    await store.forgetAssets([id])
  } catch (error) {
    log.warn('bytes of a result that failed are left to the sweep', { error: messageOf(error) })
  }
}

const BATCH = 50
/** A medium that removes nothing is not asked about all that there is. */
const FAILED_MOST = 20 * BATCH

/**
 * Removes the bytes first and then their rows, so an interrupted sweep can continue. Several processes may sweep at
 * once. Rejects if some bytes could not be removed, after removing others.
 */
const sweep = async ({ store, bytes }: AssetParts): Promise<number> => {
  const failed: unknown[] = []
  for (let swept = 0; ; ) {
    const ids = await store.endedAssets(BATCH, failed.length)
    const removals = await Promise.allSettled(ids.map((id) => bytes.remove(id)))
    const removed = ids.filter((_id, place) => removals[place]?.status === 'fulfilled')
    if (removed.length > 0) await store.forgetAssets(removed)
    for (const removal of removals) if (removal.status === 'rejected') failed.push(removal.reason)
    swept += removed.length
    if (ids.length === BATCH && failed.length < FAILED_MOST) continue
    if (failed.length > 0) throw failed[0]
    return swept
  }
}

type Stored = { readonly bytes: number; readonly part: Part }

/** Whole milliseconds, rounded up; undefined if it cannot be determined. */
export const lengthOf = async (pool: Pool, { bytes, part }: Stored): Promise<number | undefined> => {
  const made = await pool.run({ product: LENGTH, inputs: { bytes } }, undefined, part).catch(() => undefined)
  if (made === undefined || !('json' in made)) return undefined
  return typeof made.json.ms === 'number' ? made.json.ms : undefined
}
