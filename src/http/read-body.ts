/** Request bodies: bounded, uncompressed JSON, read only once the caller is known. */
import { type JsonObject, readJsonBody } from '../core/json-body.ts'
import { invalid, must, refuse } from '../core/refusal.ts'

const SMALL_BYTES_MAX = 64 * 1024

/** Reads the small JSON object that endpoints take which call no model. */
export const readSmallBody = async (request: Request): Promise<JsonObject> =>
  must(readJsonBody(await readBody(request, SMALL_BYTES_MAX))).value

/** Reads the body's bytes. Throws the Refusal that names what is wrong with it. */
export const readBody = async (request: Request, bytesMax: number): Promise<Uint8Array> => {
  const { headers } = request
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity')
    throw refuse('unsupported_media_type', "Send the body uncompressed, without 'Content-Encoding'.")
  const type = headers.get('content-type')
  if (type === null || !JSON_TYPE.test(type))
    throw refuse('unsupported_media_type', "Send the body as JSON with 'Content-Type: application/json'.")
  const declared = headers.get('content-length')
  if (declared !== null && Number.parseInt(declared, 10) > bytesMax) throw tooLarge(bytesMax)
  // What is past the limit is not read: the runtime takes it from the wire and drops it.
  const bytes = declared === null ? await readUpTo(request, bytesMax) : await request.bytes().catch(brokeOff)
  if (bytes === undefined || bytes.length > bytesMax) throw tooLarge(bytesMax)
  return bytes
}

/** A body of unknown length, or undefined as soon as it is too long. */
const readUpTo = async ({ body }: Request, bytesMax: number): Promise<Uint8Array | undefined> => {
  const pieces: Uint8Array[] = []
  let length = 0
  if (body === null) return new Uint8Array()
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read().catch(brokeOff)
    if (done) return Buffer.concat(pieces)
    length += value.length
    if (length > bytesMax) {
      void reader.cancel().catch(() => undefined)
      return undefined
    }
    pieces.push(value)
  }
}

const brokeOff = (): never => {
  throw invalid('body', 'The body broke off before its end.')
}

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i

const tooLarge = (bytesMax: number) =>
  refuse('request_too_large', `The body may be at most ${bytesMax} bytes.`)
