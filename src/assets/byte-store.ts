/** Where the bytes of results lie: what a folder and a bucket have in common. */
import type { AssetId } from '../store/calls/asset-port.ts'

export type Pieces = AsyncIterable<Uint8Array>

/** How readers are to take an asset; a bucket keeps it beside the bytes. */
export type Served = { readonly mediaType: string; readonly disposition: string }

/** The first and the last byte of a part, both included. */
export type Span = { readonly first: number; readonly last: number }

/** What readers get: the bytes, or an address where they get them for five minutes. */
export type Opened = { readonly pieces: AsyncIterableIterator<Uint8Array> } | { readonly redirect: string }

/** Names are ids of our own and nothing else. All methods reject when the medium fails. */
export type ByteStore = {
  /** Resolves when all bytes are durable under the name; until then nobody reads it. What the pieces throw comes through. */
  write(id: AssetId, pieces: Pieces, served: Served): Promise<void>
  /** Undefined when there is nothing of this name. */
  open(id: AssetId, span: Span): Promise<Opened | undefined>
  /** A part of it, in memory. */
  part(id: AssetId, span: Span): Promise<Uint8Array | undefined>
  /** All bytes at once. */
  whole(id: AssetId): Promise<Uint8Array | undefined>
  /** Removes bytes, also half-written ones; what is not there is removed already. */
  remove(id: AssetId): Promise<void>
  /** What the medium has room for; undefined where it does not tell. */
  freeBytes(): Promise<number | undefined>
}
