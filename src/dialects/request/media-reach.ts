/**
 * Where media may be fetched from. Vendors fetch what an address names, and a vendor at one of the operator's own
 * addresses is inside the operator's network. Callers must not use it to reach what strangers cannot reach there.
 */
import { isPublicHost } from '../../core/address.ts'
import type { Call } from '../../core/call.ts'
import { isFileId } from '../../core/file-id.ts'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'

/** Members of any dialect that contain the address of media. */
const ADDRESSES =
  /^(?:(?:image|video|audio|file|document|media)_?)?ur[il]s?$|^(?:image|video|audio|file)s?$|^file_?data$/i

/** The same for inputs of products, under the vendors' names: `start_image_url`, `src`, `mask`. */
const OF_PRODUCTS =
  /(?:^|_)(?:ur[il]|src|href|link|image|video|audio|film|file|media|mask|frame|picture|photo)s?$/i

/** Members whose content is the caller's own business: nobody fetches what it names. */
const OPAQUE: ReadonlySet<string> = new Set(['args', 'arguments', 'response', 'citations', 'annotations'])

/** Media in cloud storage, which only the vendor's own account can read. */
const STORED = /^(?:gs|s3):\/\//i

const PATH = /^(?:\.{0,2}[/\\]|~|[a-z]:[/\\])/i
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const UNSURE = /[\\\s\p{Cc}]/u
/** Longer texts without a scheme are base64, whatever they begin with. */
const PATH_MAX = 512

/**
 * The first address in a call's conversation that vendors must not be asked to fetch. Calls without media cost nothing
 * here.
 */
export const checkReach = ({ body, media, size }: Call): Refusal | undefined => {
  if (media?.priced !== undefined) return checkMembers(media.priced.inputs, 'inputs', OF_PRODUCTS)
  if (size.images === 0 && size.audioBytes === 0 && size.unbounded !== true) return undefined
  const { messages, contents, input, system, systemInstruction, system_instruction } = body.outline
  const parts = { messages, contents, input, system, systemInstruction, system_instruction }
  return checkMembers(parts, '', ADDRESSES)
}

const checkMembers = (object: JsonObject, at: string, addresses: RegExp): Refusal | undefined => {
  const ofTool = object.type === 'tool_use' || object.type === 'server_tool_use'
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || OPAQUE.has(name) || (ofTool && name === 'input')) continue
    const place = at === '' ? name : `${at}.${name}`
    if (name === 'file_id' && typeof value === 'string' && isFileId(value)) return fileOfOurs(place)
    const isAddress = ADDRESSES.test(name) || addresses.test(name)
    const refusal = checkValue(value, place, { isAddress, addresses })
    if (refusal) return refusal
  }
  return undefined
}

type Where = { readonly isAddress: boolean; readonly addresses: RegExp }

const checkValue = (value: Json, at: string, where: Where): Refusal | undefined => {
  if (typeof value === 'string') return where.isAddress && !mayBeFetched(value) ? outOfReach(at) : undefined
  if (isObject(value)) return checkMembers(value, at, where.addresses)
  if (!Array.isArray(value)) return undefined
  for (const [index, one] of value.entries()) {
    const refusal = checkValue(one, `${at}[${index}]`, where)
    if (refusal) return refusal
  }
  return undefined
}

const mayBeFetched = (text: string): boolean => {
  const url = text.slice(0, 4_096).trimStart()
  if (/^data:/i.test(url) || STORED.test(url)) return true
  if (!SCHEME.test(url) || /^[a-z]:[/\\]/i.test(url)) return url.length > PATH_MAX || !PATH.test(url)
  // An address in which two readers may see different hosts is refused.
  if (!/^https?:\/\//i.test(url) || UNSURE.test(url) || !URL.canParse(url)) return false
  const { hostname, username, password } = new URL(url)
  return username === '' && password === '' && isPublicHost(hostname)
}

/** Files that callers uploaded here are read for inputs of products; the vendors of conversations do not know them. */
const fileOfOurs = (at: string): Refusal =>
  invalid(
    at,
    `'${at}' names a file of this server, which only inputs of products can name: send its content in the request, ` +
      "such as a data: address in 'file_data' or 'image_url'.",
  )

const outOfReach = (at: string): Refusal =>
  invalid(
    at,
    `'${at}' must be an https address of a public server, or a data: address with the content in it; ` +
      'addresses inside a network, of this machine and of files are not fetched.',
  )
