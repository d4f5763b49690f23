/** Responses, the frame of a stream: it begins once, numbers its events, and its items follow one another. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Finish } from '../neutral.ts'
import type { WriterContext } from '../stream-writer.ts'
import { responseId, responseObject, type Status } from './reply.ts'

const itemPrefixes = { message: 'msg', reasoning: 'rs', call: 'fc', image: 'ig', summary: 'cmp' } as const

type ItemKind = keyof typeof itemPrefixes

/** Where an event of an item's content belongs. */
type ItemPlace = { readonly item_id: string; readonly output_index: number }

export class StreamFrame {
  readonly #context: WriterContext
  readonly seal: WriterContext['seal']
  /** Items that are complete. */
  readonly #done: JsonObject[] = []
  readonly #id: string
  #model: string
  #sequence = 0
  #begun = false
  /** Why the answer ended, once that is known. */
  finish: Finish = 'stop'

  constructor(context: WriterContext) {
    this.#context = context
    this.seal = context.seal
    this.#id = responseId(context)
    this.#model = context.modelName
  }

  /** The vendor has named its model; if it left that empty, the caller's own name is used. */
  name(model: string): void {
    this.#model = model || this.#context.modelName
  }

  /** One event; `more` is the text of further members. */
  event(type: string, members: JsonObject, more = ''): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...members }).slice(0, -1)}${more}}\n\n`
  }

  /** The events that begin the stream; none once it has begun. */
  begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return (
      this.event('response.created', { response: this.response('in_progress') }) +
      this.event('response.in_progress', { response: this.response('in_progress') })
    )
  }

  /** The response as it stands now. */
  response(status: Status): JsonObject {
    const { finish } = this
    return responseObject(this.#context, { id: this.#id, model: this.#model, status, finish }, this.#done)
  }

  /** The id of the open item. */
  itemId(kind: ItemKind): string {
    return `${itemPrefixes[kind]}_${this.#id.slice('resp_'.length)}_${this.#done.length}`
  }

  place(kind: ItemKind): ItemPlace {
    return { item_id: this.itemId(kind), output_index: this.#done.length }
  }

  itemAdded(item: JsonObject): string {
    return this.event('response.output_item.added', { output_index: this.#done.length, item })
  }

  itemDone(item: JsonObject): string {
    const said = this.event('response.output_item.done', { output_index: this.#done.length, item })
    this.#done.push(item)
    return said
  }
}
