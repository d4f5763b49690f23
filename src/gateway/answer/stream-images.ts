/**
 * Images as a stream. Previews go on as the vendor sends them; the finished images follow once they are stored and
 * charged. If the reader leaves, the work still goes on to its end, because the vendor bills it.
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import { parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { Refusal, refusalBody, refuse } from '../../core/refusal.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import type { Exchange } from '../../transport/exchange.ts'
import type { Answer, ByteStream } from '../parts/answer.ts'
import { takeBytes } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newPace } from '../parts/patience.ts'
import type { Task } from '../parts/task.ts'
import { endStream } from '../parts/trace.ts'

const encoder = new TextEncoder()

const eventBytes = (event: JsonObject): Uint8Array =>
  encoder.encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

/** The whole answer of a vendor, with its events as they come. Throws what the exchange and `each` throw. */
export const readEvents = async (
  { gateway, task }: { readonly gateway: Gateway; readonly task: Task },
  exchange: Exchange,
  each: (event: Json) => Promise<void>,
): Promise<Uint8Array> => {
  const splitter = eventSplitter()
  const pieces: Uint8Array[] = []
  for (let piece = await exchange.next(); piece !== undefined; piece = await exchange.next()) {
    takeBytes(gateway.capacity, task.trace.taken, piece.length)
    pieces.push(piece)
    for (const { data } of splitter.feed(piece)) {
      const event = parseJson(data)
      if (event !== undefined) await each(event)
    }
  }
  return Buffer.concat(pieces)
}

/** What is shown before the end: kept for the caller, and for the receipt and repeats. */
export type Preview = {
  /** Shows one more event; throws when the call's money is not held durably. */
  readonly show: (event: JsonObject) => Promise<void>
  /** Everything that was shown. */
  readonly shown: () => readonly Uint8Array[]
}

/**
 * Runs the work and answers with what it shows. A failure before anything was shown is thrown; a later one is the
 * stream's last event.
 */
export const streamed = async (
  gateway: Gateway,
  task: Task,
  work: (preview: Preview) => Promise<Answer & { readonly body: Uint8Array }>,
): Promise<Answer> => {
  const shown: Uint8Array[] = []
  const begun = Promise.withResolvers<void>()
  const queue = newQueue()
  const show = async (event: JsonObject): Promise<void> => {
    if (!(await task.hold.opened)) throw await gateway.book.whyFenced(task.key)
    const bytes = eventBytes(event)
    shown.push(bytes)
    queue.push(bytes)
    begun.resolve()
  }
  const ended = work({ show, shown: () => shown })
  const first = await Promise.race([ended, begun.promise])
  if (first !== undefined) return first
  void ended
    .then(
      ({ body }) => body,
      (thrown: unknown) => failureOf(gateway, task, thrown),
    )
    .then((last) => queue.end(last))
  return { status: 200, headers: STREAM_HEADERS, body: readerOf(gateway, task, queue) }
}

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
}

const failureOf = ({ log }: Gateway, { trace, model }: Task, thrown: unknown): Uint8Array => {
  const refusal =
    thrown instanceof Refusal
      ? thrown
      : refuse('upstream_error', 'The picture could not be fetched. Nothing was charged.', {
          members: { provider: model.vendor },
        })
  if (thrown !== refusal)
    log.warn('a streamed picture failed', { call: trace.callId, error: messageOf(thrown) })
  trace.ended ??= refusal.code
  return eventBytes({ type: 'error', ...refusalBody(refusal, trace.callId) })
}

type Queue = {
  readonly push: (piece: Uint8Array) => void
  readonly end: (last: Uint8Array) => void
  /** Undefined at the end. */
  readonly next: () => Promise<Uint8Array | undefined>
  /** Nobody reads it any more. */
  readonly leave: () => void
  /** Resolves when nothing more comes. */
  readonly ended: Promise<void>
}

const newQueue = (): Queue => {
  const pieces: Uint8Array[] = []
  const over = Promise.withResolvers<void>()
  let changed = Promise.withResolvers<void>()
  let [isOver, left] = [false, false]
  const wake = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const push = (piece: Uint8Array) => {
    if (!left) pieces.push(piece)
    wake()
  }
  return {
    push,
    end: (last) => {
      isOver = true
      push(last)
      over.resolve()
    },
    next: async () => {
      while (pieces.length === 0 && !isOver && !left) await changed.promise
      return pieces.shift()
    },
    leave: () => {
      left = true
      pieces.length = 0
      wake()
    },
    ended: over.promise,
  }
}

/** The caller's side. The call's places and bytes are given back when both sides are done. */
const readerOf = (gateway: Gateway, task: Task, queue: Queue): ByteStream => {
  const pace = newPace()
  const close = () => {
    if (pace.over) return
    gateway.memory.patience.end(pace)
    queue.leave()
    void queue.ended.then(() => endStream(task.trace))
  }
  gateway.memory.patience.watch(pace, close)
  if (task.signal.aborted) close()
  else task.signal.addEventListener('abort', close, { once: true })
  const stream: ByteStream = {
    next: async () => {
      pace.offered = false
      pace.taken++
      const value = await queue.next()
      pace.offered = true
      if (value !== undefined) return { done: false, value }
      close()
      return { done: true, value }
    },
    return: () => {
      close()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}
