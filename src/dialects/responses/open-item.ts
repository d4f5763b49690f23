/** Responses, the open item of a stream: what is gathered for it, and the events that begin and complete it. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Citation, Piece, Thinking, ToolCall } from '../neutral.ts'
import { callItem, compactionItem, messageItem, reasoningItem, statusOf, textContent } from './reply.ts'
import type { StreamFrame } from './stream-frame.ts'
import type { Declared } from './tools.ts'

export type OpenMessage = {
  readonly kind: 'message'
  readonly declines: boolean
  text: string
  readonly cited: Citation[]
  /** The length of all text before it: positions of citations count from the start of all text. */
  readonly from: number
}

export type OpenReasoning = { readonly kind: 'reasoning'; readonly thoughts: Thinking[] }

/** A summary is sealed as a whole, when it is complete. */
type OpenSummary = { readonly kind: 'summary'; readonly text: string }

export type OpenItem = OpenMessage | OpenReasoning | OpenSummary | { readonly kind: 'call'; call: ToolCall }

const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text })

const partOf = ({ declines, text, cited }: OpenMessage): JsonObject =>
  declines ? { type: 'refusal', refusal: text } : textContent(text, cited)

/** The events that begin an item: the item and, if items of its kind have parts, its one part. */
export const begun = (open: OpenItem, frame: StreamFrame, declared: Declared): string => {
  const id = frame.itemId(open.kind)
  switch (open.kind) {
    case 'message': {
      const part = { ...frame.place('message'), content_index: 0, part: partOf(open) }
      return (
        frame.itemAdded(messageItem(id, [], 'in_progress')) + frame.event('response.content_part.added', part)
      )
    }
    case 'reasoning': {
      const part = { ...frame.place('reasoning'), summary_index: 0, part: summaryPart('') }
      return (
        frame.itemAdded(reasoningItem(id, [])) + frame.event('response.reasoning_summary_part.added', part)
      )
    }
    case 'summary':
      return frame.itemAdded(compactionItem(id, ''))
    case 'call':
      return frame.itemAdded(callItem(id, open.call, declared, 'in_progress'))
  }
}

/** The events that complete an item: its content, and the whole item. */
export const completed = (open: OpenItem, frame: StreamFrame, declared: Declared): string => {
  const id = frame.itemId(open.kind)
  switch (open.kind) {
    case 'message':
      return (
        contentDone(open, frame) + frame.itemDone(messageItem(id, [partOf(open)], statusOf(frame.finish)))
      )
    case 'reasoning': {
      const at = { ...frame.place('reasoning'), summary_index: 0 }
      const text = open.thoughts.map((thought) => thought.text).join('')
      return (
        frame.event('response.reasoning_summary_text.done', { ...at, text }) +
        frame.event('response.reasoning_summary_part.done', { ...at, part: summaryPart(text) }) +
        frame.itemDone(reasoningItem(id, open.thoughts))
      )
    }
    case 'summary':
      return frame.itemDone(compactionItem(id, frame.seal(open.text)))
    case 'call': {
      const call = open.call.arguments === '' ? { ...open.call, arguments: '{}' } : open.call
      const item = callItem(id, call, declared, statusOf(frame.finish))
      return argumentsDone(call, item, frame, declared) + frame.itemDone(item)
    }
  }
}

const contentDone = (open: OpenMessage, frame: StreamFrame): string => {
  const at = { ...frame.place('message'), content_index: 0 }
  const name = open.declines ? 'response.refusal.done' : 'response.output_text.done'
  const said = open.declines ? { refusal: open.text } : { text: open.text, logprobs: [] }
  return (
    frame.event(name, { ...at, ...said }) +
    frame.event('response.content_part.done', { ...at, part: partOf(open) })
  )
}

const argumentsDone = (call: ToolCall, item: JsonObject, frame: StreamFrame, declared: Declared): string => {
  const at = frame.place('call')
  if (declared.get(call.name)?.custom !== true)
    return frame.event('response.function_call_arguments.done', { ...at, arguments: call.arguments })
  const input = item.input ?? ''
  return (
    frame.event('response.custom_tool_call_input.delta', { ...at, delta: input }) +
    frame.event('response.custom_tool_call_input.done', { ...at, input })
  )
}

/** Adds text to the last thought; a signed thought is complete, so another begins. */
export const addThought = (thoughts: Thinking[], text: string): void => {
  const last = thoughts.at(-1)
  if (last !== undefined && last.signature === undefined)
    thoughts[thoughts.length - 1] = { ...last, text: last.text + text }
  else thoughts.push({ type: 'thinking', text })
}

export const signThought = (
  thoughts: Thinking[],
  { signature, redacted }: Piece & { type: 'signature' },
): void => {
  const last = thoughts.at(-1)
  if (redacted !== true && last !== undefined && last.signature === undefined)
    thoughts[thoughts.length - 1] = { ...last, signature }
  else thoughts.push({ type: 'thinking', text: '', signature, ...(redacted === true ? { redacted } : {}) })
}
