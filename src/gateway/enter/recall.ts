/**
 * Responses that name earlier ones. If the operator set RESPONSES_STORE, a response is kept for the key that asked for
 * that; a socket remembers its own without that. A request that names one is completed before anything else reads it, so
 * every vendor is asked with the whole conversation.
 */
import {
  type Edits,
  isObject,
  type Json,
  type JsonBody,
  type JsonObject,
  present,
} from '../../core/json-body.ts'
import { invalid, must, type Refusal } from '../../core/refusal.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import type { KeptResponse } from '../../store/calls/response-port.ts'
import { keepsNothing } from '../../tenancy/conditions.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { giveBackBytes, newTaken } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { OnSocket } from '../parts/socket-memory.ts'
import type { Background, Memory } from '../parts/task.ts'
import type { Trace } from '../parts/trace.ts'
import {
  asKept,
  asSent,
  conversationNamed,
  isId,
  keptOutput,
  noConversation,
  responseIn,
} from './conversation.ts'
import { itemsFrom, itemsNamed, type Loading, makeRoom } from './kept-items.ts'
import { continued, itemsIn, noting } from './socket-turn.ts'

type Recalled = { readonly body: JsonBody; readonly memory: Memory | undefined }

/** Who asks: the key, the trace that counts memory, and the socket if it came on one. */
type Asking = {
  readonly form: KeptForm
  readonly key: Key | undefined
  readonly trace: Pick<Trace, 'taken' | 'conditions'>
  readonly socket: OnSocket | undefined
}

/**
 * The request with everything it names put in place, and what to keep of it. Throws the Refusal when something is not
 * kept.
 */
export const recall = async (
  gateway: Gateway,
  { form, key, trace, socket }: Asking,
  sent: JsonBody,
): Promise<Recalled> => {
  // Calls that bring their payment have no key to keep anything for.
  const lifeMs = gateway.options.responsesKeptMs
  if (key === undefined || (lifeMs === 0 && socket === undefined)) return { body: sent, memory: undefined }
  const { [form.previous]: named, ...unnamed } = sent.value
  const { store: stores, conversation: talk, background: later, ...rest } = unnamed
  const previous = typeof named === 'string' && named !== '' ? named : undefined
  const inside = lifeMs === 0 || !form.conversations ? undefined : must(conversationNamed(talk))
  if (previous !== undefined && inside !== undefined)
    throw invalid('conversation', "'conversation' cannot be used together with 'previous_response_id'.")
  const own = form.itemsOf(rest.input)
  const known = previous === undefined ? undefined : socket?.memory.find(previous)
  const stored = stores !== false && lifeMs > 0
  const background: Background | undefined =
    later === true && stored && socket === undefined
      ? { stream: rest.stream === true, stop: new AbortController(), own, previous }
      : undefined
  const edits: Record<string, undefined> = { [form.previous]: undefined }
  if (stores !== false) edits.store = undefined
  // What is not offered here stays, and is refused by name.
  if (inside !== undefined) edits.conversation = undefined
  if (background !== undefined) edits.background = undefined
  const unchanged = background === undefined && inside === undefined && known === undefined
  const before = { previous: known === undefined ? previous : undefined, inside, items: known?.items }
  const whole = await completed(
    gateway,
    { form, key, lifeMs, trace },
    { sent, edits, own, unchanged, before },
  )
  const body = whole ?? sent
  const keep = keepingAs(
    gateway,
    { form, key, lifeMs },
    { socket, body, stored, background, own, previous, inside, known, trace },
  )
  if (keep === undefined && background === undefined) return { body, memory: undefined }
  return {
    body,
    memory: {
      form,
      ...present({ previous, conversation: inside }),
      stored,
      ...present({ socket, background }),
      keep: keep ?? nothingKept,
    },
  }
}

type Keeping = {
  readonly socket: OnSocket | undefined
  readonly body: JsonBody
  readonly stored: boolean
  readonly background: Background | undefined
  readonly own: readonly Json[]
  readonly previous: string | undefined
  readonly inside: string | undefined
  readonly known: ReturnType<OnSocket['memory']['find']>
  readonly trace: Pick<Trace, 'conditions'>
}

const nothingKept = async (): Promise<void> => undefined

/** Keeps an answer wherever it is to be kept; undefined if nowhere. */
const keepingAs = (
  gateway: Gateway,
  whose: For,
  { socket, body, stored, background, own, previous, inside, known, trace }: Keeping,
): ((answer: string) => Promise<void>) | undefined => {
  // A conversation of which a part is not stored is stored whole from here on.
  const chain = (): Chain =>
    known?.stored === false
      ? { own: [...itemsIn(known.items), ...own] }
      : { own, previous, ...(inside === undefined ? {} : { state: 'ended' }) }
  if (socket === undefined && inside === undefined && !(stored && background === undefined)) return undefined
  return async (answer) => {
    const response = responseIn(answer)
    if (response === undefined) return
    // Conditions are known once the call is admitted: with zdr only the socket remembers, in memory.
    const nothing = keepsNothing(trace)
    const stores = stored && !nothing
    const keeping = [
      ...(socket === undefined ? [] : [noting(socket, body, stores && inside === undefined)]),
      ...(stores && background === undefined ? [storing(gateway, whose, chain())] : []),
      ...(inside === undefined || nothing ? [] : [adding(gateway, whose, { id: inside, own })]),
    ]
    await Promise.all(keeping.map((keep) => keep(response)))
  }
}

/** Whose responses are kept, and for how long. */
type For = { readonly form: KeptForm; readonly key: Key; readonly lifeMs: number }

type Before = {
  readonly previous: string | undefined
  readonly inside: string | undefined
  /** What the socket remembers. */
  readonly items: Uint8Array | undefined
}

type Unjoined = {
  readonly sent: JsonBody
  /** What is removed of it. */
  readonly edits: Edits
  readonly own: readonly Json[]
  readonly before: Before
  /** It stays as it was sent if it names nothing. */
  readonly unchanged: boolean
}

const NOTHING = new Uint8Array()

/** The request joined with what it names; undefined if it stays as it was sent. */
const completed = async (
  gateway: Gateway,
  { form, key, lifeMs, trace }: For & { readonly trace: Pick<Trace, 'taken'> },
  { sent, edits, own, before, unchanged }: Unjoined,
): Promise<JsonBody | undefined> => {
  // What is loaded is counted until it is joined: from then on it is the body that takes the memory.
  const taken = newTaken(trace.taken.owner ?? key.id)
  const loading = { keyId: placeOf(key), taken }
  try {
    const earlier = must(await itemsBefore(gateway, loading, { form, lifeMs }, before))
    const input = must(await resolved(gateway, loading, { form, earlier, own, inside: before.inside }))
    if (input === undefined && unchanged) return undefined
    return continued(gateway, trace.taken, { sent, edits, before: before.items ?? NOTHING, own: input })
  } finally {
    giveBackBytes(gateway.capacity, taken, taken.bytes)
  }
}

/** The items before the request's own: of the responses that it continues, or of its conversation. */
const itemsBefore = async (
  gateway: Gateway,
  loading: Loading,
  kept: Pick<For, 'form' | 'lifeMs'>,
  { previous, inside }: Before,
): Promise<readonly Json[] | Refusal> => {
  if (previous !== undefined) return conversation(gateway, loading, kept, previous)
  if (inside === undefined) return []
  const { responses } = gateway.store
  makeRoom(gateway, loading, await responses.keptBytes(loading.keyId, inside))
  const talk = await responses.keptResponse(loading.keyId, inside)
  if (talk === undefined) return noConversation({ param: 'conversation' })
  return itemsFrom(gateway, loading, talk.output).map(asSent)
}

const conversation = async (
  gateway: Gateway,
  loading: Loading,
  { form, lifeMs }: Pick<For, 'form' | 'lifeMs'>,
  id: string,
): Promise<readonly Json[] | Refusal> => {
  const { store, options } = gateway
  const notKept = invalid(
    form.previous,
    `The answer '${id.slice(0, 80)}' or one before it is not kept here: nobody asked to keep it, it was deleted, it ` +
      "has expired, it belongs to a conversation that is named in 'conversation', or it was made in the background and has not ended well; or the conversation is larger than the server accepts. Send what is needed of it in 'input'.",
  )
  if (lifeMs === 0 || !isId(id) || !form.names(id)) return notKept
  const within = { lifeMs, bytesMax: options.bodyBytesMax }
  makeRoom(gateway, loading, await store.responses.chainBytes(loading.keyId, id, within.bytesMax))
  const parts = await store.responses.conversation(loading.keyId, id, within)
  return parts === undefined ? notKept : itemsFrom(gateway, loading, parts)
}

const nameOf = (item: Json): string | undefined => {
  if (!isObject(item) || typeof item.id !== 'string') return undefined
  const refers = item.type === 'item_reference' || (item.type === undefined && item.role === undefined)
  return refers ? item.id : undefined
}

type ToResolve = Pick<For, 'form'> &
  Pick<Unjoined, 'own'> &
  Pick<Before, 'inside'> & { readonly earlier: readonly Json[] }

/** The items, with each name replaced by what it names; undefined when the request names nothing. */
const resolved = async (
  gateway: Gateway,
  loading: Loading,
  { form, earlier, own, inside }: ToResolve,
): Promise<readonly Json[] | undefined | Refusal> => {
  const all = [...earlier, ...own]
  const names = all.flatMap((item) => nameOf(item) ?? [])
  if (names.length === 0) return earlier.length === 0 ? undefined : all
  const kept = await itemsNamed(gateway, loading, names.filter(isId))
  const found = all.map((item) => asSent(kept.get(nameOf(item) ?? '') ?? item))
  const missing = found.findIndex((item) => nameOf(item)?.startsWith('rs_') === false)
  if (missing < 0) return found
  const source = inside === undefined ? form.previous : 'conversation'
  const at = missing < earlier.length ? source : `input[${missing - earlier.length}]`
  return invalid(
    at,
    `'${at}' names the item '${nameOf(found[missing] ?? null)?.slice(0, 80)}', which is not kept here: nobody asked to keep it, ` +
      'it was deleted, or it has expired. Send the item itself.',
  )
}

type Chain = Pick<KeptResponse, 'state'> & {
  readonly own: readonly Json[]
  readonly previous?: string | undefined
}

/** Stores a response with the request's own items. */
const storing =
  (gateway: Gateway, { form, key, lifeMs }: For, { own, previous, state }: Chain) =>
  ({ [form.output]: output, ...body }: JsonObject): Promise<void> => {
    const kept: KeptResponse = {
      keyId: placeOf(key),
      id: String(body.id),
      previousId: previous,
      input: JSON.stringify(own),
      body: JSON.stringify(body),
      output: keptOutput(output),
      state,
    }
    return written(gateway, key, gateway.store.responses.keepResponse(kept, lifeMs))
  }

/** Adds the request's own items, and those of its answer, to their conversation. */
const adding =
  (
    gateway: Gateway,
    { key, lifeMs }: For,
    { id, own }: { readonly id: string; readonly own: readonly Json[] },
  ) =>
  async ({ output }: JsonObject): Promise<void> => {
    const items = asKept([...own, ...(Array.isArray(output) ? output : [])])
    const within = { lifeMs, bytesMax: gateway.options.bodyBytesMax }
    const added = gateway.store.responses.addItems({ keyId: placeOf(key), id, output: items }, within)
    const checked = added.then((how) => {
      if (how !== 'added') throw new Error(`the conversation is ${how}`)
    })
    await written(gateway, key, checked)
  }

/** A failure is only logged, and an answer does not wait for a ledger that is away: none is lost for it. */
const written = async (gateway: Gateway, key: Key, work: Promise<unknown>): Promise<void> => {
  const failed = work.catch((fault: unknown) =>
    gateway.log.warn('a response was not kept', { key: key.id, error: String(fault) }),
  )
  await Promise.race([failed, gateway.clock.sleep(KEEP_WAIT_MS)])
}

const KEEP_WAIT_MS = 2_000
