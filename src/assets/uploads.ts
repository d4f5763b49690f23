/**
 * Files that callers upload as inputs of calls: streamed to where results are stored, kept for days, readable by their
 * key and those above it.
 */

import { type Refusal, refuse } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { CallId } from '../ledger/types.ts'
import type {
  Asset,
  AssetId,
  AssetStore,
  Upload,
  UploadNote,
  UploadQuery,
} from '../store/calls/asset-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { PublicParts } from '../transport/public-address.ts'
import type { ByteStore } from './byte-store.ts'
import type { StorageQuota } from './storage-quota.ts'
import { AssetFault, takeBytes, WRITING_MS } from './take.ts'

export type UploadSettings = {
  /** How long a file is kept, how large it may be, and how large one key's files may be together. */
  readonly lifeMs: number
  readonly bytesMax: number
  readonly keyBytesMax: number
}

type NewUpload = {
  readonly keyId: KeyId
  /** The id of the request that uploads it. */
  readonly requestId: CallId
  readonly pieces: AsyncGenerator<Uint8Array>
  /**
   * Called when all bytes have arrived, because some clients send a file's purpose after it. Throws the Refusal of what
   * is wrong.
   */
  readonly note: () => Promise<UploadNote & { readonly lifeMs?: number | undefined }>
}

export type Uploads = {
  readonly bytesMax: number
  /** The refusal while there is no room for more files of the key; checked before any byte is read. */
  full(keyId: KeyId): Promise<Refusal | undefined>
  /** Throws AssetFault, and whatever pieces and note throw; in each case nothing becomes visible. */
  take(it: NewUpload): Promise<Upload>
  findFor(id: AssetId, keyId: KeyId): Promise<Upload | undefined>
  list(query: UploadQuery): Promise<readonly Upload[]>
  /** An address of it for vendors; undefined if vendors cannot reach this server. */
  address(upload: Upload): string | undefined
  /** All its bytes; undefined when they are gone. */
  bytes(upload: Upload): Promise<Uint8Array | undefined>
}

type Parts = {
  readonly store: AssetStore
  readonly bytes: ByteStore
  readonly web: PublicParts
  readonly clock: Clock
  readonly newId: () => AssetId
  readonly base: () => string
  readonly settings: { readonly bytesMax: number; readonly uploads: UploadSettings }
}

type Shared = {
  readonly quota: StorageQuota
  readonly discard: (id: AssetId) => Promise<void>
  /** Signed. */
  readonly addressOf: (asset: Asset) => string
}

export const openUploads = (parts: Parts, { quota, discard, addressOf }: Shared): Uploads => {
  const { store, bytes, settings } = parts
  const { uploads } = settings
  const takeOne = async ({ keyId, requestId, pieces, note }: NewUpload): Promise<Upload> => {
    const id = parts.newId()
    const row = { id, keyId, runId: requestId, place: 0, source: 'upload' }
    const begin = () => store.beginAsset(row, WRITING_MS)
    try {
      const measured = await takeBytes(parts, {
        id,
        type: 'file',
        from: { pieces },
        inRow: () => false,
        begin,
      })
      const { lifeMs = uploads.lifeMs, ...noted } = await note()
      const asset = await store.finishAsset(id, measured, Math.min(lifeMs, uploads.lifeMs), noted)
      if (asset === undefined) throw new AssetFault('storage', 'the file was swept', { again: true })
      quota.took(asset.bytes)
      return { ...asset, ...noted }
    } catch (error) {
      await discard(id)
      throw error
    }
  }
  return {
    bytesMax: uploads.bytesMax,
    full: async (keyId) => {
      const none = await quota.refusal()
      if (none !== undefined) return none
      const stored = await store.uploadBytes(keyId)
      return stored.own >= uploads.keyBytesMax || stored.all >= settings.bytesMax / 2
        ? quotaExceeded(uploads.keyBytesMax)
        : undefined
    },
    take: takeOne,
    findFor: (id, keyId) => store.uploadFor(id, keyId),
    list: (query) => store.uploads(query),
    address: (upload) => (parts.base().startsWith('https://') ? addressOf(upload) : undefined),
    bytes: ({ id }) => bytes.whole(id),
  }
}

const quotaExceeded = (most: number): Refusal =>
  refuse(
    'rate_limit_exceeded',
    `There is no room for more files: the files of one key may have ${most} bytes together. Delete some, or wait until they expire.`,
  )
