/**
 * Responses that name earlier ones. If the operator set RESPONSES_STORE, a response is kept for the key that asked for
 * that. A request that names one is completed before anything else reads it, so every vendor is asked with the whole
 * conversation.
 */
import { bodyOf, isObject, type Json, type JsonBody, type JsonObject, parseJson } from '../core/json-body.ts'
import { invalid, must, type Refusal, refuse } from '../core/refusal.ts'
import type { KeptAnswer } from '../dialects/bill-members.ts'
import { type Key, placeOf } from '../tenancy/key.ts'
import type { Gateway } from './gateway.ts'

/** What to keep of a call once it is answered. */
export type Memory = KeptAnswer & {
  /** Keeps the response whose object or event is in the text. A failure is only logged: no answer is lost for it. */
  readonly keep: (answer: string) => Promise<void>
}

type Recalled = { readonly body: JsonBody; readonly memory: Memory | undefined }

/**
 * The request with everything it names put in place, and what to keep of it. Throws the Refusal when something is not
 * kept.
 */
export const recall = async (gateway: Gateway, key: Key | undefined, sent: JsonBody): Promise<Recalled> => {
  // Calls that bring their payment have no key to keep anything for.
  const lifeMs = gateway.options.responsesKeptMs
  if (lifeMs === 0 || key === undefined) return { body: sent, memory: undefined }
  const { store: stores, previous_response_id: named, ...rest } = sent.value
  const previous = typeof named === 'string' && named !== '' ? named : undefined
  const own = itemsOf(rest.input)
  const before = previous === undefined ? [] : must(await conversation(gateway, { key, lifeMs }, previous))
  const input = must(await resolved(gateway, key, before, own))
  const body =
    input === undefined ? sent : bodyOf({ ...rest, input, ...(stores === false ? { store: false } : {}) })
  if (body.bytes.length > gateway.options.bodyBytesMax) throw tooLong()
  const memory = stores === false ? undefined : memoryOf(gateway, { key, lifeMs }, previous, own)
  return { body, memory }
}

/** A plain text is a message of the user. */
const itemsOf = (input: Json | undefined): readonly Json[] =>
  typeof input === 'string'
    ? [{ type: 'message', role: 'user', content: input }]
    : Array.isArray(input)
      ? input
      : []

/** Whose responses are kept, and for how long. */
type For = { readonly key: Key; readonly lifeMs: number }

const conversation = async (
  { store, options }: Gateway,
  { key, lifeMs }: For,
  id: string,
): Promise<readonly Json[] | Refusal> => {
  const parts = await store.responses.conversation(placeOf(key), id, {
    lifeMs,
    bytesMax: options.bodyBytesMax,
  })
  return parts === undefined
    ? invalid(
        'previous_response_id',
        `The response '${id.slice(0, 80)}' or one before it is not kept here: nobody asked to keep it, it was deleted, or it ` +
          "has expired; or the conversation is larger than the server accepts. Send what is needed of it in 'input'.",
      )
    : parts.flatMap((part) => parseJson(part) ?? [])
}

const nameOf = (item: Json): string | undefined => {
  if (!isObject(item) || typeof item.id !== 'string') return undefined
  const refers = item.type === 'item_reference' || (item.type === undefined && item.role === undefined)
  return refers ? item.id : undefined
}

/** The items, with each name replaced by what it names; undefined when the request names nothing. */
const resolved = async (
  { store }: Gateway,
  key: Key,
  before: readonly Json[],
  own: readonly Json[],
): Promise<readonly Json[] | undefined | Refusal> => {
  const all = [...before, ...own]
  const names = all.flatMap((item) => nameOf(item) ?? [])
  if (names.length === 0) return before.length === 0 ? undefined : all
  const kept = await store.responses.keptItems(placeOf(key), names)
  const found = all.map((item): Json => {
    const text = kept.get(nameOf(item) ?? '')
    return text === undefined ? item : (parseJson(text) ?? item)
  })
  const missing = found.findIndex((item) => nameOf(item)?.startsWith('rs_') === false)
  if (missing < 0) return found
  const at = missing < before.length ? 'previous_response_id' : `input[${missing - before.length}]`
  return invalid(
    at,
    `'${at}' names the item '${nameOf(found[missing] ?? null)?.slice(0, 80)}', which is not kept here: nobody asked to keep it, ` +
      'it was deleted, or it has expired. Send the item itself.',
  )
}

const memoryOf = (
  gateway: Gateway,
  { key, lifeMs }: For,
  previous: string | undefined,
  own: readonly Json[],
): Memory => ({
  ...(previous === undefined ? {} : { previous }),
  keep: async (answer) => {
    const response = responseIn(answer)
    if (response === undefined) return
    const { output, ...body } = response
    const items = Array.isArray(output) ? output.filter(isObject) : []
    const kept = gateway.store.responses.keepResponse(
      {
        keyId: placeOf(key),
        id: String(response.id),
        previousId: previous,
        input: JSON.stringify(own),
        body: JSON.stringify(body),
        output: items.map((item) => ({ id: String(item.id ?? ''), body: JSON.stringify(item) })),
      },
      lifeMs,
    )
    const failed = kept.catch((fault: unknown) =>
      gateway.log.warn('a response was not kept', { key: key.id, error: String(fault) }),
    )
    // An answer does not wait for a ledger that is away.
    await Promise.race([failed, gateway.clock.sleep(KEEP_WAIT_MS)])
  },
})

const KEEP_WAIT_MS = 2_000

/** The response object of a whole answer, or of the event that ends a stream. */
const responseIn = (answer: string): JsonObject | undefined => {
  if (answer.startsWith('{')) return named(parseJson(answer))
  for (const line of answer.split('\n')) {
    const event = line.startsWith('data: ') ? parseJson(line.slice('data: '.length)) : undefined
    const response = isObject(event) ? named(event.response) : undefined
    if (response !== undefined) return response
  }
  return undefined
}

const named = (value: Json | undefined): JsonObject | undefined =>
  isObject(value) && typeof value.id === 'string' ? value : undefined

const tooLong = (): Refusal =>
  refuse('request_too_large', 'The conversation with all that it names is larger than the server accepts.')
