/**
 * Generate content, steps in the neutral form → events for the caller, or the elements of one JSON list.
 * Source of the format: Gemini API reference, "models.streamGenerateContent".
 */

import { type JsonObject, present } from '../../core/json-body.ts'
import { type Bill, membersSlot, withBill } from '../bill-members.ts'
import type { Citation, Finish, Part, Piece, ToolCall } from '../neutral.ts'
import type { VendorEvent } from '../relay.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { argumentsOf } from '../translate/tool-arguments.ts'
import { geminiError } from './error.ts'
import { groundingOf } from './grounding.ts'
import { geminiUsage, logprobsResult, reasonOf, writePart } from './reply.ts'

/**
 * How the answers of a stream are separated. Older clients of this dialect read the stream with one pattern, and hang
 * for ever at anything that does not match: a comment, a field beside `data`, a line end or line separator inside it.
 * Source: the libraries @google/generative-ai 0.24 and @google/genai 1.30, "responseLineRE".
 */
export type Framing = {
  readonly element: (json: string) => string
  readonly close: string
  /** Whether a vendor's event may pass as the bytes it arrived in. */
  readonly passes: (event: VendorEvent) => boolean
}

const SEPARATORS = /[\u2028\u2029]/
const escaped = (separator: string): string => (separator === '\u2028' ? '\\u2028' : '\\u2029')

export const eventFraming = (): Framing => ({
  element: (json) => `data: ${json.replaceAll(/[\u2028\u2029]/g, escaped)}\r\n\r\n`,
  close: '',
  passes: ({ bytes, data }) => {
    const around = bytes.length - Buffer.byteLength(data)
    return standsFirst(bytes) && (around === LF_FRAME || around === CR_LF_FRAME) && !SEPARATORS.test(data)
  },
})

const DATA = new TextEncoder().encode('data: ')
const LF_FRAME = DATA.length + 2
const CR_LF_FRAME = DATA.length + 4
const standsFirst = (bytes: Uint8Array): boolean => DATA.every((byte, at) => bytes[at] === byte)

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
    passes: () => false,
  }
}

export const geminiStreamWriter = (context: WriterContext, framing: Framing): StreamWriter => {
  let head: JsonObject = { modelVersion: context.modelName, responseId: context.requestId }
  const finishes = new Map<number, Finish>()
  /**
   * The call that each choice is making. Calls are written whole, so the arguments are gathered until the next step.
   */
  const calls = new Map<number, ToolCall>()
  /** The text and citations of each choice so far; the last event gives the positions in the text. */
  const texts = new Map<number, string>()
  const citations = new Map<number, readonly Citation[]>()

  const say = (choice: number, part: Part): string => {
    const candidates = [{ content: { role: 'model', parts: writePart(part) }, index: choice }]
    return framing.element(JSON.stringify({ candidates, ...head }))
  }
  const flush = (choice: number): string => {
    const call = calls.get(choice)
    calls.delete(choice)
    return call === undefined || argumentsOf(call) === undefined ? '' : say(choice, call)
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
      default:
        return ''
    }
  }
  return {
    write,
    end: ({ usage, bill, cut, notCarried = [] }) => {
      if (finishes.size === 0) finishes.set(0, cut ? 'length' : 'stop')
      const candidates = [...finishes].map(([index, finish]) => ({
        content: { role: 'model', parts: [{ text: '' }] },
        finishReason: reasonOf(finish),
        index,
        ...groundingOf(citations.get(index) ?? [], texts.get(index) ?? ''),
      }))
      const last = endingText(
        { candidates, ...head, ...notCarriedMember(notCarried) },
        geminiUsage(usage),
        bill,
      )
      // If the money ends before a call's arguments are complete, the call is not written.
      const whole = cut ? [] : [...calls.keys()].map(flush)
      return whole.join('') + framing.element(last) + framing.close
    },
    fail: (error) => framing.element(JSON.stringify(geminiError(error, 503))) + framing.close,
  }
}

/** What of the answer was not carried, in the last event, because this dialect's streams have no comments. */
export const notCarriedMember = (notCarried: readonly string[]): JsonObject =>
  notCarried.length === 0 ? {} : { _not_carried: notCarried.join(', ') }

/**
 * The JSON text of the event that ends a stream, with the bill in its usage and a slot for what is known after the
 * charge.
 */
export const endingText = (event: JsonObject, usage: JsonObject, bill: Bill): string => {
  const open = JSON.stringify({ ...event, usageMetadata: undefined }).slice(0, -1)
  return `${open},"usageMetadata":${withBill(usage, bill)}${membersSlot}}`
}

const signedThought = ({ signature, redacted }: Piece & { type: 'signature' }): Part => ({
  type: 'thinking',
  text: '',
  signature,
  ...(redacted === true ? { redacted } : {}),
})
