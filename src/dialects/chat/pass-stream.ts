/**
 * Chat completions, streams to callers of the same dialect: events pass through as the bytes they arrived in, and the
 * meter reads along. The usage event and the final `[DONE]` are held back and written once the charge is durable.
 * Source of the format: OpenAI API reference, "The chat completion chunk object".
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { costComment, membersSlot, withBill } from '../bill-members.ts'
import {
  newProgress,
  noteChoice,
  openChoices,
  type Progress,
  type StreamRelay,
  type VendorEvent,
} from '../relay.ts'
import type { Ending } from '../stream-writer.ts'
import { contentOf, type EventShape, knownEvent, shapeOf } from './event-shape.ts'
import { messageLetters } from './pass.ts'
import { chatUsage, indexOf } from './reply.ts'

const encoder = new TextEncoder()

/** How to find and read the vendor's usage in an event. */
type UsageReader = {
  readonly find: (event: JsonObject) => JsonObject | undefined
  readonly read: (raw: JsonObject) => Usage | undefined
}

/** In a stream whose events never share a shape, we look for one at most this many times. */
const SHAPES_SOUGHT_MAX = 8

type Head = { readonly id: Json; readonly created: Json; readonly model: Json }

export const chatRelay = (reader: UsageReader): StreamRelay => {
  const progress = newProgress()
  /** The stream's identity, repeated in the events that Turnpike writes itself. */
  let head: Head = { id: null, created: 0, model: null }
  let reported: JsonObject | undefined
  let shape: EventShape | undefined
  let sought = 0
  /** The shape of an event that contains only content, from the middle of the stream. */
  const learnShape = ({ bytes, data }: VendorEvent, value: JsonObject, letters: number): void => {
    const content = contentOf(value)
    if (letters === 0 || content === undefined || lettersIn(content) !== letters || progress.finished) return
    if (sought++ < SHAPES_SOUGHT_MAX) shape = shapeOf(bytes, data, content) ?? shape
  }
  return {
    progress,
    skip: (bytes, start) => {
      const known = shape && knownEvent(bytes, start, shape)
      if (known === undefined) return -1
      noteText(progress, known.letters)
      return known.end
    },
    follow: (event) => {
      const { data, bytes } = event
      if (data === '') return bytes
      if (data === '[DONE]') {
        progress.done = true
        return undefined
      }
      const value = parseJson(data)
      if (!isObject(value)) return bytes
      if (isObject(value.error)) {
        progress.error = value.error
        return undefined
      }
      // Azure's verdict on the prompt comes first, in an event without a name: the answer begins after it.
      if (!head.id && value.id !== undefined) {
        progress.begun ||= value.id !== ''
        head = { id: value.id, created: value.created ?? 0, model: value.model ?? null }
      }
      const seen = progress.letters
      const spoken = followChoices(progress, value.choices)
      const usage = reader.find(value)
      if (usage === undefined) {
        learnShape(event, value, progress.letters - seen)
        return bytes
      }
      reported = usage
      if (!spoken) return undefined
      return isObject(value.usage) ? eventBytes({ ...value, usage: undefined }) : bytes
    },
    usage: () => (reported === undefined ? undefined : reader.read(reported)),
    end: (ending) =>
      cutText(head, ending.cut ? openChoices(progress) : []) + tailText(head, reported, ending),
    fail: (error) => eventText({ error }),
  }
}

const noteText = (progress: Progress, letters: number): void => {
  if (letters === 0) return
  progress.letters += letters
  progress.contentEvents++
  progress.begun = true
}

/** Counts what the choices contain; false when the event has none and carries only usage. */
const followChoices = (progress: Progress, choices: Json | undefined): boolean => {
  if (!Array.isArray(choices) || choices.length === 0) return false
  for (const choice of choices) {
    if (!isObject(choice)) continue
    noteText(progress, messageLetters(choice.delta))
    noteChoice(progress, indexOf(choice), typeof choice.finish_reason === 'string')
  }
  return true
}

const eventText = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`
const eventBytes = (value: JsonObject): Uint8Array => encoder.encode(eventText(value))

/** The end of choices for which the money ran out. */
const cutText = (head: Head, choices: readonly number[]): string =>
  choices
    .map((index) => {
      const choice = { index, delta: {}, finish_reason: 'length' }
      return eventText({ ...head, object: 'chat.completion.chunk', choices: [choice] })
    })
    .join('')

/** The usage event if the caller asked for it, the cost as a comment, and `[DONE]`. */
const tailText = (
  head: Head,
  reported: JsonObject | undefined,
  { bill, showUsage, usage }: Ending,
): string => {
  const done = `${costComment(bill)}data: [DONE]\n\n`
  if (!showUsage) return done
  const { cost: _cost, cost_details: _details, ...counts } = reported ?? chatUsage(usage)
  const open = JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [] }).slice(0, -1)
  return `data: ${open},"usage":${withBill(counts, bill)}${membersSlot}}\n\n${done}`
}
