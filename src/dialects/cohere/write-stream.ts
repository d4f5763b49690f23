/** Cohere's chat, steps in the neutral form → events. Source of the format: npm cohere-ai 8.1.0, `V2ChatStreamResponse`. */
import type { JsonObject } from '../../core/json-body.ts'
import { costComment, keepAlive, membersSlot, withBill } from '../bill-members.ts'
import type { Finish, Piece } from '../neutral.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { idWith } from '../translate/signatures.ts'
import { callOf, citationOf, cohereUsage, finishReason } from './reply.ts'

/** The client ends a stream wherever this stands, so no text may contain it as it is. */
const escaped = (json: string): string => json.replaceAll('[DONE]', '\\u005bDONE]')

const event = (type: string, members: JsonObject, more = ''): string =>
  `event: ${type}\ndata: ${escaped(JSON.stringify({ type, ...members })).slice(0, -1)}${more}}\n\n`

const inMessage = (type: string, index: number, message: JsonObject): string =>
  event(type, { index, delta: { message } })

export const cohereStreamWriter = ({ requestId }: WriterContext): StreamWriter => {
  let [begun, blocks, calls, sources] = [false, 0, 0, 0]
  /** What is open, to be closed before something else begins. */
  let open: 'text' | 'thinking' | 'tool' | undefined
  /** The text so far; which block its last stretch is, and where that begins. */
  let text = ''
  let stretch = { at: 0, from: 0 }
  let finish: Finish = 'stop'

  const start = (id: string): string => {
    if (begun) return ''
    begun = true
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
    return event('message-start', { id: id || requestId, delta: { message } })
  }
  const close = (): string => {
    const closed = open
    open = undefined
    if (closed === undefined) return ''
    return closed === 'tool'
      ? event('tool-call-end', { index: calls++ })
      : event('content-end', { index: blocks++ })
  }
  const say = (type: 'text' | 'thinking', said: string): string => {
    let before = ''
    if (open !== type) {
      before = close() + inMessage('content-start', blocks, { content: { type, [type]: '' } })
      open = type
      if (type === 'text') stretch = { at: blocks, from: text.length }
    }
    if (type === 'text') text += said
    return before + inMessage('content-delta', blocks, { content: { [type]: said } })
  }
  const cite = (citation: Extract<Piece, { type: 'citation' }>['citation']): string => {
    const index = sources++
    const citations = citationOf(citation, text, stretch)
    return inMessage('citation-start', index, { citations }) + event('citation-end', { index })
  }
  const write = (piece: Piece): string => {
    switch (piece.type) {
      case 'start':
        return start(piece.id)
      case 'text':
      case 'refusal':
        return start('') + say('text', piece.text)
      case 'thinking':
        return start('') + say('thinking', piece.text)
      case 'citation':
        return cite(piece.citation)
      case 'tool': {
        const before = start('') + close()
        open = 'tool'
        const tool_calls = callOf(idWith(piece.id, piece.signature), piece.name, '')
        return before + inMessage('tool-call-start', calls, { tool_calls })
      }
      case 'arguments':
        return inMessage('tool-call-delta', calls, { tool_calls: { function: { arguments: piece.text } } })
      case 'finish':
        finish = piece.finish
        return ''
      default:
        return piece.type === 'ping' ? keepAlive : ''
    }
  }
  const ending = (delta: string): string => event('message-end', {}, `,"delta":${delta}`)
  return {
    write: (piece) => ('choice' in piece && piece.choice > 0 ? '' : write(piece)),
    end: ({ usage, bill, cut }) => {
      const last = `{"finish_reason":"${finishReason(cut ? 'length' : finish)}","usage":${withBill(cohereUsage(usage), bill)}}${membersSlot}`
      return `${start('')}${close()}${ending(last)}${costComment(bill)}data: [DONE]\n\n`
    },
    fail: (error) =>
      ending(escaped(JSON.stringify({ error: error.message ?? '', finish_reason: 'ERROR', details: error }))),
  }
}
