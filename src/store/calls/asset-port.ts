/** Rows of stored results, beside the ledger; their bytes live in a folder or a bucket. */
import type { Instant } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'

/** 128 random bits, in hex. */
export type AssetId = string

/** One result before its bytes are there. */
export type NewAsset = {
  readonly id: AssetId
  readonly keyId: KeyId
  readonly runId: CallId
  /** Which result of the run, from 0. */
  readonly place: number
  /** Who made it, such as a vendor's name; never an address. */
  readonly source: string
}

/** What its bytes are, as they were measured while they were written. */
export type AssetBytes = {
  /** In hex. */
  readonly sha256: string
  readonly bytes: number
  readonly mediaType: string
  readonly extension: string
  /** In pixels, where they could be read. */
  readonly width?: number | undefined
  readonly height?: number | undefined
}

/** A result that lies in its row. */
export type WholeAsset = NewAsset & AssetBytes & { readonly body: Uint8Array }

/** What a caller says of a file of his. */
export type UploadNote = { readonly purpose: string; readonly name: string }

/** A file that a caller brought, to be named as an input. */
export type Upload = Asset & UploadNote

/** Which uploads are listed: those of a key and of keys below it. */
export type UploadQuery = {
  readonly keyId: KeyId
  readonly purpose: string | undefined
  /** The last one of the page before. */
  readonly after: AssetId | undefined
  readonly newestFirst: boolean
  readonly limit: number
}

export type Asset = NewAsset & AssetBytes & { readonly createdAt: Instant; readonly expiresAt: Instant }

export type AssetStore = {
  /** Notes that bytes are about to be written, so that they are found should the writer die; after `lifeMs` they are swept. */
  beginAsset(asset: NewAsset, lifeMs: number): Promise<void>
  /** The bytes are there: it lives for `lifeMs`. Undefined when the place of its run is taken, or it was swept meanwhile. */
  finishAsset(id: AssetId, bytes: AssetBytes, lifeMs: number, note?: UploadNote): Promise<Asset | undefined>
  /**
   * Stores small results with their bytes, in one step. They are durable when whatever charge is committed after them is.
   * Undefined for one whose place of its run is taken.
   */
  addWhole(assets: readonly WholeAsset[], lifeMs: number): Promise<readonly (Asset | undefined)[]>
  /** The bytes of one that was stored whole. */
  bodyOf(id: AssetId): Promise<Uint8Array | undefined>
  /** The stored result at a place of a run. */
  assetOfRun(runId: CallId, place: number): Promise<Asset | undefined>
  /** One that lives. */
  asset(id: AssetId): Promise<Asset | undefined>
  /** The same, if it is the key's own or that of a key below it; one statement whether it is there or not. */
  assetFor(id: AssetId, keyId: KeyId): Promise<Asset | undefined>
  /** Ends its life now, if it is the key's own or that of a key below it; the sweep takes its bytes. False when there is none. */
  endAsset(id: AssetId, keyId: KeyId): Promise<boolean>
  /** Those whose time is over, at most `most`, the oldest first. */
  endedAssets(most: number): Promise<readonly AssetId[]>
  /** Deletes rows whose bytes are gone. */
  forgetAssets(ids: readonly AssetId[]): Promise<void>
  /** What all stored bytes are together, and those of results of at most so many bytes. */
  assetBytes(small: number): Promise<{ readonly all: number; readonly small: number }>
  /** An upload that lives, if it is the key's own or that of a key below it. */
  uploadFor(id: AssetId, keyId: KeyId): Promise<Upload | undefined>
  uploads(query: UploadQuery): Promise<readonly Upload[]>
  /** What the uploads of a key that live are together, and those of all keys. */
  uploadBytes(keyId: KeyId): Promise<{ readonly own: number; readonly all: number }>
}
