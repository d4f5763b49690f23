/**
 * Items as they are listed, page by page: the inputs of a response, and those of a conversation. Source of the format:
 * OpenAI API reference, "List input items" and "List items".
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import { invalid, must, type Refusal } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { ItemOrder } from '../../store/calls/response-port.ts'
import { json } from '../answer/reply.ts'
import { readQuery } from '../request/query.ts'
import type { HttpCall } from '../route/route.ts'

export const listQuery = ['after', 'limit', 'order', 'include'] as const

const LIMIT_MOST = 100
const LIMIT_USUAL = 20

/** A list of what to include may name several; all that is kept is in every answer anyway. */
export const withoutIncludes = (query: string): string => {
  const rest = new URLSearchParams(query)
  for (const name of ['include', 'include[]']) rest.delete(name)
  return rest.toString()
}

/** An item in the form of answers: a message has parts and a status, and everything has an id. */
export const shownItem = (item: JsonObject, id: string): JsonObject => {
  const named = { ...item, id: item.id ?? id }
  if (item.type !== undefined && item.type !== 'message') return named
  const { content, role, status = 'completed' } = item
  const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' }
  const parts = typeof content === 'string' ? [{ ...part, text: content }] : (content ?? [])
  return { ...named, type: 'message', status, content: parts }
}

export const listOf = (data: readonly JsonObject[], hasMore: boolean): Answer =>
  json({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  })

type Page<Item> = { readonly data: readonly Item[]; readonly hasMore: boolean }

/** What a query asks for: the newest first unless it says otherwise. */
export const pageAsked = ({ query: asked }: HttpCall) => {
  const query = must(readQuery(withoutIncludes(asked), listQuery))
  const limit = must(limitOf(query.get('limit')))
  return { limit, order: must(orderOf(query.get('order'))), after: query.get('after') }
}

/** The page that a query asks for of items in their order. */
export const pageOf = <Item extends { readonly id: Json }>(
  call: HttpCall,
  items: readonly Item[],
): Page<Item> => {
  const { limit, order, after } = pageAsked(call)
  const sorted = order === 'asc' ? items : items.toReversed()
  const before = sorted.findIndex(({ id }) => id === after)
  if (after !== undefined && before < 0) throw notInList()
  const data = sorted.slice(before + 1, before + 1 + limit)
  return { data, hasMore: before + 1 + limit < sorted.length }
}

export const notInList = (): Refusal => invalid('after', "'after' must be the id of an item of this list.")

const limitOf = (text: string | undefined): number | Refusal => {
  if (text === undefined) return LIMIT_USUAL
  const limit = /^\d{1,3}$/.test(text) ? Number.parseInt(text, 10) : 0
  return limit >= 1 && limit <= LIMIT_MOST ? limit : invalid('limit', `'limit' must be 1 to ${LIMIT_MOST}.`)
}

const orderOf = (order = 'desc'): ItemOrder | Refusal =>
  order === 'asc' || order === 'desc' ? order : invalid('order', "'order' must be asc or desc.")
