/** Messages, a vendor's events → steps in the neutral form. Source of the format: Anthropic API reference, "Streaming Messages". */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Piece } from '../neutral.ts'
import { listOf, numberOf, objectOf, textOf } from '../request/json-members.ts'
import { readSignature, signed, splitId } from '../translate/signatures.ts'
import { readCitations } from './citations.ts'
import { finishOf, readMessagesUsage } from './reply.ts'

type StreamState = {
  usage: JsonObject
  tools: number
  /** The tool of each open block, and its initial arguments, in case none are streamed. */
  readonly toolOf: Map<number, { readonly index: number; rest: string }>
  /** The length of all text so far, where the open text block began in it, and the block's citations. */
  length: number
  from: number
  cited: Json[]
  /** The id of the message that has begun. */
  message: string | undefined
}

/** Makes a reader for one stream. Usage grows over the stream; later counts replace earlier ones. */
export const messagesStreamReader = (): ((data: string) => readonly Piece[]) => {
  const reading: StreamState = {
    usage: {},
    tools: 0,
    toolOf: new Map(),
    length: 0,
    from: 0,
    cited: [],
    message: undefined,
  }
  return (data) => {
    const event = data === '' ? undefined : parseJson(data)
    return isObject(event) ? eventPieces(reading, event, numberOf(event.index) ?? 0) : []
  }
}

const eventPieces = (reading: StreamState, event: JsonObject, at: number): Piece[] => {
  switch (event.type) {
    case 'message_start':
      return startPieces(reading, objectOf(event.message))
    case 'content_block_start':
      return blockPieces(reading, at, objectOf(event.content_block))
    case 'content_block_delta': {
      const tool = reading.toolOf.get(at)
      const delta = objectOf(event.delta)
      const pieces = deltaPieces(delta, tool?.index)
      reading.length += delta.type === 'text_delta' ? (textOf(delta.text)?.length ?? 0) : 0
      if (delta.type === 'citations_delta') reading.cited.push(delta.citation ?? null)
      if (tool !== undefined && pieces.length > 0) tool.rest = ''
      return pieces
    }
    case 'content_block_stop': {
      const tool = reading.toolOf.get(at)
      reading.toolOf.delete(at)
      if (tool === undefined) return citedPieces(reading)
      return tool.rest === '' ? [] : [{ type: 'arguments', choice: 0, index: tool.index, text: tool.rest }]
    }
    case 'message_delta':
      return [...finishPieces(objectOf(event.delta)), ...usagePieces(reading, event.usage)]
    case 'message_stop':
      return [{ type: 'end' }]
    case 'ping':
      return [{ type: 'ping' }]
    case 'error':
      return [{ type: 'error', error: objectOf(event.error) }]
    default:
      return []
  }
}

const startPieces = (reading: StreamState, message: JsonObject): Piece[] => {
  const id = textOf(message.id) ?? ''
  if (reading.message === undefined) {
    reading.message = id
    const start: Piece = { type: 'start', id, model: textOf(message.model) ?? '' }
    return [start, ...usagePieces(reading, message.usage)]
  }
  // Parts of the answer that were already sent cannot be taken back.
  return reading.message === id
    ? []
    : [{ type: 'error', error: { message: 'A second answer in one stream.' } }]
}

const usagePieces = (reading: StreamState, raw: Json | undefined): Piece[] => {
  if (!isObject(raw)) return []
  reading.usage = merged(reading.usage, raw)
  const usage = readMessagesUsage(reading.usage)
  return usage === undefined ? [] : [{ type: 'usage', usage }]
}

const finishPieces = (delta: JsonObject): Piece[] => {
  if (typeof delta.stop_reason !== 'string') return []
  const stopSequence = textOf(delta.stop_sequence)
  const finish = finishOf(delta.stop_reason)
  return [{ type: 'finish', choice: 0, finish, ...(stopSequence === undefined ? {} : { stopSequence }) }]
}

/** A block's citations apply to all its text, so they are sent when it ends. */
const citedPieces = (reading: StreamState): Piece[] => {
  const { citations, notCarried } = readCitations(reading.cited, reading.from, reading.length)
  const pieces = citations.map((citation): Piece => ({ type: 'citation', choice: 0, citation }))
  return notCarried ? [...pieces, { type: 'not_carried', name: 'citations' }] : pieces
}

const blockPieces = (reading: StreamState, at: number, block: JsonObject): Piece[] => {
  reading.from = reading.length
  reading.cited = [...listOf(block.citations)]
  switch (block.type) {
    case 'text':
      reading.length += textOf(block.text)?.length ?? 0
      return said('text', textOf(block.text))
    case 'thinking':
      return said('thinking', textOf(block.thinking))
    case 'redacted_thinking': {
      const signature = readSignature(textOf(block.data) ?? '', 'messages')
      return [{ type: 'signature', choice: 0, redacted: true, signature }]
    }
    case 'tool_use': {
      const index = reading.tools++
      reading.toolOf.set(at, { index, rest: JSON.stringify(block.input ?? {}) })
      const id = splitId(textOf(block.id) ?? '')
      return [{ type: 'tool', choice: 0, index, ...id, name: textOf(block.name) ?? '' }]
    }
    default:
      return []
  }
}

/** Merges later counts into earlier ones; an absent or null count keeps the earlier one. */
export const merged = (before: JsonObject, after: JsonObject): JsonObject => ({
  ...before,
  ...Object.fromEntries(Object.entries(after).filter(([, count]) => count !== null && count !== undefined)),
})

const said = (type: 'text' | 'thinking', text: string | undefined): Piece[] =>
  text ? [{ type, choice: 0, text }] : []

const deltaPieces = (delta: JsonObject, tool: number | undefined): Piece[] => {
  switch (delta.type) {
    case 'text_delta':
      return said('text', textOf(delta.text))
    case 'thinking_delta':
      return said('thinking', textOf(delta.thinking))
    case 'signature_delta': {
      const { signature } = signed(textOf(delta.signature), 'messages')
      return signature === undefined ? [] : [{ type: 'signature', choice: 0, signature }]
    }
    case 'input_json_delta': {
      const text = textOf(delta.partial_json)
      return tool === undefined || !text ? [] : [{ type: 'arguments', choice: 0, index: tool, text }]
    }
    default:
      return []
  }
}
