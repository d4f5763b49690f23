/**
 * A scripted vendor with its own notes. The last message is its order, as JSON: tokens in and out, delay, failure. It
 * reports the ordered usage, so that the right charge is known beforehand; each further time one token less.
 */
import { batchVendor } from '../clients/vendors/batches.ts'

export type Order = {
  /** The caller's own name of the call; the vendor's notes use it. */
  readonly id: string
  readonly input: number
  readonly output: number
  readonly delayMs: number
  readonly fail: '' | 'status' | 'break'
  /** Sends as many letters as its tokens need, over the whole delay. */
  readonly long?: boolean
}

/** What the vendor did for one order: how often it was asked, and whether it ever said all of it. */
export type Note = { asked: number; finished: boolean }

export type Upstream = {
  readonly port: number
  readonly calls: () => number
  readonly notes: ReadonlyMap<string, Note>
  stop(): void
}

const encoder = new TextEncoder()
const PIECES = 12
/** Letters that make at least a token, by any estimate of the product. */
const TOKEN_LETTERS = 4
const LONG_PIECE_TOKENS = 60

/** The pieces of a stream's text, or the whole of an answer in one. */
export const textOf = (order: Order, stream: boolean): string[] => {
  if (!stream) return ['x'.repeat(order.output)]
  if (order.long !== true) return Array.from({ length: Math.min(order.output, PIECES) }, () => 'x')
  const pieces = Math.ceil(order.output / LONG_PIECE_TOKENS)
  return Array.from({ length: pieces }, () => 'x'.repeat(LONG_PIECE_TOKENS * TOKEN_LETTERS))
}

export const startUpstream = (): Upstream => {
  let calls = 0
  const notes = new Map<string, Note>()
  // It ends a batch when it is asked for.
  const batches = batchVendor('openai')
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      if (/^\/v1\/(?:files|batches)/.test(new URL(request.url).pathname)) {
        const { method, url, headers } = request
        return batches.fetch(url, { method, headers, body: new Uint8Array(await request.arrayBuffer()) })
      }
      const body: any = await request.json()
      const order: Order = JSON.parse(body.messages.at(-1).content)
      calls++
      const note = notes.get(order.id) ?? { asked: 0, finished: false }
      notes.set(order.id, note)
      note.asked++
      if (order.long !== true) await Bun.sleep(order.delayMs)
      if (order.fail === 'status') return new Response('{"error":{"message":"busy"}}', { status: 500 })
      // Each run of an order costs something else, or a bill of one run would pass for that of another.
      const output = Math.max(1, order.output - note.asked + 1)
      const usage = {
        prompt_tokens: order.input,
        completion_tokens: output,
        total_tokens: order.input + output,
      }
      if (body.stream === true)
        return new Response(events(order, usage, note) as never, {
          headers: { 'content-type': 'text/event-stream' },
        })
      note.finished = true
      const message = { role: 'assistant', content: textOf(order, false).join('') }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  return { port: server.port!, calls: () => calls, notes, stop: () => void server.stop(true) }
}

async function* events(order: Order, usage: object, note: Note): AsyncGenerator<Uint8Array> {
  const chunk = (choices: object[], more: object = {}) =>
    encoder.encode(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`,
    )
  yield chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  const pieces = textOf(order, true)
  for (const [sent, content] of pieces.entries()) {
    await Bun.sleep(order.long === true ? order.delayMs / pieces.length : order.delayMs / 10)
    if (order.fail === 'break' && sent === 3) return
    yield chunk([{ index: 0, delta: { content }, finish_reason: null }])
  }
  yield chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
  yield chunk([], { usage })
  note.finished = true
  yield encoder.encode('data: [DONE]\n\n')
}
