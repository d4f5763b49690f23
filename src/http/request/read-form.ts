/**
 * Forms with files, read as the JSON object of the same call: its fields, and each file as a data: address. Source: RFC
 * 7578.
 */
import { concat, type Json } from '../../core/json-body.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { takeBytes } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { pictureTypeOf } from '../../media/inline-picture.ts'
import { typeOfBytes, typeOfName } from '../../media/sound-input.ts'
import type { HttpCall } from '../route/route.ts'
import { boundaryOf, formParts, textOf } from './form-parts.ts'
import { readBody } from './read-body.ts'

const FORM_TYPE = /^multipart\/form-data\b/i

const NO_FORM = "Send a form (multipart/form-data), or JSON with 'Content-Type: application/json'."
/** Said of a form whose Content-Type was written by hand. */
export const NO_BOUNDARY =
  "'Content-Type' names no boundary of the form; leave it to your client, which knows the boundary."

/** Files that are uploaded by themselves may be larger. */
const orUpload = (fault: unknown): never => {
  if (!(fault instanceof Refusal) || fault.code !== 'request_too_large') throw fault
  throw refuse(
    fault.code,
    `${fault.message} POST /v1/files takes larger files; name the id in place of the file.`,
  )
}

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
  const boundary = boundaryOf(type)
  if (boundary === undefined && !/^application\/json\b/i.test(type))
    throw refuse('unsupported_media_type', /^multipart\//i.test(type) ? NO_BOUNDARY : NO_FORM)
  const wanted = boundary === undefined ? undefined : FORM_TYPE
  const bytes = await readBody(gateway, call, bytesMax, wanted).catch(orUpload)
  if (boundary === undefined) return bytes
  const members = new Map<string, Json>()
  const all = (async function* () {
    yield bytes
  })()
  // The runtime's own reader takes no names without quotes, which .NET writes.
  for await (const { name, filename, pieces } of formParts(all, boundary)) {
    const read =
      filename === undefined
        ? await textOf(pieces, bytesMax)
        : fileOf(gateway, call, { name, filename, bytes: concat(await Array.fromAsync(pieces)) })
    // `name[]` may be repeated.
    if (name.endsWith('[]')) members.set(name, [...listOf(members.get(name)), read])
    else if (members.has(name)) throw invalid(name, `'${name}' came twice.`)
    else members.set(name, read)
  }
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(sorted)))
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** Parts that are images; sounds are in `file`. */
const PICTURES: readonly string[] = ['image', 'image[]', 'mask', 'input_reference']

const TAKEN = {
  picture: 'a PNG, JPEG or WebP',
  sound: 'a sound or film, whose name ends as such: talk.mp3, talk.wav, talk.m4a, talk.webm',
}

type SentFile = { readonly name: string; readonly filename: string; readonly bytes: Uint8Array }

const fileOf = (gateway: Gateway, call: HttpCall, { name, filename, bytes }: SentFile): string => {
  const kind = PICTURES.includes(name) ? 'picture' : name === 'file' ? 'sound' : undefined
  if (kind === undefined) throw invalid(name, `'${name}' must be a text, and not a file.`)
  if (bytes.length === 0) throw invalid(name, `'${name}' is empty.`)
  const type = kind === 'picture' ? pictureTypeOf(bytes) : (typeOfName(filename) ?? typeOfBytes(bytes))
  if (type === undefined)
    throw refuse('unsupported_media_type', `'${name}' must be ${TAKEN[kind]}.`, { members: { param: name } })
  takeBytes(gateway.capacity, call.trace.taken, Math.ceil((bytes.length * 4) / 3))
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}
