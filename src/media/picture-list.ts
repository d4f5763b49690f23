/** Reads the answer that most vendors of pictures give: a list in `data`, each with its bytes in base64 or an address. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import type { Output, VendorAnswer, Verdict } from './shape.ts'

export const NOT_READ: Verdict = {
  verdict: 'failed',
  fault: 'vendor',
  message: 'the answer could not be read',
}

type Reading = {
  /** Pictures that were asked for; what a vendor sends beyond them is not delivered. */
  readonly asked: number
  /** Whether this one was withheld by the vendor's filters. */
  readonly isBlocked?: (picture: JsonObject) => boolean
  /** `file` for drawings, which are documents and not pixels. */
  readonly type?: 'image' | 'file'
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

const sourceOf = ({ b64_json: base64, url }: JsonObject) => {
  if (typeof base64 === 'string' && base64 !== '') return { base64 }
  return typeof url === 'string' && url.startsWith('https://') ? { url } : undefined
}

/**
 * The verdict over an answer with a list of pictures: done with those that came, each charged as one image; blocked where
 * none came because of filters. Undefined for a status that is no success.
 */
export const readPictureList = (
  { status, json }: VendorAnswer,
  { asked, isBlocked = () => false, type = 'image' }: Reading,
): Verdict | undefined => {
  if (status < 200 || status > 299) return undefined
  if (!isObject(json)) return NOT_READ
  const listed = listOf(json.data)
  const outputs: Output[] = []
  const shown: JsonObject[] = []
  for (const picture of listed) {
    const from = isBlocked(picture) ? undefined : sourceOf(picture)
    if (from !== undefined && outputs.length === asked) continue
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
