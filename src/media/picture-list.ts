/** Reads the answer of most image vendors: a list in `data`, each entry with base64 bytes or an address. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import type { Output, VendorAnswer, Verdict } from './shape.ts'

export const NOT_READ: Verdict = {
  verdict: 'failed',
  fault: 'vendor',
  message: 'the answer could not be read',
}

type Reading = {
  /** The number of images requested; what a vendor sends beyond that is not delivered. */
  readonly requested: number
  /** Whether the vendor's filters withheld this one. */
  readonly isBlocked?: (picture: JsonObject) => boolean
  /** `file` for drawings, which are documents rather than pixels. */
  readonly type?: 'image' | 'file'
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

const sourceOf = ({ b64_json: base64, url }: JsonObject) => {
  if (typeof base64 === 'string' && base64 !== '') return { base64 }
  return typeof url === 'string' && url.startsWith('https://') ? { url } : undefined
}

/**
 * The verdict on an answer with a list of images: done with those that came, each charged as one image; blocked if
 * filters left none. Undefined for an unsuccessful status.
 */
export const readPictureList = (
  { status, json }: VendorAnswer,
  { requested, isBlocked = () => false, type = 'image' }: Reading,
): Verdict | undefined => {
  if (status < 200 || status > 299) return undefined
  if (!isObject(json)) return NOT_READ
  const listed = listOf(json.data)
  const outputs: Output[] = []
  const shown: JsonObject[] = []
  for (const picture of listed) {
    const from = isBlocked(picture) ? undefined : sourceOf(picture)
    if (from !== undefined && outputs.length === requested) continue
    if (from !== undefined) outputs.push({ type, from, at: ['data', shown.length, 'url'] })
    const { b64_json: _bytes, ...rest } = picture
    shown.push({ ...rest, url: null })
  }
  if (outputs.length > 0)
    return {
      verdict: 'done',
      outputs,
      body: { ...json, data: shown },
      measured: { image: outputs.length },
    }
  return listed.some(isBlocked) ? { verdict: 'blocked' } : NOT_READ
}
