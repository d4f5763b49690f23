/** Messages, steps in the neutral form → events for the caller. Source of the format: Anthropic API reference, "Streaming Messages". */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { costComment, membersSlot, withBill } from '../bill-members.ts'
import type { Finish, Piece } from '../neutral.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { idWith, unsigned, writeSignature } from '../translate/signatures.ts'
import { citationOf } from './citations.ts'
import { errorTypeOf } from './error.ts'
import { imageBlock, messagesUsage, reasonOf, summaryBlock } from './reply.ts'

export const messagesEvent = (type: string, members: JsonObject, more = ''): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members }).slice(0, -1)}${more}}\n\n`

type OpenBlock = {
  readonly kind: 'text' | 'thinking' | 'tool' | 'image' | 'hidden' | 'summary'
  readonly tool?: number
}

export const messagesStreamWriter = (context: WriterContext): StreamWriter => {
  let index = -1
  let open: OpenBlock | undefined
  let finish: Finish = 'stop'
  let stopSequence: string | undefined
  let begun = false
  let id = ''
  /** The input's usage as the vendor reported it before any text, for the first event. Without it: an estimate. */
  let early: Usage | undefined

  const begin = (): string => {
    if (begun) return ''
    begun = true
    const message = {
      id: id || `msg_${context.requestId}`,
      type: 'message',
      role: 'assistant',
      model: context.modelName,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...messagesUsage(early ?? { input: context.estimatedInput() }), output_tokens: 0 },
    }
    return messagesEvent('message_start', { message }) + messagesEvent('ping', {})
  }
  const close = (): string => {
    if (open === undefined) return ''
    const signature = writeSignature(unsigned, 'messages')
    // A thought that its vendor did not sign gets a mark, which shows later that it is another vendor's.
    const sign = open.kind === 'thinking' ? delta({ type: 'signature_delta', signature }) : ''
    open = undefined
    return sign + messagesEvent('content_block_stop', { index })
  }
  const start = (block: OpenBlock, content_block: JsonObject): string => {
    if (open?.kind === block.kind && open.tool === block.tool) return ''
    const before = begin() + close()
    open = block
    return before + messagesEvent('content_block_start', { index: ++index, content_block })
  }
  const delta = (content: JsonObject): string =>
    messagesEvent('content_block_delta', { index, delta: content })

  const write = (piece: Piece): string => {
    // This dialect has one answer; more were not requested.
    if ('choice' in piece && piece.choice > 0) return ''
    switch (piece.type) {
      case 'start':
        id = piece.id
        return ''
      case 'usage':
        early ??= piece.usage
        return ''
      case 'text':
      case 'refusal':
        return start({ kind: 'text' }, TEXT) + delta({ type: 'text_delta', text: piece.text })
      case 'thinking':
        return start({ kind: 'thinking' }, THINKING) + delta({ type: 'thinking_delta', thinking: piece.text })
      case 'signature': {
        const signature = writeSignature(piece.signature, 'messages')
        if (piece.redacted === true)
          return start({ kind: 'hidden' }, { type: 'redacted_thinking', data: signature }) + close()
        const before = start({ kind: 'thinking' }, THINKING)
        open = { kind: 'hidden' }
        return before + delta({ type: 'signature_delta', signature }) + close()
      }
      case 'tool': {
        const id = idWith(piece.id, piece.signature)
        return start(
          { kind: 'tool', tool: piece.index },
          { type: 'tool_use', id, name: piece.name, input: {} },
        )
      }
      case 'image':
        return begin() + close() + start({ kind: 'image' }, imageBlock(piece.image)) + close()
      case 'citation':
        return (
          start({ kind: 'text' }, TEXT) +
          delta({ type: 'citations_delta', citation: citationOf(piece.citation) })
        )
      case 'summary':
        return start({ kind: 'summary' }, summaryBlock(null)) + delta(summaryDelta(piece.text)) + close()
      case 'arguments':
        return delta({ type: 'input_json_delta', partial_json: piece.text })
      case 'finish':
        finish = piece.finish
        stopSequence = piece.stopSequence
        return ''
      case 'ping':
      case 'compacting':
        return messagesEvent('ping', {})
      default:
        return ''
    }
  }
  return {
    write,
    end: ({ usage, bill, cut }) => {
      const stop_reason: Json = reasonOf(cut ? 'length' : finish)
      const usageMember = `,"usage":${withBill(messagesUsage(usage), bill)}${membersSlot}`
      return (
        begin() +
        close() +
        messagesEvent(
          'message_delta',
          { delta: { stop_reason, stop_sequence: stopSequence ?? null } },
          usageMember,
        ) +
        costComment(bill) +
        messagesEvent('message_stop', {})
      )
    },
    fail: (error) => messagesEvent('error', { error: { ...error, type: errorTypeOf(error) } }),
  }
}

const TEXT = { type: 'text', text: '' }
/** The whole summary comes in one piece. */
const summaryDelta = (content: string): JsonObject => ({
  type: 'compaction_delta',
  content,
  encrypted_content: null,
})
const THINKING = { type: 'thinking', thinking: '', signature: '' }
