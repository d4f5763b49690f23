/**
 * Files that callers upload as inputs of calls: streamed to where results are stored, kept for days, readable by their
 * key and those above it.
 */

import { type Refusal, refuse } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { CallId } from '../ledger/types.ts'
import type {
  Asset,
  AssetBytes,
  AssetId,
  AssetStore,
  Upload,
  UploadNote,
  UploadQuery,
} from '../store/calls/asset-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { PublicParts } from '../transport/public-address.ts'
import type { ByteStore, Span } from './byte-store.ts'
import { textOr } from './kind.ts'
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
  /** How many bytes of it are parts that are kept, and end once it is there. */
  readonly partBytes?: number
  /**
   * Called when all bytes have arrived, because some clients send a file's purpose after it. Throws the Refusal of what
   * is wrong.
   */
  readonly note: () => Promise<
    UploadNote & { readonly lifeMs?: number | undefined; readonly isText?: boolean }
  >
}

/** A file that the server writes for a key: one for each place of a run. It is listed only with a note. */
type NewOwnFile = {
  readonly keyId: KeyId
  readonly runId: CallId
  readonly place: number
  readonly pieces: AsyncGenerator<Uint8Array>
  readonly lifeMs: number
  readonly note?: UploadNote
}

export type Uploads = {
  readonly bytesMax: number
  /** The refusal while there is no room for more files of the key; checked before any byte is read, and by `take` after the last. */
  full(keyId: KeyId): Promise<Refusal | undefined>
  /** Throws AssetFault, that refusal, and whatever pieces and note throw; in each case nothing becomes visible. */
  take(it: NewUpload): Promise<Upload>
  /** The same for a file of the server's own. If its place is taken, the file there counts. */
  keep(it: NewOwnFile): Promise<Asset>
  findFor(id: AssetId, keyId: KeyId): Promise<Upload | undefined>
  /** Undefined after a file that was swept: nobody knows where it stood, and no files would say that there are no others. */
  list(query: UploadQuery): Promise<readonly Upload[] | undefined>
  /** An address of it for vendors; undefined if vendors cannot reach this server. */
  address(upload: Upload): string | undefined
  /** All its bytes; undefined when they are gone. */
  bytes(upload: Upload): Promise<Uint8Array | undefined>
  /** A part of it, in memory; undefined when it is gone. */
  part(id: AssetId, span: Span): Promise<Uint8Array | undefined>
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
  type Written = Pick<NewOwnFile, 'keyId' | 'runId' | 'place' | 'pieces'> & {
    readonly finish: (id: AssetId, measured: AssetBytes) => Promise<Asset | undefined>
  }
  /** Writes the bytes; undefined if `finish` finds no place for them. */
  const write = async ({ pieces, finish, ...of }: Written): Promise<Asset | undefined> => {
    const id = parts.newId()
    const begin = () => store.beginAsset({ id, ...of, source: 'upload' }, WRITING_MS)
    try {
      const from = { pieces }
      const measured = await takeBytes(parts, { id, type: 'file', from, inRow: () => false, begin })
      const asset = await finish(id, measured)
      if (asset === undefined) await discard(id)
      else quota.took(asset.bytes)
      return asset
    } catch (error) {
      await discard(id)
      throw error
    }
  }
  const swept = () => new AssetFault('storage', 'the file was swept', { again: true })
  const full = async (keyId: KeyId, ending = 0): Promise<Refusal | undefined> => {
    const none = await quota.refusal()
    if (none !== undefined) return none
    const stored = await store.uploadBytes(keyId)
    return stored.own - ending >= uploads.keyBytesMax || stored.all - ending >= settings.bytesMax / 2
      ? quotaExceeded(uploads.keyBytesMax)
      : undefined
  }
  /** Files become visible one after the other, so that each knows of those before it. */
  let finished: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = finished.then(work)
    finished = turn.catch(() => undefined)
    return turn
  }
  const takeOne = async ({ keyId, requestId, pieces, partBytes, note }: NewUpload): Promise<Upload> => {
    let noted: UploadNote = { purpose: '', name: '' }
    const finish: Written['finish'] = async (id, measured) => {
      const { lifeMs = uploads.lifeMs, isText, ...said } = await note()
      const typed = isText === true ? { ...measured, ...textOr(measured) } : measured
      noted = said
      return inTurn(async () => {
        // While it came, others may have taken the room.
        const refused = await full(keyId, partBytes)
        if (refused !== undefined) throw refused
        return store.finishAsset(id, typed, Math.min(lifeMs, uploads.lifeMs), noted)
      })
    }
    const asset = await write({ keyId, runId: requestId, place: 0, pieces, finish })
    if (asset === undefined) throw swept()
    return { ...asset, ...noted }
  }
  const keepOne = async ({ lifeMs, note, ...it }: NewOwnFile): Promise<Asset> => {
    const finish: Written['finish'] = (id, measured) => store.finishAsset(id, measured, lifeMs, note)
    const asset = (await write({ ...it, finish })) ?? (await store.assetOfRun(it.runId, it.place))
    if (asset === undefined) throw swept()
    return asset
  }
  return {
    bytesMax: uploads.bytesMax,
    full,
    take: takeOne,
    keep: keepOne,
    part: (id, span) => bytes.part(id, span),
    findFor: (id, keyId) => store.uploadFor(id, keyId),
    list: async (query) => {
      const found = await store.uploads(query)
      const { after } = query
      return found.length > 0 || after === undefined || (await store.hasAsset(after)) ? found : undefined
    },
    address: (upload) => (parts.base().startsWith('https://') ? addressOf(upload) : undefined),
    bytes: ({ id }) => bytes.whole(id),
  }
}

const quotaExceeded = (most: number): Refusal =>
  refuse(
    'rate_limit_exceeded',
    `There is no room for more files: the files of one key may have ${most} bytes together. Delete some, or wait until they expire.`,
  )
