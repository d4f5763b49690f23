/** The bytes that a product works on: inline in a `data:` address, or fetched from an https one. */
import { concat, type JsonObject } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import type { LocalProduct } from '../../vendors/local/product.ts'
import { NotPublic, type PublicParts } from '../public-address.ts'
import { FetchFault, fetchPublic } from '../public-fetch.ts'
import { WrongInput } from './work.ts'

const tooLarge = (field: string, most: number) =>
  new WrongInput(field, `'${field}' is larger than ${most} bytes`)

const inline = (text: string, field: string, most: number): Uint8Array<ArrayBuffer> => {
  const start = text.indexOf(',') + 1
  if (((text.length - start) * 3) / 4 > most + 2) throw tooLarge(field, most)
  return new Uint8Array(Buffer.from(text.slice(start), 'base64'))
}

/** Undefined if the inputs name none. Rejects with WrongInput. */
export const bytesFor = async (
  parts: PublicParts,
  source: LocalProduct['bytesFrom'],
  inputs: JsonObject,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  const from = source === undefined ? undefined : inputs[source.field]
  if (source === undefined || typeof from !== 'string') return undefined
  const { field, bytesMax } = source
  if (from.startsWith('data:')) return inline(from, field, bytesMax)
  try {
    return await getPublic(parts, from, bytesMax, signal)
  } catch (thrown) {
    throw new WrongInput(field, `'${field}' ${messageOf(thrown)}`)
  }
}

const TIMEOUT_MS = 30_000

/** The bytes at the address, at most `bytesMax`. Rejects, also on the signal, with an Error whose text may be shown. */
const getPublic = async (
  parts: PublicParts,
  url: string,
  bytesMax: number,
  leaving?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> => {
  const pieces: Uint8Array[] = []
  const times = { idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS }
  try {
    for await (const piece of fetchPublic(parts, { url, bytesMax, ...times, leaving })) pieces.push(piece)
  } catch (fault) {
    throw new Error(whyNot(fault, bytesMax), { cause: fault })
  }
  return new Uint8Array(concat(pieces))
}

/** Follows the name of the input in the message. */
const whyNot = (fault: unknown, bytesMax: number): string => {
  if (!(fault instanceof FetchFault)) return 'could not be fetched'
  if (fault.kind === 'too large') return `is larger than ${bytesMax} bytes`
  if (fault.status !== undefined) return `could not be fetched: its server answers ${fault.status}`
  if (fault.cause instanceof NotPublic) return 'leads to an address that is not public https'
  return fault.kind === 'refused' ? `may not be fetched: ${fault.why}` : 'could not be fetched'
}
