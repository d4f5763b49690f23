/**
 * Media that inputs name and whose bytes are needed: the caller's files, and addresses that a product does not take as
 * they are. They are read once the caller's rate has let the call through, and not again for a repeat.
 */
import type { Assets } from '../../assets/assets.ts'
import { HEAD_BYTES, kindOf } from '../../assets/kind.ts'
import type { Call, UnreadMedia } from '../../core/call.ts'
import { readFileId } from '../../core/file-id.ts'
import { concat } from '../../core/json-body.ts'
import { invalid, must, unavailable } from '../../core/refusal.ts'
import { checkReach } from '../../dialects/request/media-reach.ts'
import type { Key } from '../../tenancy/key.ts'
import { FetchFault } from '../../transport/public-fetch.ts'
import { takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'

/** The most bytes that are passed to a product inline; larger files are passed by address, if it takes one. */
const INLINE_MAX = 32 * 1024 * 1024

type Reader = {
  readonly key: Key
  readonly trace: Trace
  readonly signal: AbortSignal
}

/** The call with its media read, and therefore priced. Throws the Refusal that names the input. */
export const withMediaRead = async (gateway: Gateway, call: Call, by: Reader): Promise<Call> => {
  const unread = call.media?.unread
  if (unread === undefined) return call
  const { assets } = gateway
  if (assets === undefined) throw unavailable('Files cannot be read here.')
  const read = new Map<string, string>()
  for (const one of unread.media)
    if (!read.has(one.address)) read.set(one.address, await addressFor(gateway, assets, one, by))
  const done = must(unread.decode(read))
  const refusal = checkReach(done)
  if (refusal) throw refusal
  return done
}

const addressFor = (gateway: Gateway, assets: Assets, one: UnreadMedia, by: Reader): Promise<string> => {
  const id = readFileId(one.address)
  return id === undefined ? fetched(gateway, assets, one, by) : ofFile(gateway, assets, { ...one, id }, by)
}

const ofFile = async (
  gateway: Gateway,
  { uploads }: Assets,
  { param, takes, id }: UnreadMedia & { readonly id: string },
  { key, trace }: Reader,
): Promise<string> => {
  const upload = await uploads.findFor(id, key.id)
  if (upload === undefined) throw invalid(param, `'${param}' names no file of yours; it may have expired.`)
  if (upload.bytes <= INLINE_MAX) {
    weigh(gateway, trace, upload.bytes)
    const bytes = await uploads.bytes(upload)
    if (bytes === undefined) throw invalid(param, `'${param}' names a file that has expired.`)
    return inline(upload.mediaType, bytes)
  }
  const address = uploads.address(upload)
  if (address !== undefined && takes(address)) return address
  throw invalid(
    param,
    `'${param}' names a file of more than ${INLINE_MAX} bytes, which this model does not take.`,
  )
}

const fetched = async (
  gateway: Gateway,
  { fetchInput }: Assets,
  { param, address }: UnreadMedia,
  { trace, signal }: Reader,
): Promise<string> => {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of fetchInput(address, INLINE_MAX, signal)) {
      weigh(gateway, trace, piece.length)
      pieces.push(piece)
    }
  } catch (fault) {
    if (!(fault instanceof FetchFault)) throw fault
    throw invalid(param, `'${param}' could not be fetched: ${whyNot(fault)}.`)
  }
  const bytes = concat(pieces)
  const { mediaType } = (await kindOf(bytes.subarray(0, HEAD_BYTES), 'file')) ?? { mediaType: '' }
  return inline(mediaType, bytes)
}

/** The message repeats nothing that an address inside a network says. */
const whyNot = ({ kind, status }: FetchFault): string => {
  if (kind === 'too large') return `it is larger than ${INLINE_MAX} bytes`
  if (kind === 'refused') return 'it must be a public https address, whose bytes are not compressed'
  return status === undefined ? 'its server does not answer' : `its server answers ${status}`
}

const LETTERS_A_BYTE = 4 / 3

/** The bytes and their text are counted like a body that contains them. */
const weigh = (gateway: Gateway, trace: Trace, bytes: number): void =>
  takeBytes(gateway.capacity, trace.taken, Math.ceil(bytes * (1 + LETTERS_A_BYTE)))

const inline = (mediaType: string, bytes: Uint8Array): string =>
  `data:${mediaType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}`
