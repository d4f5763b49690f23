/** Where the bytes of results are stored: what a folder and a bucket have in common. */
import type { AssetId } from '../store/calls/asset-port.ts'

export type Pieces = AsyncIterable<Uint8Array>

/** How readers should treat an asset; a bucket stores it beside the bytes. */
export type Served = { readonly mediaType: string; readonly disposition: string }

/** The first and the last byte of a part, both included. */
export type Span = { readonly first: number; readonly last: number }

/** What readers get: the bytes, or an address where they get them for five minutes. */
export type Opened = { readonly pieces: AsyncIterableIterator<Uint8Array> } | { readonly redirect: string }

/** Names are only ids of our own. All methods reject when the medium fails. */
export type ByteStore = {
  /**
   * Resolves when all bytes are durable under the name; until then nobody reads it. Errors of the pieces pass through.
   */
  write(id: AssetId, pieces: Pieces, served: Served): Promise<void>
  /** Undefined when there is nothing of this name. */
  open(id: AssetId, span: Span): Promise<Opened | undefined>
  /** A part of it, in memory. */
  part(id: AssetId, span: Span): Promise<Uint8Array | undefined>
  /** All bytes at once. */
  whole(id: AssetId): Promise<Uint8Array | undefined>
  /** Removes bytes, including half-written ones; it is no error if there are none. */
  remove(id: AssetId): Promise<void>
  /** How much room the medium has; undefined if it does not say. */
  freeBytes(): Promise<number | undefined>
}
