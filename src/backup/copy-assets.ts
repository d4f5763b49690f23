/** Copies stored results from one place of bytes to another and checks them against their rows. */
import type { ByteStore, Pieces } from '../assets/byte-store.ts'
import type { FiledAsset } from '../store/ledger-file.ts'
import { isMissing, newSum } from './durable.ts'

const PIECE_BYTES = 8 * 1024 * 1024
const SERVED = { mediaType: 'application/octet-stream', disposition: 'attachment' }

/** It is missing, or does not match its row. */
class Unlike extends Error {}

/** The bytes of a name, part by part, so that a whole one is never in memory. */
export async function* piecesIn(from: ByteStore, name: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let first = 0; first < bytes; first += PIECE_BYTES) {
    const piece = await from.part(name, { first, last: Math.min(first + PIECE_BYTES, bytes) - 1 })
    if (piece === undefined) throw new Unlike()
    yield piece
  }
}

/** The same; throws at the end if they do not match the row, so that wrong bytes are never kept. */
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

/** Copies all of them; `gone` counts those that are missing or do not match their rows. */
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
