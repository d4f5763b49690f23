/** Kept responses: reading one, whole or as the stream of its events, stopping one, and deleting one. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, must, type Refusal, refuse } from '../../core/refusal.ts'
import { isConversation, isId } from '../../gateway/enter/conversation.ts'
import { itemsFrom, itemsNamed } from '../../gateway/enter/kept-items.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import { eventsAnswer, followResponse, keptResponse } from '../../gateway/jobs/follow-response.ts'
import { cancelResponse, forgetResponse } from '../../gateway/jobs/keep-background.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { takeBytes, takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { endStream } from '../../gateway/parts/trace.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { anyCallerOf, callerOf } from '../request/caller.ts'
import { readQuery, readTruth } from '../request/query.ts'
import type { HttpCall } from '../route/route.ts'
import { listOf, pageOf, shownItem, withoutIncludes } from './item-lists.ts'

/** Parameters of a read; those that shape what is sent beside the response change nothing here. */
export const readingQuery = ['stream', 'starting_after', 'include', 'include_obfuscation'] as const

/** A response that its key asked to keep, as it is now; or the events of one that is made in the background. */
export const getKeptResponse = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const ref = refOf(await callerOf(gateway, call), call)
  const query = must(readQuery(withoutIncludes(call.query), readingQuery))
  const streams = must(readTruth('stream', query.get('stream')))
  const after = must(numberOf(query.get('starting_after')))
  const kept = await keptResponse(gateway, ref)
  if (kept === undefined) throw notKept()
  return streams ? follow(gateway, call, ref, after) : json(kept.response)
}

const follow = async (gateway: Gateway, { trace }: HttpCall, ref: ResponseRef, after: number) => {
  if ((await gateway.store.background.events(ref, after)) === undefined)
    throw invalid(
      'stream',
      "Only a response that was made with 'background: true' and 'stream: true' has a stream.",
    )
  // Whoever reads along counts as an open call of the key.
  takePlace(gateway.capacity, trace)
  return eventsAnswer(followResponse(gateway, ref, after, () => endStream(trace)))
}

/** The number of the first event to send. */
const numberOf = (startingAfter: string | undefined): number | Refusal => {
  if (startingAfter === undefined) return 0
  return /^\d{1,9}$/.test(startingAfter)
    ? Number.parseInt(startingAfter, 10) + 1
    : invalid('starting_after', "'starting_after' must be the sequence_number of an event.")
}

type Shown = JsonObject & { readonly id: Json }

/** The items that its caller sent for a response, without those of the responses before it. */
export const listInputItems = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { store, capacity } = gateway
  const key = await callerOf(gateway, call)
  const ref = refOf(key, call)
  await takeSmallTurn(gateway, key, call.trace)
  takeBytes(capacity, call.trace, await store.responses.keptBytes(ref.keyId, ref.id))
  const kept = await store.responses.keptResponse(ref.keyId, ref.id)
  if (kept === undefined) throw notKept()
  const loading = { keyId: ref.keyId, owner: call.trace }
  const name = ref.id.replace('resp_', '')
  const items = itemsFrom(gateway, loading, [kept.input]).filter(isObject)
  const { data, hasMore } = pageOf(
    call,
    items.map((item, at): Shown => ({ ...item, id: item.id ?? `item_${name}_${at}` })),
  )
  // A reference is shown as what it names.
  const names = data.flatMap(({ id, role }) => (role === undefined && isId(id) ? [id] : []))
  const named = await itemsNamed(gateway, loading, names)
  const shown = data.map((item) => {
    const found = item.role === undefined ? named.get(String(item.id)) : undefined
    return shownItem(isObject(found) ? found : item, String(item.id))
  })
  return listOf(shown, hasMore)
}

/** Stops a response that is made in the background; one that has ended stays as it is. */
export const cancelKeptResponse = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const ref = refOf(await anyCallerOf(gateway, call), call)
  const kept = await keptResponse(gateway, ref)
  if (kept === undefined) throw notKept()
  if (kept.response.background !== true)
    throw invalid('id', "Only a response that was made with 'background: true' can be cancelled.")
  const now = kept.open ? await cancelResponse(gateway, ref) : kept
  if (now === undefined) throw notKept()
  return json(now.response)
}

/** Deletes a response; a disabled key may do it too. */
export const forgetKeptResponse = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const ref = refOf(await anyCallerOf(gateway, call), call)
  if (!(await forgetResponse(gateway, ref))) throw notKept()
  return json({ id: ref.id, object: 'response', deleted: true })
}

/** A conversation is kept beside responses, but is none. */
const refOf = (key: Key, { params: { id = '' } }: HttpCall): ResponseRef => {
  if (isConversation(id)) throw notKept()
  return { keyId: placeOf(key), id }
}

const notKept = () =>
  refuse(
    'not_found',
    'There is no response of this id: nobody asked to keep it, it is not yours, it was deleted, or it has expired (RESPONSES_STORE).',
  )
