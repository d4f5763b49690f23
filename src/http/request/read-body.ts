/** Request bodies: uncompressed JSON, bounded in bytes and time, read only once the caller is known. */
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import { readWeighed, takeBytes } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { withinTime } from '../../transport/watch.ts'
import type { HttpCall } from '../route/route.ts'

const SMALL_BYTES_MAX = 64 * 1024
const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i

/** Reads the JSON object of an endpoint that does not call a model. A key takes a turn for it before. */
export const readSmallBody = async (
  gateway: Gateway,
  call: HttpCall,
  bytesMax = SMALL_BYTES_MAX,
): Promise<JsonObject> => {
  const { trace } = call
  if (trace.key !== undefined) await takeSmallTurn(gateway, trace.key, trace)
  return readWeighed(gateway.capacity, trace.taken, await readBody(gateway, call, bytesMax)).value
}

/**
 * Reads the body's bytes; they are counted until the request is answered. Throws the Refusal that names what is wrong.
 */
export const readBody = (
  gateway: Gateway,
  call: HttpCall,
  bytesMax: number,
  wanted: RegExp = JSON_TYPE,
): Promise<Uint8Array> => {
  try {
    const { bodyMs } = gateway.options
    return withinTime(readDeclared(gateway, call, bytesMax, wanted), bodyMs, () => tooSlow(bodyMs))
  } catch (refusal) {
    return Promise.reject(refusal)
  }
}

/** Reads a body according to its headers. Throws the Refusal if these are wrong. */
const readDeclared = (
  gateway: Gateway,
  { request, trace }: HttpCall,
  bytesMax: number,
  wanted: RegExp,
): Promise<Uint8Array> => {
  const { headers } = request
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity')
    throw refuse('unsupported_media_type', "Send the body uncompressed, without 'Content-Encoding'.")
  const type = headers.get('content-type')
  // Who asks what an address takes is told more by this than by a type.
  if (type === null && request.body === null) throw invalid('body', 'The request has no body.')
  if (type === null || !wanted.test(type))
    throw refuse('unsupported_media_type', "Send the body as JSON with 'Content-Type: application/json'.")
  const declared = headers.get('content-length')
  const length = declared === null ? undefined : Number.parseInt(declared, 10)
  if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax)
  // The bytes are counted before the body is read; until then the runtime makes the sender wait.
  if (length === undefined)
    return readUpTo(request, bytesMax, (bytes) => takeBytes(gateway.capacity, trace.taken, bytes))
  takeBytes(gateway.capacity, trace.taken, length)
  // Bytes past the limit are not read: the runtime takes them from the wire and drops them.
  return request.bytes().catch(brokeOff)
}

/** A body of unknown length, read piece by piece. */
const readUpTo = async (
  { body }: Request,
  bytesMax: number,
  take: (bytes: number) => void,
): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = []
  let length = 0
  if (body === null) return new Uint8Array()
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read().catch(brokeOff)
    if (done) return Buffer.concat(pieces)
    length += value.length
    try {
      if (length > bytesMax) throw tooLarge(bytesMax)
      take(value.length)
    } catch (refusal) {
      void reader.cancel().catch(() => undefined)
      throw refusal
    }
    pieces.push(value)
  }
}

export const brokeOff = (): never => {
  throw invalid('body', 'The body broke off before its end.')
}

export const tooLarge = (bytesMax: number) =>
  refuse('request_too_large', `The body may be at most ${bytesMax} bytes.`)

/** The rest of the body would be read as the next request, so the connection ends. */
export const tooSlow = (ms: number) =>
  refuse('request_timeout', `The body did not arrive within ${ms / 1000} s.`, {
    headers: { connection: 'close' },
  })
