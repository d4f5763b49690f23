/**
 * Forms with files, read as the JSON object of the same call: its fields, and each file as a data: address. Source: RFC
 * 7578.
 */
import type { Json } from '../core/json-body.ts'
import { invalid, refuse } from '../core/refusal.ts'
import { takeBytes } from '../gateway/capacity.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { pictureTypeOf } from '../media/inline-picture.ts'
import { typeOfBytes, typeOfName } from '../media/sound-input.ts'
import { readBody } from './read-body.ts'
import type { HttpCall } from './route.ts'

/** More parts than any client sends. */
const PARTS_MAX = 32
const FORM_TYPE = /^multipart\/form-data\s*;.*\bboundary="?([^";,]{1,70})"?/i

/**
 * The body as JSON with its members sorted by name: a retry of the same form gives the same bytes, though its boundary
 * differs. A JSON body is taken as it is. Throws the Refusal that names what is wrong.
 */
export const readFormOrJson = async (
  gateway: Gateway,
  call: HttpCall,
  bytesMax: number,
): Promise<Uint8Array> => {
  const type = call.request.headers.get('content-type') ?? ''
  const boundary = FORM_TYPE.exec(type)?.[1]
  if (boundary === undefined) return readBody(gateway, call, bytesMax)
  const bytes = await readBody(gateway, call, bytesMax, FORM_TYPE)
  if (partsOf(bytes, boundary) > PARTS_MAX)
    throw invalid('body', `A form may have at most ${PARTS_MAX} parts.`)
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData().catch(() => {
    throw invalid('body', 'The body is not the form that its Content-Type announces.')
  })
  const members = new Map<string, Json>()
  for (const [name, value] of form.entries()) {
    const read = typeof value === 'string' ? value : await fileOf(gateway, call, name, value)
    // `name[]` may be repeated.
    if (name.endsWith('[]')) members.set(name, [...listOf(members.get(name)), read])
    else if (members.has(name)) throw invalid(name, `'${name}' came twice.`)
    else members.set(name, read)
  }
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(sorted)))
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

const partsOf = (bytes: Uint8Array, boundary: string): number => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = 0
  for (let at = buffer.indexOf(`--${boundary}`); at >= 0 && count <= PARTS_MAX + 1; count++)
    at = buffer.indexOf(`--${boundary}`, at + boundary.length)
  return count - 1
}

/** Parts that are images; sounds are in `file`. */
const PICTURES: readonly string[] = ['image', 'image[]', 'mask']

const UNKNOWN = {
  picture: 'An image must be a PNG, JPEG or WebP.',
  sound:
    'The file must be a sound or film, whose name ends as such: talk.mp3, talk.wav, talk.m4a, talk.webm.',
}

const fileOf = async (gateway: Gateway, call: HttpCall, name: string, file: File): Promise<string> => {
  const kind = PICTURES.includes(name) ? 'picture' : name === 'file' ? 'sound' : undefined
  if (kind === undefined) throw invalid(name, `'${name}' must be a text, and not a file.`)
  // The runtime does not report the type that the part was sent with.
  const bytes = new Uint8Array(await file.arrayBuffer())
  const type = kind === 'picture' ? pictureTypeOf(bytes) : (typeOfName(file.name) ?? typeOfBytes(bytes))
  if (type === undefined) throw refuse('unsupported_media_type', UNKNOWN[kind])
  takeBytes(gateway.capacity, call.trace, Math.ceil((file.size * 4) / 3))
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}
