/**
 * A turn on a socket: joined with the conversation that the socket remembers, and noted for the next turn.
 */
import { bodyOf, concat, type Json, type JsonBody, type JsonObject, parseJson } from '../../core/json-body.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { type ByteOwner, readWeighed, takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { OnSocket } from '../parts/socket-memory.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const COMMA = encoder.encode(',')

/** A request of new items, with those before them that a socket remembers, if any; joined, not written anew. */
export const continued = (
  { capacity, options }: Gateway,
  trace: ByteOwner,
  before: Uint8Array,
  asked: JsonObject,
): JsonBody => {
  const { bytes, members = [] } = bodyOf(asked)
  const input = members.find(({ name }) => name === 'input')
  const length = bytes.length + before.length
  if (length > options.bodyBytesMax) throw tooLong()
  takeBytes(capacity, trace, length)
  if (input === undefined || before.length === 0) return readWeighed(capacity, trace, bytes)
  const from = input.valueStart + 1
  const alone = input.end === from + 1
  const whole = [bytes.subarray(0, from), before, ...(alone ? [] : [COMMA]), bytes.subarray(from)]
  return readWeighed(capacity, trace, concat(whole))
}

/** The items of a conversation that a socket remembers. */
export const itemsIn = (items: Uint8Array): readonly Json[] => {
  const read = parseJson(`[${decoder.decode(items)}]`)
  return Array.isArray(read) ? read : []
}

/** Notes the conversation up to a response for the socket; one that failed leaves what was known before. */
export const noting =
  ({ memory, lane }: OnSocket, body: JsonBody, stored: boolean) =>
  (response: JsonObject): void => {
    if (response.status === 'failed') return
    memory.note(lane, String(response.id), { items: itemsUpTo(body, response), stored })
  }

/** The items that a request brings, as JSON without the brackets. */
export const itemsAsked = (body: JsonBody): Uint8Array => {
  const input = body.members?.find(({ name }) => name === 'input')
  return input !== undefined && Array.isArray(body.outline.input)
    ? body.bytes.subarray(input.valueStart + 1, input.end - 1)
    : inner(responseForm.itemsOf(body.value.input))
}

/** The same with those of the response to it: the next request of the conversation begins with them. */
export const itemsUpTo = (body: JsonBody, response: JsonObject): Uint8Array => {
  const output = inner(Array.isArray(response.output) ? response.output : [])
  const parts = [itemsAsked(body), output].filter(({ length }) => length > 0)
  return concat(parts.flatMap((part, at) => (at === 0 ? [part] : [COMMA, part])))
}

/** Items as JSON, without the brackets. */
const inner = (items: readonly Json[]): Uint8Array => encoder.encode(JSON.stringify(items).slice(1, -1))

/** The 413 of a conversation that is larger than a request may be. */
export const tooLong = (): Refusal =>
  refuse('request_too_large', 'The conversation with all that it names is larger than the server accepts.')
