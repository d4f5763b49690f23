/**
 * Responses, streams to callers of the same dialect: events pass through as the bytes they arrived in, and the meter
 * reads along. The last event contains the usage, so it is held back until the charge is durable. Source of the format:
 * OpenAI API reference, "Streaming events".
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import type { UsageQuirks } from '../../metering/read-usage.ts'
import { costComment, membersSlot } from '../bill-members.ts'
import { newProgress, type Progress, type StreamRelay } from '../relay.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { Ending } from '../stream-writer.ts'
import type { Quirks } from '../translate/vendor-call.ts'
import { withMaker } from './compaction.ts'
import { errorIn, isBlockedBy } from './fault.ts'
import { usageText } from './pass-reply.ts'
import { keptMembers, textContent } from './reply.ts'
import { usageOfResponse } from './usage.ts'

export const responsesRelay = (quirks: UsageQuirks & Pick<Quirks, 'compacts'>): StreamRelay => {
  const progress = newProgress()
  /** The response as in its first event, its completed items, and the response as in its last event. */
  let head: JsonObject = {}
  const items: JsonObject[] = []
  let last: JsonObject | undefined
  /** The event that began the item in progress, and the text of it. */
  let open: JsonObject = {}
  let said = ''
  let sequence = -1
  const count = (text: string) => {
    if (text === '') return
    progress.begun = true
    progress.letters += lettersIn(text)
    progress.contentEvents++
  }
  const made = (item: JsonObject): JsonObject =>
    quirks.compacts === undefined ? item : withMaker(item, quirks.compacts)
  /** False when the event waits for the end. */
  const passes = (event: JsonObject): boolean => {
    const type = textOf(event.type) ?? ''
    if (type.endsWith('.delta')) {
      if (type.startsWith('response.reasoning')) progress.thought = true
      const delta = textOf(event.delta) ?? ''
      if (type === 'response.output_text.delta') said += delta
      count(delta)
      return true
    }
    switch (type) {
      case 'response.created':
        head = objectOf(event.response)
        return true
      case 'response.output_item.added': {
        const item = objectOf(event.item)
        progress.begun = true
        open = event
        said = ''
        if (item.type === 'reasoning') progress.thought = true
        count(textOf(item.name) ?? '')
        return true
      }
      case 'response.output_item.done':
        items.push(made(objectOf(event.item)))
        said = ''
        return true
      case 'response.completed':
      case 'response.incomplete':
        progress.begun = true
        progress.finished = true
        progress.done = true
        last = withOutput(event, made)
        return false
      case 'response.failed':
      case 'error':
        last = event
        noteFault(progress, errorIn(event))
        return false
      default:
        return true
    }
  }
  /** Ends the message in progress: what was said of it is part of the answer. */
  const close = (): string => {
    if (said === '') return ''
    const { output_index = 0, item } = open
    const part = textContent(said, [])
    const message = { ...objectOf(item), status: 'incomplete', content: [part] }
    const at = { item_id: objectOf(item).id ?? '', output_index, content_index: 0 }
    items.push(message)
    return [
      { type: 'response.output_text.done', ...at, text: said, logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
      { type: 'response.output_item.done', output_index, item: message },
    ]
      .map((event) => eventText({ ...event, sequence_number: ++sequence }))
      .join('')
  }
  return {
    progress,
    follow: ({ bytes, data }) => {
      const event = data === '' || data === '[DONE]' ? undefined : parseJson(data)
      if (!isObject(event)) return bytes
      if (!passes(event)) return undefined
      sequence = numberOf(event.sequence_number) ?? sequence
      const item = objectOf(event.item)
      return item.type === 'compaction' ? encoder.encode(eventText({ ...event, item: made(item) })) : bytes
    },
    usage: () => usageOfResponse(objectOf(last?.response), quirks),
    end: (ending) =>
      last === undefined ? close() + endText(cut(head, items, sequence), ending) : endText(last, ending),
    fail: (error) => {
      const fault = { code: error.code ?? null, message: error.message ?? '' }
      const failed = { ...head, status: 'failed', error: fault, output: items }
      return (
        eventText({ type: 'error', sequence_number: ++sequence, ...fault, param: null }) +
        eventText({ type: 'response.failed', sequence_number: ++sequence, response: failed })
      )
    },
  }
}

const encoder = new TextEncoder()

/** The event that ends a stream, with its items changed. */
const withOutput = (event: JsonObject, change: (item: JsonObject) => JsonObject): JsonObject => {
  const response = objectOf(event.response)
  return Array.isArray(response.output)
    ? { ...event, response: { ...response, output: objectsOf(response.output).map(change) } }
    : event
}

/** Before anything was said a prompt may be refused; after that the answer has broken off. */
const noteFault = (progress: Progress, error: JsonObject): void => {
  if (!progress.begun && isBlockedBy(error)) progress.blocked = true
  else progress.error = error
  progress.begun = true
}

const eventText = (event: JsonObject, more = ''): string =>
  `event: ${textOf(event.type) ?? ''}\ndata: ${JSON.stringify(event).slice(0, -1)}${more}}\n\n`

/** The event that ends a stream because the money ran out. */
const cut = (head: JsonObject, output: readonly JsonObject[], sequence: number): JsonObject => ({
  type: 'response.incomplete',
  sequence_number: sequence + 1,
  response: {
    ...head,
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output,
  },
})

const endText = (event: JsonObject, ending: Ending): string => {
  const { response, ...rest } = event
  const { usage: _usage, ...members } = objectOf(response)
  const whole = { ...members, ...keptMembers(ending.kept) }
  const usage = usageText(objectOf(response), ending)
  const more = `,"response":${JSON.stringify(whole).slice(0, -1)},"usage":${usage}${membersSlot}}`
  return costComment(ending.bill) + eventText(rest, more)
}
