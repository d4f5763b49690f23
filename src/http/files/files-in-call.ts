/**
 * Files of ours in a call of the generate-content style: `fileData` that names one becomes `inlineData`, because vendors
 * do not know the files of this server.
 */

import { parseExact } from '../../core/exact-json.ts'
import { readFileId } from '../../core/file-id.ts'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { textOf } from '../../dialects/request/json-members.ts'
import { member } from '../../dialects/request/spelling.ts'
import { takeBytes } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { callerOf } from '../request/caller.ts'
import { tooLarge } from '../request/read-body.ts'
import type { HttpCall } from '../route/route.ts'
import { uploadsOf } from './files.ts'

const MARK = '/files/file-'
const OURS = /\/v1(?:beta)?\/files\/(file-[0-9a-f]{32})$/

type Read = (id: string, param: string) => Promise<{ readonly mimeType: string; readonly data: string }>

/** The body with its files inlined; bodies that name none are given back as they came. */
export const withFiles = async (gateway: Gateway, call: HttpCall, body: Uint8Array): Promise<Uint8Array> => {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (!buffer.includes(MARK)) return body
  const value = parseExact(buffer.toString('utf8'))
  if (!isObject(value)) return body
  const key = await callerOf(gateway, call, 'gemini')
  let bytes = body.length
  const read: Read = async (id, param) => {
    const uploads = uploadsOf(gateway)
    const upload = await uploads.findFor(readFileId(id) ?? '', key.id)
    if (upload === undefined)
      throw invalid(param, `'${param}' names no file of yours, or one that has expired.`)
    bytes += Math.ceil((upload.bytes * 4) / 3)
    if (bytes > gateway.options.bodyBytesMax) throw tooLarge(gateway.options.bodyBytesMax)
    takeBytes(gateway.capacity, call.trace.taken, Math.ceil((upload.bytes * 4) / 3))
    const found = await uploads.bytes(upload)
    if (found === undefined) throw invalid(param, `The bytes of '${param}' are no longer kept.`)
    return { mimeType: upload.mediaType, data: Buffer.from(found).toString('base64') }
  }
  const filled = await filledBody(value, read)
  return new TextEncoder().encode(JSON.stringify(filled))
}

/** A count of tokens has the request inside. */
const filledBody = async (value: JsonObject, read: Read): Promise<JsonObject> => {
  const inner = member(value, 'generateContentRequest')
  if (isObject(inner)) return { ...value, generateContentRequest: await filledBody(inner, read) }
  const contents = Array.isArray(value.contents) ? value.contents : undefined
  if (contents === undefined) return value
  const turns: Json[] = []
  for (const [at, turn] of contents.entries())
    turns.push(isObject(turn) ? await filledTurn(turn, `contents[${at}]`, read) : turn)
  return { ...value, contents: turns }
}

const filledTurn = async (turn: JsonObject, place: string, read: Read): Promise<JsonObject> => {
  if (!Array.isArray(turn.parts)) return turn
  const parts: Json[] = []
  for (const [at, part] of turn.parts.entries()) {
    const file = isObject(part) ? member(part, 'fileData') : undefined
    const uri = isObject(file) ? (textOf(member(file, 'fileUri')) ?? '') : ''
    const id = OURS.exec(uri)?.[1]
    if (id === undefined || !isObject(part) || !isObject(file)) parts.push(part)
    else {
      const { fileData: _camel, file_data: _snake, ...rest } = part
      const own = await read(id, `${place}.parts[${at}].fileData.fileUri`)
      parts.push({ ...rest, inlineData: { ...own, mimeType: member(file, 'mimeType') ?? own.mimeType } })
    }
  }
  return { ...turn, parts }
}
