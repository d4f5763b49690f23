/** Responses, a vendor's events → steps in the neutral form. Source of the format: OpenAI API reference, "Streaming events". */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { UsageQuirks } from '../../metering/read-usage.ts'
import type { Piece } from '../neutral.ts'
import { numberOf, objectOf, textOf } from '../request/json-members.ts'
import { errorIn, isBlockedBy } from './fault.ts'
import { annotationsIn, calledBy, finishOf } from './read-reply.ts'
import { thoughtsOf } from './thoughts.ts'
import { readResponsesUsage } from './usage.ts'

/** Items that are passed on as they arrive, so that nothing is left to do at their end. */
const passedOn: ReadonlySet<unknown> = new Set(['message', 'function_call'])

/** Makes a reader for one stream. */
export const responsesStreamReader = (
  newId: () => string,
  quirks: UsageQuirks,
): ((data: string) => readonly Piece[]) => {
  let started = false
  /** The number of each call, by its place among the items. */
  const calls = new Map<number, number>()
  /** The length of all text so far, and of the text before the present part. */
  let length = 0
  let before = 0
  /** Whether any text of the present item's thought has been sent. */
  let thought = false

  const itemAdded = (item: JsonObject, at: number): readonly Piece[] => {
    thought = false
    if (item.type !== 'function_call') return []
    const index = calls.size
    calls.set(at, index)
    return [{ type: 'tool', choice: 0, index, ...calledBy(item, newId) }]
  }
  const itemDone = (item: JsonObject): readonly Piece[] => {
    if (passedOn.has(item.type)) return []
    if (item.type !== 'reasoning') return [{ type: 'not_carried', name: textOf(item.type) ?? 'item' }]
    return thoughtsOf(item).flatMap(({ text, signature, redacted }): Piece[] => [
      ...(text !== '' && !thought ? [{ type: 'thinking' as const, choice: 0, text }] : []),
      ...(signature === undefined
        ? []
        : [{ type: 'signature' as const, choice: 0, signature, ...(redacted === true ? { redacted } : {}) }]),
    ])
  }
  const think = (text: string): readonly Piece[] => {
    if (text === '') return []
    thought = true
    return [{ type: 'thinking', choice: 0, text }]
  }
  const ended = (response: JsonObject): readonly Piece[] => {
    const usage = isObject(response.usage) ? readResponsesUsage(response.usage, quirks) : undefined
    return [
      ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
      { type: 'finish', choice: 0, finish: finishOf(response, calls.size > 0) },
      { type: 'end' },
    ]
  }
  const failed = (event: JsonObject): readonly Piece[] => {
    const error = errorIn(event)
    return isBlockedBy(error) ? [{ type: 'blocked' }] : [{ type: 'error', error }]
  }
  const say = (type: 'text' | 'refusal', text: string): readonly Piece[] => {
    if (type === 'text') length += text.length
    return text === '' ? [] : [{ type, choice: 0, text }]
  }

  const piecesOf = (event: JsonObject): readonly Piece[] => {
    const delta = textOf(event.delta) ?? ''
    const at = numberOf(event.output_index) ?? 0
    switch (event.type) {
      case 'response.output_item.added':
        return itemAdded(objectOf(event.item), at)
      case 'response.output_item.done':
        return itemDone(objectOf(event.item))
      case 'response.content_part.added':
        before = length
        return []
      case 'response.output_text.delta':
        return say('text', delta)
      case 'response.refusal.delta':
        return say('refusal', delta)
      case 'response.reasoning_summary_part.added':
        return (numberOf(event.summary_index) ?? 0) > 0 ? think('\n\n') : []
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return think(delta)
      case 'response.function_call_arguments.delta': {
        const index = calls.get(at)
        return index === undefined ? [] : [{ type: 'arguments', choice: 0, index, text: delta }]
      }
      case 'response.output_text.annotation.added': {
        const { citations, notCarried } = annotationsIn([objectOf(event.annotation)], before)
        const cited = citations.map((citation): Piece => ({ type: 'citation', choice: 0, citation }))
        return notCarried ? [...cited, { type: 'not_carried', name: 'citations' }] : cited
      }
      case 'response.completed':
      case 'response.incomplete':
        return ended(objectOf(event.response))
      case 'response.failed':
      case 'error':
        return failed(event)
      default:
        return []
    }
  }

  return (data) => {
    const event = data === '' || data === '[DONE]' ? undefined : parseJson(data)
    if (!isObject(event)) return []
    const pieces = piecesOf(event)
    if (started || !isObject(event.response)) return pieces
    started = true
    const { id, model } = event.response
    return [{ type: 'start', id: textOf(id) ?? '', model: textOf(model) ?? '' }, ...pieces]
  }
}
