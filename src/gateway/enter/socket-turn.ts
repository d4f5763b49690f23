/**
 * A turn on a socket: joined with the conversation that the socket remembers, and noted for the next turn.
 */
import {
  concat,
  type Edits,
  type Json,
  type JsonBody,
  type JsonObject,
  parseJson,
  splice,
} from '../../core/json-body.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { readWeighed, type Taken, takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { OnSocket } from '../parts/socket-memory.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const COMMA = encoder.encode(',')
const INPUT = encoder.encode('{"input":[')
const [END, END_BEFORE_MORE] = [encoder.encode(']'), encoder.encode('],')]
const NOTHING = new Uint8Array()

/** A request with members changed, and its items: those that a socket remembers, if any, then its own. */
type Continued = {
  readonly sent: JsonBody
  readonly edits: Edits
  readonly before: Uint8Array
  /** The items of its own, if they are others than it was sent with. */
  readonly own: readonly Json[] | undefined
}

/** A request joined with the conversation before it: from bytes, none of which are written anew. */
export const continued = (
  { capacity, options }: Gateway,
  taken: Taken,
  { sent, edits, before, own }: Continued,
): JsonBody => {
  const joins = own !== undefined || before.length > 0
  const head = splice(sent, joins ? { ...edits, input: undefined } : edits)
  const items = !joins ? NOTHING : own === undefined ? itemsAsked(sent) : inner(own)
  const length = head.length + before.length + items.length
  if (length > options.bodyBytesMax) throw tooLong()
  takeBytes(capacity, taken, length)
  if (!joins) return readWeighed(capacity, taken, head)
  const end = head.length > '{}'.length ? END_BEFORE_MORE : END
  const whole = concat([INPUT, ...listed(before, items), end, head.subarray(1)])
  return readWeighed(capacity, taken, whole)
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
export const itemsUpTo = (body: JsonBody, response: JsonObject): Uint8Array =>
  concat(listed(itemsAsked(body), inner(Array.isArray(response.output) ? response.output : [])))

/** Lists of items as one, with a comma between those that have any. */
const listed = (...lists: readonly Uint8Array[]): Uint8Array[] =>
  lists.filter(({ length }) => length > 0).flatMap((list, at) => (at === 0 ? [list] : [COMMA, list]))

/** Items as JSON, without the brackets. */
const inner = (items: readonly Json[]): Uint8Array => encoder.encode(JSON.stringify(items).slice(1, -1))

/** The 413 of a conversation that is larger than a request may be. */
export const tooLong = (): Refusal =>
  refuse('request_too_large', 'The conversation with all that it names is larger than the server accepts.')
