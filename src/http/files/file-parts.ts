/** Files that come in parts: each part is a file of its own for an hour, and the last request joins them. */

import { AssetFault } from '../../assets/take.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { PART_PURPOSE, type Upload } from '../../store/calls/asset-port.ts'
import type { Key } from '../../tenancy/key.ts'
import type { HttpCall } from '../route/route.ts'
import { uploadsOf } from './files.ts'

/** How long a part waits for the others. */
export const PART_LIFE_MS = 3_600_000
/** More than any client sends of a file that may be kept here. */
const PARTS_MAX = 10_000
/** So much of a part is in memory at once. */
const PIECE_BYTES = 1024 ** 2

/** The name of a new upload, as versions before read it too: 32 hexadecimal digits. */
export const newSession = ({ hash }: Gateway, { trace }: HttpCall): string =>
  hash(`upload ${trace.callId}`).slice(0, 32)

/** The purpose under which the parts of one upload are kept, and listed. */
const purposeOf = (session: string): string => `${PART_PURPOSE}${session}`

type Part = { readonly session: string; readonly offset: number; readonly pieces: AsyncGenerator<Uint8Array> }

/** Keeps a part. Throws the Refusal while there is no room for more files of the key: parts have bytes as files have. */
export const keepPart = async (
  gateway: Gateway,
  { id: keyId }: Key,
  requestId: string,
  it: Part,
): Promise<Upload> => {
  const uploads = uploadsOf(gateway)
  const full = await uploads.full(keyId)
  if (full !== undefined) throw full
  const [purpose, name] = [purposeOf(it.session), String(it.offset).padStart(16, '0')]
  const note = async () => ({ purpose, name, lifeMs: PART_LIFE_MS })
  return uploads.take({ keyId, requestId, pieces: it.pieces, note })
}

/** The parts of an upload that the key has sent, in their order. */
export const partsOf = async (
  gateway: Gateway,
  { id: keyId }: Key,
  session: string,
): Promise<readonly Upload[]> => {
  const found = await uploadsOf(gateway).list({
    keyId,
    purpose: purposeOf(session),
    after: undefined,
    newestFirst: false,
    limit: PARTS_MAX,
  })
  const own = (found ?? []).filter((one) => one.keyId === keyId)
  return own.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Their bytes, one after the other. */
export async function* bytesOfParts(gateway: Gateway, parts: readonly Upload[]): AsyncGenerator<Uint8Array> {
  for (const { id, bytes } of parts)
    for (let first = 0; first < bytes; first += PIECE_BYTES) {
      const piece = await uploadsOf(gateway).part(id, {
        first,
        last: Math.min(first + PIECE_BYTES, bytes) - 1,
      })
      // They have ended meanwhile: by another request, or by their time.
      if (piece === undefined) throw new AssetFault('storage', 'a part of the file is gone', { again: false })
      yield piece
    }
}

/** Ends the parts, once they are joined or not wanted. */
export const endParts = async (gateway: Gateway, parts: readonly Upload[]): Promise<void> => {
  for (const { id, keyId } of parts) await gateway.assets?.end(id, keyId)
}
