/**
 * Conversations that callers make by name (`conv_…`). A request that names one is asked with its items, and adds its own and
 * those of its answer.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { invalid, type Refusal, refuse } from '../../core/refusal.ts'
import { newIdOf } from '../../core/time.ts'
import type { KeptItem, KeptResponse } from '../../store/calls/response-port.ts'
import type { Gateway } from '../parts/gateway.ts'

type ConversationRef = Pick<KeptResponse, 'keyId' | 'id'>

const CONVERSATION = 'conv'

/** Whether a text may be an id: PostgreSQL takes no others, and nothing is named by them. */
export const isId = (text: Json | undefined): text is string =>
  typeof text === 'string' && /^[\x21-\x7e]{1,256}$/.test(text)

/** Whether an id is that of a conversation: they are kept beside responses. */
export const isConversation = (id: string): boolean => id.startsWith(`${CONVERSATION}_`)

export const newConversationId = (): string => newIdOf(CONVERSATION)

/** The conversation that a request names, by its id or as an object. */
export const conversationNamed = (value: Json | undefined): string | undefined | Refusal => {
  if (value === undefined || value === null) return undefined
  const id = isObject(value) ? value.id : value
  return isId(id) && isConversation(id)
    ? id
    : invalid('conversation', "'conversation' must be the id of a conversation, or an object with that 'id'.")
}

/** Begins the ids of items that came without one. No vendor may see them: each expects ids of its own form. */
const OWN = 'item'

/** The items as they are kept. */
export const asKept = (items: readonly Json[]): readonly KeptItem[] =>
  items.filter(isObject).map((item) => {
    const id = isId(item.id) ? item.id : newIdOf(OWN)
    return { id, body: JSON.stringify({ ...item, id }) }
  })

/** The items of an answer as they are kept; those whose id is none cannot be named. */
export const keptOutput = (output: Json | undefined): readonly KeptItem[] =>
  (Array.isArray(output) ? output : [])
    .filter(isObject)
    .map((item) => ({ id: isId(item.id) ? item.id : '', body: JSON.stringify(item) }))

/** A kept item as a vendor is asked with it. */
export const asSent = (item: Json): Json => {
  if (!isObject(item) || typeof item.id !== 'string' || !item.id.startsWith(OWN)) return item
  const { id: _id, ...rest } = item
  return rest
}

/** The conversation without its items; undefined if there is none. */
export const keptConversation = async (
  { store }: Gateway,
  ref: ConversationRef,
): Promise<JsonObject | undefined> => {
  const body =
    isConversation(ref.id) && isId(ref.id) ? await store.responses.conversationHead(ref) : undefined
  const conversation = body === undefined ? undefined : parseJson(body)
  return isObject(conversation) ? conversation : undefined
}

/** The refusal of items for which a conversation has no room. */
export const conversationFull = (): Refusal =>
  refuse(
    'request_too_large',
    'With these items the conversation would be larger than the server accepts. Delete some of its items, or make another one.',
  )

/** The refusal of a conversation that is not there; `members` name the field that asked for it. */
export const noConversation = (members: Refusal['members'] = {}): Refusal =>
  refuse(
    'not_found',
    'There is no conversation of this id: it is not yours, it was deleted, or it has expired (RESPONSES_STORE).',
    { members },
  )

/** The response object of a whole answer, or of the event that ends a stream. */
export const responseIn = (answer: string): JsonObject | undefined => {
  if (answer.startsWith('{')) return responseOf(parseJson(answer))
  for (const line of answer.split('\n')) {
    const event = line.startsWith('data: ') ? parseJson(line.slice('data: '.length)) : undefined
    const response = isObject(event) ? responseOf(event.response ?? event.interaction) : undefined
    if (response !== undefined) return response
  }
  return undefined
}

const responseOf = (value: Json | undefined): JsonObject | undefined =>
  isObject(value) && typeof value.id === 'string' ? value : undefined
