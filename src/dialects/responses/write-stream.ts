/** Responses, steps in the neutral form → events for the caller. Source of the format: OpenAI API reference, "Streaming events". */
import { type JsonObject, present } from '../../core/json-body.ts'
import { costComment, keepAlive, membersSlot, withBill } from '../bill-members.ts'
import type { Citation, Image, Piece } from '../neutral.ts'
import type { Ending, StreamWriter, WriterContext } from '../stream-writer.ts'
import {
  addThought,
  begun,
  completed,
  type OpenItem,
  type OpenMessage,
  type OpenReasoning,
  signThought,
} from './open-item.ts'
import { annotationOf, imageItem, keptMembers, statusOf } from './reply.ts'
import { StreamFrame } from './stream-frame.ts'
import { type Declared, declaredTools } from './tools.ts'
import { responsesUsage } from './usage.ts'

export const responsesStreamWriter = (context: WriterContext): StreamWriter =>
  new ResponsesStreamWriter(context)

class ResponsesStreamWriter implements StreamWriter {
  readonly #frame: StreamFrame
  readonly #declared: Declared
  #open: OpenItem | undefined
  /** The length of all text so far. */
  #length = 0

  constructor(context: WriterContext) {
    this.#frame = new StreamFrame(context)
    this.#declared = declaredTools(context.request)
  }

  write(piece: Piece): string {
    // This dialect has one answer; more were not requested.
    if ('choice' in piece && piece.choice > 0) return ''
    switch (piece.type) {
      case 'start':
        this.#frame.name(piece.model)
        return this.#frame.begin()
      case 'text':
        return this.#text(piece.text)
      case 'refusal':
        return this.#say(piece.text, true)
      case 'compacting':
        return this.#compacting()
      case 'summary':
        return this.#summarise(piece.text)
      case 'thinking':
        return this.#think(piece.text)
      case 'signature':
        return this.#sign(piece)
      case 'image':
        return this.#show(piece.image)
      case 'citation':
        return this.#cite(piece.citation)
      case 'tool': {
        const { id, name, signature } = piece
        const call = present({ type: 'tool_call' as const, id, name, arguments: '', signature })
        return this.#begin({ kind: 'call', call })
      }
      case 'arguments':
        return this.#addArguments(piece.text)
      case 'finish':
        this.#frame.finish = piece.finish
        return ''
      case 'ping':
        return keepAlive
      default:
        return ''
    }
  }

  end({ usage, bill, cut, kept }: Ending): string {
    const frame = this.#frame
    if (cut) frame.finish = 'length'
    const before = frame.begin() + this.#complete()
    const status = statusOf(frame.finish)
    const { usage: _none, ...members } = frame.response(status)
    const rest = { ...members, ...keptMembers(kept) }
    const whole = `,"response":${JSON.stringify(rest).slice(0, -1)},"usage":${withBill(responsesUsage(usage), bill)}${membersSlot}}`
    return before + costComment(bill) + frame.event(`response.${status}`, {}, whole)
  }

  fail(error: JsonObject): string {
    const frame = this.#frame
    const fault = { code: error.code ?? null, message: error.message ?? '' }
    const response = { ...frame.response('failed'), error: fault }
    return (
      frame.begin() +
      frame.event('error', { ...fault, param: null }) +
      frame.event('response.failed', { response })
    )
  }

  /** Begins an item once the one before is complete. */
  #begin(next: OpenItem): string {
    const before = this.#frame.begin() + this.#complete()
    this.#open = next
    return before + begun(next, this.#frame, this.#declared)
  }

  #complete(): string {
    if (this.#open === undefined) return ''
    const said = completed(this.#open, this.#frame, this.#declared)
    this.#open = undefined
    return said
  }

  /** The message in progress, and the events that begin it if another item was open. */
  #message(declines: boolean): { readonly open: OpenMessage; readonly start: string } {
    if (this.#open?.kind === 'message' && this.#open.declines === declines)
      return { open: this.#open, start: '' }
    const open: OpenMessage = { kind: 'message', declines, text: '', cited: [], from: this.#length }
    return { open, start: this.#begin(open) }
  }

  #text(text: string): string {
    const said = this.#say(text, false)
    this.#length += text.length
    return said
  }

  #say(text: string, declines: boolean): string {
    const { open, start } = this.#message(declines)
    open.text += text
    const at = { ...this.#frame.place('message'), content_index: 0 }
    return (
      start +
      (declines
        ? this.#frame.event('response.refusal.delta', { ...at, delta: text })
        : this.#frame.event('response.output_text.delta', { ...at, delta: text, logprobs: [] }))
    )
  }

  /** The item of a summary begins with the first sign of it, and is complete when the summary is there. */
  #compacting(): string {
    const start = this.#open?.kind === 'summary' ? '' : this.#begin({ kind: 'summary', text: '' })
    return start + this.#frame.event('response.compaction.compacting', { ...this.#frame.place('summary') })
  }

  #summarise(text: string): string {
    const before = this.#open?.kind === 'summary' ? '' : this.#begin({ kind: 'summary', text })
    this.#open = { kind: 'summary', text }
    return before + this.#complete()
  }

  #cite(citation: Citation): string {
    const { open, start } = this.#message(false)
    const { from, text, cited } = open
    // Positions count from the start of all text; within a message, from the message's start.
    const place = (at: number) => Math.min(Math.max(at - from, 0), text.length)
    const own = { ...citation, from: place(citation.from), to: place(citation.to) }
    const added = {
      ...this.#frame.place('message'),
      content_index: 0,
      annotation_index: cited.push(own) - 1,
      annotation: annotationOf(own),
    }
    return start + this.#frame.event('response.output_text.annotation.added', added)
  }

  /** The thoughts in progress, and the events that begin them if another item was open. */
  #thoughts(): { readonly open: OpenReasoning; readonly start: string } {
    if (this.#open?.kind === 'reasoning') return { open: this.#open, start: '' }
    const open: OpenReasoning = { kind: 'reasoning', thoughts: [] }
    return { open, start: this.#begin(open) }
  }

  #think(text: string): string {
    const { open, start } = this.#thoughts()
    addThought(open.thoughts, text)
    const delta = { ...this.#frame.place('reasoning'), summary_index: 0, delta: text }
    return start + this.#frame.event('response.reasoning_summary_text.delta', delta)
  }

  #sign(piece: Piece & { type: 'signature' }): string {
    const { open, start } = this.#thoughts()
    signThought(open.thoughts, piece)
    return start
  }

  #addArguments(text: string): string {
    if (this.#open?.kind !== 'call') return ''
    const { call } = this.#open
    this.#open.call = { ...call, arguments: call.arguments + text }
    // The text of a free-text tool is known only when its JSON wrapping is complete.
    if (this.#declared.get(call.name)?.custom === true) return ''
    const delta = { ...this.#frame.place('call'), delta: text }
    return this.#frame.event('response.function_call_arguments.delta', delta)
  }

  /** An image arrives whole, so its item begins and ends at once. */
  #show(image: Image): string {
    const frame = this.#frame
    const before = frame.begin() + this.#complete()
    const item = imageItem(frame.itemId('image'), image)
    return before + frame.itemAdded({ ...item, status: 'in_progress', result: null }) + frame.itemDone(item)
  }
}
