/** Responses, steps in the neutral form → events for the caller. Source of the format: OpenAI API reference, "Streaming events". */
import type { JsonObject } from '../../core/json-body.ts'
import { present } from '../json-members.ts'
import type { Citation, Finish, Image, Piece, Thinking, ToolCall } from '../neutral.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { costComment, keepAlive, membersSlot, withBill } from '../told.ts'
import { keptMembers } from './kept.ts'
import {
  annotationOf,
  callItem,
  imageItem,
  messageItem,
  reasoningItem,
  responseId,
  responseObject,
  type Status,
  statusOf,
  textContent,
} from './reply.ts'
import { type Declared, declaredTools } from './tools.ts'
import { responsesUsage } from './usage.ts'

/** The item that is being said, gathered for the event that ends it. */
type Open =
  | {
      readonly kind: 'message'
      readonly declines: boolean
      text: string
      cited: Citation[]
      readonly from: number
    }
  | { readonly kind: 'reasoning'; thoughts: Thinking[] }
  | { readonly kind: 'call'; call: ToolCall }

const itemPrefixes = { message: 'msg', reasoning: 'rs', call: 'fc' } as const

export const responsesStreamWriter = (context: WriterContext): StreamWriter => {
  const declared = declaredTools(context.request)
  const done: JsonObject[] = []
  let id = responseId(context.requestId)
  let model = context.modelName
  let sequence = 0
  let begun = false
  let open: Open | undefined
  /** Length of all text so far: places in it count from its start, and in a message from the message's. */
  let length = 0
  let finish: Finish = 'stop'

  const event = (type: string, members: JsonObject, more = ''): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...members }).slice(0, -1)}${more}}\n\n`
  const response = (status: Status) => responseObject(context, { id, model, status, finish }, done)
  const begin = (): string => {
    if (begun) return ''
    begun = true
    return (
      event('response.created', { response: response('in_progress') }) +
      event('response.in_progress', { response: response('in_progress') })
    )
  }
  const itemId = (kind: Open['kind']) => `${itemPrefixes[kind]}_${id.slice('resp_'.length)}_${done.length}`
  const at = (kind: Open['kind']) => ({ item_id: itemId(kind), output_index: done.length })
  const add = (next: Open, item: JsonObject): string => {
    const before = begin() + close()
    open = next
    return before + event('response.output_item.added', { output_index: done.length, item })
  }
  const close = (): string => {
    if (open === undefined) return ''
    const { text, item } = closing(open, itemId(open.kind), { at: at(open.kind), event, declared })
    const end = event('response.output_item.done', { output_index: done.length, item })
    done.push(item)
    open = undefined
    return text + end
  }
  const startMessage = (declines: boolean): string => {
    if (open?.kind === 'message' && open.declines === declines) return ''
    const next: Open = { kind: 'message', declines, text: '', cited: [], from: length }
    const before = begin() + close()
    return (
      before +
      add(next, messageItem(itemId('message'), [], 'in_progress')) +
      event('response.content_part.added', { ...at('message'), content_index: 0, part: partOf(next) })
    )
  }
  const startReasoning = (): string => {
    if (open?.kind === 'reasoning') return ''
    const before = begin() + close()
    return (
      before +
      add({ kind: 'reasoning', thoughts: [] }, reasoningItem(itemId('reasoning'), [])) +
      event('response.reasoning_summary_part.added', {
        ...at('reasoning'),
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      })
    )
  }

  const picture = (image: Image): string => {
    const before = begin() + close()
    const item = imageItem(`ig_${id.slice('resp_'.length)}_${done.length}`, image)
    const at = { output_index: done.length }
    const begun = { ...item, status: 'in_progress', result: null }
    done.push(item)
    return (
      before +
      event('response.output_item.added', { ...at, item: begun }) +
      event('response.output_item.done', { ...at, item })
    )
  }

  const cite = (citation: Citation): string => {
    const start = startMessage(false)
    if (open?.kind !== 'message') return start
    const { from, text, cited } = open
    const place = (at: number) => Math.min(Math.max(at - from, 0), text.length)
    const own = { ...citation, from: place(citation.from), to: place(citation.to) }
    const annotation_index = cited.push(own) - 1
    const annotation = annotationOf(own)
    return (
      start +
      event('response.output_text.annotation.added', {
        ...at('message'),
        content_index: 0,
        annotation_index,
        annotation,
      })
    )
  }

  const write = (piece: Piece): string => {
    // There is one answer here; others were not asked for.
    if ('choice' in piece && piece.choice > 0) return ''
    switch (piece.type) {
      case 'start':
        id = responseId(piece.id || context.requestId)
        model = piece.model || context.modelName
        return begin()
      case 'text':
      case 'refusal': {
        const declines = piece.type === 'refusal'
        const start = startMessage(declines)
        if (open?.kind === 'message') open.text += piece.text
        if (!declines) length += piece.text.length
        const name = declines ? 'response.refusal.delta' : 'response.output_text.delta'
        const logprobs = declines ? {} : { logprobs: [] }
        return start + event(name, { ...at('message'), content_index: 0, delta: piece.text, ...logprobs })
      }
      case 'thinking': {
        const start = startReasoning()
        if (open?.kind === 'reasoning') addThought(open.thoughts, piece.text)
        const told = { ...at('reasoning'), summary_index: 0, delta: piece.text }
        return start + event('response.reasoning_summary_text.delta', told)
      }
      case 'signature': {
        const start = startReasoning()
        if (open?.kind === 'reasoning') signThought(open.thoughts, piece)
        return start
      }
      case 'image':
        return picture(piece.image)
      case 'citation':
        return cite(piece.citation)
      case 'tool': {
        const { id: callId, name, signature } = piece
        const call = present({ type: 'tool_call' as const, id: callId, name, arguments: '', signature })
        const before = begin() + close()
        return before + add({ kind: 'call', call }, callItem(itemId('call'), call, declared, 'in_progress'))
      }
      case 'arguments': {
        if (open?.kind !== 'call') return ''
        open.call = { ...open.call, arguments: open.call.arguments + piece.text }
        // The text of a free-text tool is known only when its wrapping is complete.
        return declared.get(open.call.name)?.custom === true
          ? ''
          : event('response.function_call_arguments.delta', { ...at('call'), delta: piece.text })
      }
      case 'finish':
        finish = piece.finish
        return ''
      case 'ping':
        return keepAlive
      default:
        return ''
    }
  }
  return {
    write,
    end: ({ usage, bill, cut, kept }) => {
      if (cut) finish = 'length'
      const before = begin() + close()
      const status = statusOf(finish)
      const { usage: _none, ...told } = response(status)
      const rest = { ...told, ...keptMembers(kept) }
      const whole = `,"response":${JSON.stringify(rest).slice(0, -1)},"usage":${withBill(responsesUsage(usage), bill)}${membersSlot}}`
      return before + costComment(bill) + event(`response.${status}`, {}, whole)
    },
    fail: (error) => {
      const told = { code: error.code ?? null, message: error.message ?? '' }
      const failed = { ...response('failed'), error: told }
      return (
        begin() + event('error', { ...told, param: null }) + event('response.failed', { response: failed })
      )
    },
  }
}

const addThought = (thoughts: Thinking[], text: string): void => {
  const last = thoughts.at(-1)
  if (last !== undefined && last.signature === undefined)
    thoughts[thoughts.length - 1] = { ...last, text: last.text + text }
  else thoughts.push({ type: 'thinking', text })
}

const signThought = (thoughts: Thinking[], { signature, redacted }: Piece & { type: 'signature' }): void => {
  const last = thoughts.at(-1)
  if (redacted !== true && last !== undefined && last.signature === undefined)
    thoughts[thoughts.length - 1] = { ...last, signature }
  else thoughts.push({ type: 'thinking', text: '', signature, ...(redacted === true ? { redacted } : {}) })
}

const partOf = ({ declines, text, cited }: Open & { kind: 'message' }): JsonObject =>
  declines ? { type: 'refusal', refusal: text } : textContent(text, cited)

type Closing = {
  readonly at: JsonObject
  readonly event: (type: string, members: JsonObject) => string
  readonly declared: Declared
}

/** The events that complete an item's content, and the whole item. */
const closing = (
  open: Open,
  id: string,
  { at, event, declared }: Closing,
): { text: string; item: JsonObject } => {
  switch (open.kind) {
    case 'message': {
      const part = partOf(open)
      const name = open.declines ? 'response.refusal.done' : 'response.output_text.done'
      const said = open.declines ? { refusal: open.text } : { text: open.text, logprobs: [] }
      return {
        text:
          event(name, { ...at, content_index: 0, ...said }) +
          event('response.content_part.done', { ...at, content_index: 0, part }),
        item: messageItem(id, [part], 'completed'),
      }
    }
    case 'reasoning': {
      const text = open.thoughts.map((thought) => thought.text).join('')
      return {
        text:
          event('response.reasoning_summary_text.done', { ...at, summary_index: 0, text }) +
          event('response.reasoning_summary_part.done', {
            ...at,
            summary_index: 0,
            part: { type: 'summary_text', text },
          }),
        item: reasoningItem(id, open.thoughts),
      }
    }
    case 'call': {
      const call = open.call.arguments === '' ? { ...open.call, arguments: '{}' } : open.call
      const item = callItem(id, call, declared, 'completed')
      const text =
        declared.get(call.name)?.custom === true
          ? event('response.custom_tool_call_input.delta', { ...at, delta: item.input ?? '' }) +
            event('response.custom_tool_call_input.done', { ...at, input: item.input ?? '' })
          : event('response.function_call_arguments.done', { ...at, arguments: call.arguments })
      return { text, item }
    }
  }
}
