/** From a source to stored bytes: identified, hashed and counted on the way, in constant memory. */
import { concat } from '../core/json-body.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { AssetBytes, AssetId } from '../store/calls/asset-port.ts'
import type { PublicParts } from '../transport/public-address.ts'
import { FetchFault, fetchPublic } from '../transport/public-fetch.ts'
import type { ByteStore, Pieces } from './byte-store.ts'
import { dispositionOf, type Family, HEAD_BYTES, type Kind, kindOf } from './kind.ts'

/** Where a result comes from. */
export type From =
  | {
      readonly bytes: Uint8Array
      /** What they are, if their beginning cannot tell: a download, whatever it is. */
      readonly kind?: Kind
    }
  | { readonly base64: string }
  | {
      /** As they arrive, from somebody who bounds them; their errors pass through. */
      readonly pieces: AsyncGenerator<Uint8Array>
    }
  | {
      readonly url: string
      /** Headers with the vendor's key, and the only hosts that get them, by exact name. */
      readonly credential?: {
        readonly headers: Readonly<Record<string, string>>
        readonly hosts: readonly string[]
      }
    }

/** Why a result was not stored, other than its size. Nobody may be charged for it. */
export class AssetFault extends Error {
  /**
   * `source`: the vendor's result is unavailable or not what it should be; `storage`: our storage is full or
   * unavailable.
   */
  readonly side: 'source' | 'storage'
  /** Whether a later try may succeed. */
  readonly again: boolean

  constructor(side: AssetFault['side'], message: string, extra: { again: boolean; cause?: unknown }) {
    super(message, { cause: extra.cause })
    this.side = side
    this.again = extra.again
  }
}

const IMAGE_BYTES_MAX = 64 * 1024 * 1024
const RESULT_BYTES_MAX = 512 * 1024 * 1024
/** A small file can claim any size, and whoever displays such an image unpacks all of it. */
const PIXELS_MAX = 200_000_000
const IDLE_MS = 60_000
const TOTAL_MS = 15 * 60_000

/** The longest that storing bytes may take; an older row that is not ready has lost its writer. */
export const WRITING_MS = 4 * TOTAL_MS

type StoreRequest = {
  readonly id: AssetId
  readonly type: Family
  readonly from: From
  /** Whether a result of this size is returned instead of written. */
  readonly inRow: (bytes: number) => boolean
  /** Called when bytes are about to be written. */
  readonly begin: () => Promise<void>
}

/** The kind of the bytes, and the bytes themselves if they were not written. */
type StoreResult = AssetBytes & { readonly body?: Uint8Array }

/**
 * Stores the bytes under the id and returns what they are. Throws the refusal `asset_too_large`, or AssetFault; then
 * only what `ByteStore.remove` takes away is left.
 */
export const takeBytes = async (
  { bytes, web }: { readonly bytes: ByteStore; readonly web: PublicParts },
  it: StoreRequest,
): Promise<StoreResult> => {
  const bytesMax = it.type === 'image' ? IMAGE_BYTES_MAX : RESULT_BYTES_MAX
  const source = piecesOf(it.from, bytesMax, web)
  try {
    const { head, more } = await headOf(source)
    const start = head.length === 1 && head[0] !== undefined ? head[0] : concat(head)
    const told = 'bytes' in it.from ? it.from.kind : undefined
    const kind = told ?? (await acceptedKind(start.subarray(0, HEAD_BYTES), it.type))
    const hasher = new Bun.CryptoHasher('sha256')
    if (!more && it.inRow(start.length))
      return { ...kind, sha256: hasher.update(start).digest('hex'), bytes: start.length, body: start }
    await it.begin()
    let count = 0
    const counted = async function* (): Pieces {
      yield note(start)
      if (more) for await (const piece of rest(source)) yield note(piece)
    }
    const note = (piece: Uint8Array): Uint8Array => {
      hasher.update(piece)
      count += piece.length
      return piece
    }
    const disposition = dispositionOf(kind.mediaType, `${it.id}.${kind.extension}`)
    await bytes.write(it.id, counted(), { mediaType: kind.mediaType, disposition })
    return { ...kind, sha256: hasher.digest('hex'), bytes: count }
  } catch (error) {
    throw faultOf(error, bytesMax)
  } finally {
    await source.return(undefined)
  }
}

const piecesOf = (from: From, bytesMax: number, web: PublicParts): AsyncGenerator<Uint8Array> => {
  if ('url' in from) {
    const { url, credential } = from
    const known = credential === undefined ? {} : { credential }
    return fetchPublic(web, { url, ...known, bytesMax, idleMs: IDLE_MS, totalMs: TOTAL_MS })
  }
  if ('pieces' in from) return from.pieces
  return piecesInHand('bytes' in from ? () => from.bytes : () => decoded(from.base64, bytesMax), bytesMax)
}

const DATA_URL = /^data:[^,]{0,200};base64,/
const PIECE_BYTES = 1024 * 1024

async function* piecesInHand(take: () => Uint8Array, bytesMax: number): AsyncGenerator<Uint8Array> {
  const bytes = take()
  if (bytes.length > bytesMax) throw tooLarge(bytesMax)
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

/** Not decoded when it is too long. */
const decoded = (base64: string, bytesMax: number): Uint8Array => {
  const start = DATA_URL.exec(base64.slice(0, 300))?.[0].length ?? 0
  if ((base64.length - start) * 0.75 > bytesMax + 2) throw tooLarge(bytesMax)
  return Buffer.from(start === 0 ? base64 : base64.slice(start), 'base64')
}

/** The pieces that contain the beginning, and whether there may be more. */
const headOf = async (source: AsyncGenerator<Uint8Array>) => {
  const head: Uint8Array[] = []
  for (let length = 0; length < HEAD_BYTES; ) {
    const { done, value } = await source.next()
    if (done === true) return { head, more: false }
    head.push(value)
    length += value.length
  }
  return { head, more: true }
}

/**
 * The remaining pieces. Unlike `for await` over the source itself, stopping early leaves the source open for its owner.
 */
async function* rest(source: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value
}

const acceptedKind = async (head: Uint8Array, family: Family): Promise<Kind> => {
  if (head.length === 0) throw notWhatItShould('the result is empty')
  const kind = await kindOf(head, family)
  if (kind === undefined) throw notWhatItShould(`the result is of no type of the family '${family}'`)
  if ((kind.width ?? 0) * (kind.height ?? 0) > PIXELS_MAX)
    throw notWhatItShould(`the picture is of more than ${PIXELS_MAX} pixels`)
  return kind
}

const notWhatItShould = (message: string) => new AssetFault('source', message, { again: false })

const tooLarge = (bytesMax: number): Refusal =>
  refuse('asset_too_large', `The result is larger than ${bytesMax} bytes, so it was not stored or charged.`)

const faultOf = (error: unknown, bytesMax: number): unknown => {
  if (error instanceof AssetFault || error instanceof Error === false) return error
  if (!(error instanceof FetchFault))
    return new AssetFault('storage', 'the bytes of a result could not be stored', {
      again: true,
      cause: error,
    })
  if (error.kind === 'too large') return tooLarge(bytesMax)
  return new AssetFault('source', error.message, { again: error.kind === 'failed', cause: error })
}
