/**
 * Messages to callers of the same dialect: bytes pass through with a few members spliced in, and the meter reads along.
 * Source of the format: Anthropic API reference, "Create a Message" and "Streaming Messages".
 */
import type { Call } from '../../core/call.ts'
import {
  type Edits,
  isObject,
  type JsonBody,
  type JsonObject,
  parseJson,
  splice,
} from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, costComment, membersSlot, noBalance, withBill } from '../bill-members.ts'
import { newProgress, type StreamRelay } from '../relay.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { UNSET } from '../request/shape.ts'
import type { Target } from '../translate/vendor-call.ts'
import { compactsFrom, managesContext } from './betas.ts'
import { errorTypeOf } from './error.ts'
import { boundedTools } from './hosted-tools.ts'
import { merged } from './read-stream.ts'
import { messagesUsage, readMessagesUsage } from './reply.ts'
import { unpriced } from './request.ts'
import { messagesEvent } from './write-stream.ts'

/** The body to send. */
export const passMessagesCall = (call: Call, target: Target): Uint8Array =>
  splice(call.body, {
    ...withoutBetas(messagesNotCarried(call, target)),
    ...withoutUnset(call.body),
    ...(call.size.hosted === undefined ? {} : boundedTools(call.body)),
    model: JSON.stringify(target.model.upstreamName),
    ...(target.outputBound === undefined ? {} : { max_tokens: String(target.outputBound) }),
  })

/** What is written as not set would be refused by the vendor. */
const withoutUnset = ({ outline }: JsonBody): Edits =>
  Object.fromEntries(
    (['top_k', 'top_p'] as const).filter((name) => outline[name] === UNSET).map((name) => [name, undefined]),
  )

/**
 * Betas go into the header. Members that ask for nothing are dropped, because the vendor may know them only under a
 * beta.
 */
const withoutBetas = (names: readonly string[]): Edits => ({
  betas: undefined,
  anthropic_beta: undefined,
  ...Object.fromEntries(names.map((name) => [name, undefined])),
})

/** Members that are not carried: without its beta the vendor refuses to manage the context, and keeps all of it. */
export const messagesNotCarried = ({ body }: Call, { betas = [], quirks }: Target): readonly string[] => {
  const managed =
    managesContext(betas) && (quirks.compacts !== undefined || compactsFrom(body.outline) === undefined)
  const names: readonly string[] = managed ? unpriced : [...unpriced, 'context_management']
  return names.filter((name) => body.outline[name] !== undefined)
}

/**
 * The vendor's answer with the cost in its usage, and the model under the caller's name for it. A client does not send
 * thoughts back when another model answered than the one it asked, and without them the vendor refuses a loop of tools.
 */
export const addMessagesBill = (reply: JsonBody, billed: Billed, modelName: string): Uint8Array =>
  splice(reply, {
    model: JSON.stringify(modelName),
    usage: withBill(
      isObject(reply.value.usage) ? reply.value.usage : messagesUsage(billed.usage),
      billed.bill,
    ),
    ...noBalance,
  })

/** Letters in the answer's content. */
export const messagesLetters = (reply: JsonObject): number =>
  objectsOf(reply.content).reduce((sum, block) => sum + blockLetters(block), 0)

const isSearch = ({ type, name }: JsonObject): boolean => type === 'server_tool_use' && name === 'web_search'

const blockLetters = (block: JsonObject): number => {
  const text =
    textOf(block.text) ?? textOf(block.thinking) ?? textOf(block.partial_json) ?? textOf(block.content) ?? ''
  const called = block.input === undefined ? 0 : lettersIn(JSON.stringify(block.input))
  return lettersIn(text) + called + lettersIn(textOf(block.name) ?? '')
}

/**
 * The stream: everything passes except the first event, which names the model, and the last two, which wait for the
 * charge.
 */
export const messagesRelay = (modelName: string): StreamRelay => {
  const progress = newProgress()
  let usage: JsonObject | undefined
  let ending: JsonObject | undefined
  let open: number | undefined
  const note = (raw: unknown) => {
    if (isObject(raw)) usage = merged(usage ?? {}, raw)
  }
  let searches = 0
  const count = (letters: number) => {
    if (letters > 0) progress.contentEvents++
    progress.letters += letters
  }
  /** False when the event waits for the end. */
  const passes = (event: JsonObject): boolean => {
    switch (event.type) {
      case 'message_start':
        note(objectOf(event.message).usage)
        return true
      case 'content_block_start':
        progress.begun = true
        open = numberOf(event.index)
        // Until the end tells how many there were, in case that there is none.
        if (isSearch(objectOf(event.content_block)))
          note({ server_tool_use: { web_search_requests: ++searches } })
        if (/^(?:redacted_)?thinking$/.test(textOf(objectOf(event.content_block).type) ?? ''))
          progress.thought = true
        count(blockLetters({ ...objectOf(event.content_block), input: undefined }))
        return true
      case 'content_block_delta':
        count(blockLetters(objectOf(event.delta)))
        return true
      case 'content_block_stop':
        open = undefined
        return true
      case 'message_delta':
        progress.begun = true
        progress.finished = true
        note(event.usage)
        // It may come in several events, of which a later one repeats nothing of those before.
        ending =
          ending === undefined
            ? event
            : { ...event, delta: merged(objectOf(ending.delta), objectOf(event.delta)), usage: usage ?? null }
        return false
      case 'message_stop':
        progress.done = true
        return false
      case 'error':
        progress.error = objectOf(event.error)
        return false
      default:
        return true
    }
  }
  return {
    progress,
    follow: ({ bytes, data }) => {
      const event = data === '' ? undefined : parseJson(data)
      if (!isObject(event)) return bytes
      if (!passes(event)) return undefined
      return event.type === 'message_start' ? named(event, modelName) : bytes
    },
    usage: () => (usage === undefined ? undefined : readMessagesUsage(usage)),
    end: (billed) => {
      const cut: JsonObject = { delta: { stop_reason: 'max_tokens', stop_sequence: null } }
      const { type: _type, usage: last, ...rest } = billed.cut || ending === undefined ? cut : ending
      const counts = isObject(last) ? last : messagesUsage(billed.usage)
      const bill = `,"usage":${withBill(counts, billed.bill)}${membersSlot}`
      return (
        (open === undefined ? '' : messagesEvent('content_block_stop', { index: open })) +
        messagesEvent('message_delta', rest, bill) +
        costComment(billed.bill) +
        messagesEvent('message_stop', {})
      )
    },
    fail: (error) => messagesEvent('error', { error: { ...error, type: errorTypeOf(error) } }),
  }
}

/** The first event, with the model under the caller's name for it. */
const named = ({ type: _type, ...event }: JsonObject, modelName: string): Uint8Array => {
  const message = { ...objectOf(event.message), model: modelName }
  return new TextEncoder().encode(messagesEvent('message_start', { ...event, message }))
}
