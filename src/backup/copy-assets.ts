/** Stored results, copied from one place of bytes to another and held against what their rows say. */
import type { ByteStore, Pieces } from '../assets/byte-store.ts'
import type { FiledAsset } from '../store/ledger-file.ts'
import { isMissing, newSum } from './durable.ts'

const PIECE_BYTES = 8 * 1024 * 1024
const SERVED = { mediaType: 'application/octet-stream', disposition: 'attachment' }

/** It is not there, or not what its row says. */
class Unlike extends Error {}

/** The bytes of a name, a part after the other, so that none is ever in memory whole. */
export async function* piecesIn(from: ByteStore, name: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let first = 0; first < bytes; first += PIECE_BYTES) {
    const piece = await from.part(name, { first, last: Math.min(first + PIECE_BYTES, bytes) - 1 })
    if (piece === undefined) throw new Unlike()
    yield piece
  }
}

/** The same, and throws at the end where they are not what the row says: so they are never kept. */
async function* checked(pieces: Pieces, { bytes, sha256 }: FiledAsset): AsyncGenerator<Uint8Array> {
  const sum = newSum()
  for await (const piece of pieces) {
    sum.add(piece)
    yield piece
  }
  const found = sum.end()
  if (found.bytes !== bytes || found.sha256 !== sha256) throw new Unlike()
}

export type Copied = { readonly files: number; readonly bytes: number; readonly gone: number }

/** Copies all of them; `gone` are those that are not there, or not as their rows say. */
export const copyAssets = async (
  assets: AsyncIterable<FiledAsset>,
  from: ByteStore,
  to: ByteStore,
): Promise<Copied> => {
  const copied = { files: 0, bytes: 0, gone: 0 }
  for await (const asset of assets) {
    try {
      await to.write(asset.id, checked(piecesIn(from, asset.id, asset.bytes), asset), SERVED)
      copied.files++
      copied.bytes += asset.bytes
    } catch (error) {
      if (!(error instanceof Unlike) && !isMissing(error)) throw error
      copied.gone++
    }
  }
  return copied
}
