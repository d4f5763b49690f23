/** Kept answers: reading one, whole or as the stream of its events, stopping one, and deleting one. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, must, type Refusal, refuse } from '../../core/refusal.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { isConversation, isId } from '../../gateway/enter/conversation.ts'
import { itemsFrom, itemsNamed } from '../../gateway/enter/kept-items.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import { eventsAnswer, followResponse, keptResponse } from '../../gateway/jobs/follow-response.ts'
import { cancelResponse, forgetResponse } from '../../gateway/jobs/keep-background.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { giveBackBytes, takeBytes, takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { endStream } from '../../gateway/parts/trace.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { json } from '../answer/reply.ts'
import { anyCallerOf, callerOf } from '../request/caller.ts'
import { readQuery, readTruth } from '../request/query.ts'
import type { CredentialStyle } from '../route/headers.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { listOf, pageOf, shownItem, withoutIncludes } from './item-lists.ts'

/** Parameters of a read; those that shape what is sent beside the response change nothing here. */
export const readingQuery = ['stream', 'starting_after', 'include', 'include_obfuscation'] as const

/** Which kept answers an address has, and where its clients put the key. */
type Shelf = {
  readonly form: KeptForm
  readonly credential: CredentialStyle
  readonly query: readonly string[]
}

const ofResponses: Shelf = { form: responseForm, credential: 'bearer', query: readingQuery }

/** An answer that its key asked to keep, as it is now; or the events of one that is made in the background. */
export const readingKept =
  ({ form, credential, query: known }: Shelf): Handler =>
  async (gateway, call) => {
    const ref = refOf(await callerOf(gateway, call, credential), call, form)
    const query = must(readQuery(withoutIncludes(call.query), known))
    const streams = must(readTruth('stream', query.get('stream')))
    const after = must(numberOf(form.after, query.get(form.after)))
    const withInput = must(readTruth('include_input', query.get('include_input')))
    const { kept, bytes } = await counted(gateway, call, ref)
    if (kept === undefined) throw notKept(form)
    // A stream reads its events one by one, and may last.
    if (streams) giveBackBytes(gateway.capacity, call.trace.taken, bytes)
    if (streams) return follow(gateway, call, ref, after)
    return json(withInput ? { ...kept.response, input: kept.input() } : kept.response)
  }

export const getKeptResponse = readingKept(ofResponses)

/** What is kept, whose bytes are counted before it is loaded. Throws the refusals of a full memory. */
const counted = async (gateway: Gateway, { trace }: HttpCall, ref: ResponseRef) => {
  const bytes = await gateway.store.responses.keptBytes(ref.keyId, ref.id)
  takeBytes(gateway.capacity, trace.taken, bytes)
  return { kept: await keptResponse(gateway, ref), bytes }
}

const follow = async (gateway: Gateway, { trace }: HttpCall, ref: ResponseRef, after: number) => {
  if ((await gateway.store.background.events(ref, after)) === undefined)
    throw invalid('stream', `Only one that was made with 'background: true' and 'stream: true' has a stream.`)
  // Whoever reads along counts as an open call of the key.
  takePlace(gateway.capacity, trace.taken)
  return eventsAnswer(followResponse(gateway, ref, after, () => endStream(trace)))
}

/** The number of the first event to send. */
const numberOf = (name: string, after: string | undefined): number | Refusal => {
  if (after === undefined) return 0
  return /^\d{1,9}$/.test(after)
    ? Number.parseInt(after, 10) + 1
    : invalid(name, `'${name}' must be the number of an event.`)
}

type Shown = JsonObject & { readonly id: Json }

/** The items that its caller sent for a response, without those of the responses before it. */
export const listInputItems = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { store, capacity } = gateway
  const key = await callerOf(gateway, call)
  const ref = refOf(key, call, responseForm)
  await takeSmallTurn(gateway, key, call.trace)
  takeBytes(capacity, call.trace.taken, await store.responses.keptBytes(ref.keyId, ref.id))
  const kept = await store.responses.keptResponse(ref.keyId, ref.id)
  if (kept === undefined) throw notKept(responseForm)
  const loading = { keyId: ref.keyId, taken: call.trace.taken }
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

/** Stops an answer that is made in the background; one that has ended stays as it is. */
export const cancellingKept =
  ({ form, credential }: Shelf): Handler =>
  async (gateway, call) => {
    const ref = refOf(await anyCallerOf(gateway, call, credential), call, form)
    const { kept } = await counted(gateway, call, ref)
    if (kept === undefined) throw notKept(form)
    if (!form.isLater(kept.response))
      throw invalid('id', "Only a response that was made with 'background: true' can be cancelled.")
    const now = kept.open ? await cancelResponse(gateway, ref) : kept
    if (now === undefined) throw notKept(form)
    return json(now.response)
  }

export const cancelKeptResponse = cancellingKept(ofResponses)

/** Deletes an answer; a disabled key may do it too. */
export const forgettingKept =
  ({ form, credential }: Shelf): Handler =>
  async (gateway, call) => {
    const ref = refOf(await anyCallerOf(gateway, call, credential), call, form)
    if (!(await forgetResponse(gateway, ref))) throw notKept(form)
    return json(form.forgotten(ref.id))
  }

export const forgetKeptResponse = forgettingKept(ofResponses)

/** A conversation is kept beside answers, but is none. */
const refOf = (key: Key, { params: { id = '' } }: HttpCall, form: KeptForm): ResponseRef => {
  if (isConversation(id) || !form.names(id)) throw notKept(form)
  return { keyId: placeOf(key), id }
}

const notKept = ({ noun }: KeptForm) =>
  refuse(
    'not_found',
    `There is no ${noun} of this id: nobody asked to keep it, it is not yours, it was deleted, or it has expired (RESPONSES_STORE).`,
  )
