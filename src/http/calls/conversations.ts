/** Conversations over HTTP: made, read, changed and deleted, with their items. */
import type { z } from 'zod'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { refuse } from '../../core/refusal.ts'
import {
  asKept,
  conversationFull,
  isId,
  keptConversation,
  newConversationId,
  noConversation,
} from '../../gateway/enter/conversation.ts'
import { itemsFrom } from '../../gateway/enter/kept-items.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { takeBytes } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import type { ItemPlace } from '../../store/calls/response-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { anyCallerOf, callerOf, keeperOf } from '../request/caller.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import type { conversationChange, itemsToAdd, newConversation } from '../schema/conversations.ts'
import { listOf, notInList, pageAsked, shownItem } from './item-lists.ts'

const A_CONVERSATION = { param: 'conversation', what: 'A conversation' } as const

export const createConversation: BodyHandler<z.infer<typeof newConversation>> = async (
  gateway,
  call,
  body,
) => {
  const { store, clock, options } = gateway
  const keyId = placeOf(await keeperOf(gateway, call, A_CONVERSATION))
  const lifeMs = options.responsesKeptMs
  if (lifeMs === 0)
    throw refuse(
      'invalid_parameter',
      'Conversations are not kept here: RESPONSES_STORE, the hours for which they are, is 0.',
    )
  const { items, metadata } = await body()
  const id = newConversationId()
  const created_at = Math.floor(clock.now() / 1000)
  const conversation = { id, object: 'conversation', created_at, metadata: metadata ?? {} }
  const output = asKept(jsonIn(items ?? []))
  const text = JSON.stringify(conversation)
  await store.responses.keepResponse(
    { keyId, id, previousId: undefined, input: '[]', body: text, output, state: 'conversation' },
    lifeMs,
  )
  return json(conversation)
}

/** They were read from JSON. */
const jsonIn = (items: readonly object[]): readonly Json[] => items as readonly Json[]

const conversationOf = async (gateway: Gateway, ref: ResponseRef): Promise<JsonObject> => {
  const kept = await keptConversation(gateway, ref)
  if (kept === undefined) throw noConversation()
  return kept
}

type Named = {
  readonly ref: ResponseRef
  readonly call: HttpCall
  readonly gateway: Gateway
  readonly key: Key
}

const handling =
  (caller: typeof anyCallerOf, work: (kept: JsonObject, named: Named) => Answer | Promise<Answer>): Handler =>
  async (gateway, call) => {
    const key = await caller(gateway, call)
    const ref = { keyId: placeOf(key), id: call.params.id ?? '' }
    return work(await conversationOf(gateway, ref), { ref, call, gateway, key })
  }

export const getConversation = handling(callerOf, (conversation) => json(conversation))

/** A disabled key may take away what is kept for it. */
export const deleteConversation = handling(anyCallerOf, async (_kept, { gateway, ref }) => {
  await gateway.store.responses.forgetResponse(ref.keyId, ref.id)
  return json({ id: ref.id, object: 'conversation.deleted', deleted: true })
})

const shown = (item: JsonObject): JsonObject => shownItem(item, String(item.id))

/** The items at these places. Their bytes are counted before they are loaded, and reading them takes a small turn. */
const itemsAt = async (
  { gateway, call, ref, key }: Named,
  places: readonly ItemPlace[],
): Promise<readonly JsonObject[]> => {
  await takeSmallTurn(gateway, key, call.trace)
  if (places.length === 0) return []
  const loading = { keyId: ref.keyId, taken: call.trace.taken }
  takeBytes(
    gateway.capacity,
    call.trace.taken,
    places.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  const at = places.map(({ place }) => place)
  const texts = await gateway.store.responses.itemsAt(ref, Math.min(...at), Math.max(...at))
  const items = itemsFrom(gateway, loading, texts)
  return items.filter(isObject).map(shown)
}

export const listItems = handling(callerOf, async (_kept, named) => {
  const { gateway, call, ref } = named
  const { responses } = gateway.store
  const { after, limit, order } = pageAsked(call)
  const last = isId(after) ? await responses.itemPlace(ref, after, order) : undefined
  if (after !== undefined && last === undefined) throw notInList()
  const places = await responses.itemPlaces(ref, { after: last?.place, limit: limit + 1, order })
  const items = await itemsAt(named, places.slice(0, limit))
  return listOf(order === 'asc' ? items : items.toReversed(), places.length > limit)
})

const noItem = () => refuse('not_found', 'The conversation has no item of this id.')

export const getItem = handling(callerOf, async (_kept, named) => {
  const { gateway, call, ref } = named
  const { item: id } = call.params
  const place = isId(id) ? await gateway.store.responses.itemPlace(ref, id, 'asc') : undefined
  if (place === undefined) throw noItem()
  const [item] = await itemsAt(named, [place])
  if (item === undefined) throw noItem()
  return json(item)
})

export const deleteItem = handling(anyCallerOf, async (conversation, { gateway, ref, call }) => {
  const { item: id } = call.params
  if (!isId(id) || !(await gateway.store.responses.removeItem(ref, id))) throw noItem()
  return json(conversation)
})

export const changeConversation: BodyHandler<z.infer<typeof conversationChange>> = async (
  gateway,
  call,
  body,
) => {
  const ref = { keyId: placeOf(await callerOf(gateway, call)), id: call.params.id ?? '' }
  const { metadata } = await body()
  const changed = { ...(await conversationOf(gateway, ref)), metadata }
  if (!(await gateway.store.responses.rewrite(ref, JSON.stringify(changed)))) throw noConversation()
  return json(changed)
}

export const addItems: BodyHandler<z.infer<typeof itemsToAdd>> = async (gateway, call, body) => {
  const keyId = placeOf(await keeperOf(gateway, call, A_CONVERSATION))
  const { responsesKeptMs: lifeMs, bodyBytesMax: bytesMax } = gateway.options
  const output = asKept(jsonIn((await body()).items))
  const added = { keyId, id: call.params.id ?? '', output }
  const how = await gateway.store.responses.addItems(added, { lifeMs, bytesMax })
  if (how !== 'added') throw how === 'full' ? conversationFull() : noConversation()
  return listOf(
    output
      .map((item) => parseJson(item.body))
      .filter(isObject)
      .map(shown),
    false,
  )
}
