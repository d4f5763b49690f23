/** Rows of stored results, beside the ledger; their bytes are in a folder or a bucket. */
import type { Instant } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'

/** 128 random bits, in hex. */
export type AssetId = string

/** One result before its bytes exist. */
export type NewAsset = {
  readonly id: AssetId
  readonly keyId: KeyId
  readonly runId: CallId
  /** The index among the run's results. */
  readonly place: number
  /** Who made it, such as a vendor's name; never an address. */
  readonly source: string
}

/** Facts about its bytes, measured while they were written. */
export type AssetBytes = {
  /** In hex. */
  readonly sha256: string
  readonly bytes: number
  readonly mediaType: string
  readonly extension: string
  /** In pixels, if they could be read. */
  readonly width?: number | undefined
  readonly height?: number | undefined
}

/** A result that is stored in its row. */
export type WholeAsset = NewAsset & AssetBytes & { readonly body: Uint8Array }

/** What callers say about their own file. */
export type UploadNote = { readonly purpose: string; readonly name: string }

/** How the purpose of a part of a file begins: until the parts are joined, none of them is a file that is listed. */
export const PART_PURPOSE = 'part_'

/** A file that a caller uploaded, to be named as an input. */
export type Upload = Asset & UploadNote

/** Which uploads to list: those of a key and of keys below it. */
export type UploadQuery = {
  readonly keyId: KeyId
  /** Undefined: files of all purposes, and no parts of files. */
  readonly purpose: string | undefined
  /** The last one of the previous page. */
  readonly after: AssetId | undefined
  readonly newestFirst: boolean
  readonly limit: number
}

export type Asset = NewAsset & AssetBytes & { readonly createdAt: Instant; readonly expiresAt: Instant }

export type AssetStore = {
  /**
   * Records that bytes are about to be written, so that they are found if the writer dies; after `lifeMs` they are
   * swept.
   */
  beginAsset(asset: NewAsset, lifeMs: number): Promise<void>
  /**
   * The bytes exist: it lives for `lifeMs`. Undefined when the place in its run is taken, or it was swept meanwhile.
   */
  finishAsset(id: AssetId, bytes: AssetBytes, lifeMs: number, note?: UploadNote): Promise<Asset | undefined>
  /**
   * Stores small results with their bytes, in one step. They are durable once any later charge is. Undefined for a
   * result whose place in its run is taken.
   */
  addWhole(assets: readonly WholeAsset[], lifeMs: number): Promise<readonly (Asset | undefined)[]>
  /** The bytes of a result that was stored in its row. */
  bodyOf(id: AssetId): Promise<Uint8Array | undefined>
  /** The stored result at a place of a run. */
  assetOfRun(runId: CallId, place: number): Promise<Asset | undefined>
  /** An asset that still exists. */
  asset(id: AssetId): Promise<Asset | undefined>
  /** The same, if it belongs to the key or a key below it; a single statement, whether it exists or not. */
  assetFor(id: AssetId, keyId: KeyId): Promise<Asset | undefined>
  /**
   * Ends its life now, if it belongs to the key or a key below it; the sweep removes its bytes. False if there is none.
   */
  endAsset(id: AssetId, keyId: KeyId): Promise<boolean>
  /** Assets whose time is over, at most `most`, the oldest first, without the first `skip`. */
  endedAssets(most: number, skip?: number): Promise<readonly AssetId[]>
  /** Deletes rows whose bytes are gone. */
  forgetAssets(ids: readonly AssetId[]): Promise<void>
  /** The total of all stored bytes, and of those in results up to a given size. */
  assetBytes(small: number): Promise<{ readonly all: number; readonly small: number }>
  /** An upload that still exists, if it belongs to the key or a key below it. */
  uploadFor(id: AssetId, keyId: KeyId): Promise<Upload | undefined>
  uploads(query: UploadQuery): Promise<readonly Upload[]>
  /** Whether it has a row, by which it has a place in lists: one whose time is over has one until it is swept. */
  hasAsset(id: AssetId): Promise<boolean>
  /** The total of a key's existing uploads, and of those of all keys. */
  uploadBytes(keyId: KeyId): Promise<{ readonly own: number; readonly all: number }>
}
