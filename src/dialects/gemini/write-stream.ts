/**
 * Generate content, steps in the neutral form → events for the caller, or the elements of one JSON list.
 * Source of the format: Gemini API reference, "models.streamGenerateContent".
 */
import type { JsonObject } from '../../core/json-body.ts'
import { present } from '../json-members.ts'
import type { Citation, Finish, Part, Piece, ToolCall } from '../neutral.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { costComment } from '../told.ts'
import { geminiError } from './error.ts'
import { groundingOf } from './grounding.ts'
import { geminiUsage, logprobsResult, reasonOf, writePart } from './reply.ts'

/** How the answers of a stream follow each other. */
export type Framing = {
  readonly element: (json: string) => string
  readonly close: string
  readonly comments: boolean
}

export const eventFraming = (): Framing => ({
  element: (json) => `data: ${json}\r\n\r\n`,
  close: '',
  comments: true,
})

/** Without `alt=sse` the stream is one JSON list. */
export const listFraming = (): Framing => {
  let first = true
  return {
    element: (json) => {
      const before = first ? '[' : ',\r\n'
      first = false
      return before + json
    },
    close: ']',
    comments: false,
  }
}

export const geminiStreamWriter = (context: WriterContext, framing: Framing): StreamWriter => {
  let head: JsonObject = { modelVersion: context.modelName, responseId: context.requestId }
  const finishes = new Map<number, Finish>()
  /** The call each choice is telling: it is told whole, so its arguments are gathered until the next step. */
  const calls = new Map<number, ToolCall>()
  /** What each choice has said and cites: the last event tells its places in the text. */
  const texts = new Map<number, string>()
  const citations = new Map<number, readonly Citation[]>()

  const say = (choice: number, part: Part): string => {
    const candidates = [{ content: { role: 'model', parts: writePart(part) }, index: choice }]
    return framing.element(JSON.stringify({ candidates, ...head }))
  }
  const flush = (choice: number): string => {
    const call = calls.get(choice)
    calls.delete(choice)
    return call === undefined ? '' : say(choice, call)
  }
  const write = (piece: Piece): string => {
    switch (piece.type) {
      case 'start':
        head = { modelVersion: piece.model || context.modelName, responseId: piece.id || context.requestId }
        return ''
      case 'citation':
        citations.set(piece.choice, [...(citations.get(piece.choice) ?? []), piece.citation])
        return ''
      case 'audio':
        return flush(piece.choice) + say(piece.choice, piece.audio)
      case 'text':
        texts.set(piece.choice, (texts.get(piece.choice) ?? '') + piece.text)
        return flush(piece.choice) + say(piece.choice, { type: 'text', text: piece.text })
      case 'thinking':
      case 'refusal':
        return flush(piece.choice) + say(piece.choice, { type: piece.type, text: piece.text })
      case 'signature':
        return flush(piece.choice) + say(piece.choice, signedThought(piece))
      case 'image':
        return flush(piece.choice) + say(piece.choice, piece.image)
      case 'tool': {
        const before = flush(piece.choice)
        const { id, name, signature } = piece
        calls.set(piece.choice, present({ type: 'tool_call' as const, id, name, arguments: '', signature }))
        return before
      }
      case 'arguments': {
        const call = calls.get(piece.choice)
        if (call !== undefined) calls.set(piece.choice, { ...call, arguments: call.arguments + piece.text })
        return ''
      }
      case 'logprobs':
        return framing.element(
          JSON.stringify({
            candidates: [{ index: piece.choice, logprobsResult: logprobsResult(piece.logprobs) }],
            ...head,
          }),
        )
      case 'finish':
        finishes.set(piece.choice, piece.finish)
        return ''
      case 'ping':
        return framing.comments ? ': ping\n\n' : ''
      default:
        return ''
    }
  }
  return {
    write,
    end: ({ usage, bill, cut }) => {
      if (finishes.size === 0 || cut) finishes.set(0, cut ? 'length' : 'stop')
      const candidates = [...finishes].map(([index, finish]) => ({
        content: { role: 'model', parts: [{ text: '' }] },
        finishReason: reasonOf(finish),
        index,
        ...groundingOf(citations.get(index) ?? [], texts.get(index) ?? ''),
      }))
      const last = JSON.stringify({ candidates, usageMetadata: geminiUsage(usage), ...head })
      // The client library throws unless the last thing is an event: the comment stands before it.
      // A call whose arguments are not whole when the money ends is not told at all.
      const whole = cut ? [] : [...calls.keys()].map(flush)
      return (
        whole.join('') + (framing.comments ? costComment(bill) : '') + framing.element(last) + framing.close
      )
    },
    fail: (error) => framing.element(JSON.stringify(geminiError(error, 503))) + framing.close,
  }
}

const signedThought = ({ signature, redacted }: Piece & { type: 'signature' }): Part => ({
  type: 'thinking',
  text: '',
  signature,
  ...(redacted === true ? { redacted } : {}),
})
