/**
 * Chat completions, the answer as a stream: events pass through as the bytes they came in, and the meter reads along.
 * The usage event and the final `[DONE]` are held back: they are written when the charge is durable.
 * Source of the format: OpenAI API reference, "The chat completion chunk object".
 */
import { isObject, type Json, type JsonObject, parseJson } from '../core/json-body.ts'
import { type Bill, messageCharacters, type Totals, usageText } from './chat-reply.ts'

/** What the meter knows of a stream so far. */
export type ChatStreamState = {
  /** The vendor's last usage object, as it came, and the event that carried it (some vendors keep usage elsewhere in it). */
  usage: JsonObject | undefined
  /** Events with content: at least one token each. */
  contentEvents: number
  characters: number
  finished: boolean
  done: boolean
  /** The vendor's error inside the stream. */
  error: JsonObject | undefined
  /** Identity of the stream, repeated in the events Turnpike writes itself. */
  head: { id: Json; created: Json; model: Json }
}

/** Reads the usage of one event; vendors that keep it elsewhere bring their own. */
export type UsageFinder = (event: JsonObject) => JsonObject | undefined

const encoder = new TextEncoder()

export const newChatStream = (): ChatStreamState => ({
  usage: undefined,
  contentEvents: 0,
  characters: 0,
  finished: false,
  done: false,
  error: undefined,
  head: { id: null, created: 0, model: null },
})

/** Takes one event and returns what goes to the caller: the event's own bytes, others, or nothing. */
export const followChatEvent = (
  state: ChatStreamState,
  event: { readonly bytes: Uint8Array; readonly data: string },
  findUsage: UsageFinder,
): Uint8Array | undefined => {
  const { data, bytes } = event
  if (data === '') return bytes
  if (data === '[DONE]') {
    state.done = true
    return undefined
  }
  const value = parseJson(data)
  if (!isObject(value)) return bytes
  if (isObject(value.error)) {
    state.error = value.error
    return undefined
  }
  if (state.head.id === null && value.id !== undefined)
    state.head = { id: value.id, created: value.created ?? 0, model: value.model ?? null }
  const spoken = followChoices(state, value.choices)
  const usage = findUsage(value)
  if (usage === undefined) return bytes
  state.usage = usage
  if (!spoken) return undefined
  return isObject(value.usage) ? eventBytes({ ...value, usage: undefined }) : bytes
}

/** Notes what the choices bring; false when the event has none, so that it carries only usage. */
const followChoices = (state: ChatStreamState, choices: Json | undefined): boolean => {
  if (!Array.isArray(choices) || choices.length === 0) return false
  for (const choice of choices) {
    if (!isObject(choice)) continue
    const characters = messageCharacters(choice.delta)
    if (characters > 0) {
      state.characters += characters
      state.contentEvents++
    }
    if (typeof choice.finish_reason === 'string') state.finished = true
  }
  return true
}

const eventBytes = (value: JsonObject): Uint8Array => encoder.encode(`data: ${JSON.stringify(value)}\n\n`)

/** The event that ends a stream at a bound of money: the caller sees a length stop, as for any bound on the output. */
export const lengthStopEvent = (state: ChatStreamState): Uint8Array =>
  eventBytes({
    ...state.head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: {}, finish_reason: 'length' }],
  })

/** An error inside a stream, as the official clients expect it. */
export const errorEvent = (error: JsonObject): Uint8Array => eventBytes({ error })

/**
 * What ends a stream once it is paid: the usage event if the caller asked for it, the cost as a comment that clients
 * skip (headers have gone out long before), and `[DONE]`.
 */
export const tailEvents = (
  state: ChatStreamState,
  shown: { totals: Totals; bill: Bill; extra: string } | undefined,
  cost: string,
): Uint8Array => {
  let text = ''
  if (shown) {
    const head = JSON.stringify({ ...state.head, object: 'chat.completion.chunk', choices: [] })
    text += `data: ${head.slice(0, -1)},"usage":${usageText(state.usage, shown.totals, shown.bill)}${shown.extra}}\n\n`
  }
  return encoder.encode(`${text}: x-cost-usd: ${cost}\n\ndata: [DONE]\n\n`)
}
