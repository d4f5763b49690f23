/**
 * An answer as a stream. Gate 1: no byte goes out before the hold is durable. Gate 2: the stream's last bytes wait for
 * the charge. Whatever ends it, the charge is what was delivered and never more than the hold.
 */
import { concat, type JsonObject } from '../core/json-body.ts'
import { refusalBody } from '../core/refusal.ts'
import {
  type ChatStreamState,
  errorEvent,
  followChatEvent,
  lengthStopEvent,
  newChatStream,
  tailEvents,
  type UsageFinder,
} from '../dialects/chat-stream.ts'
import { usageFinder } from '../metering/find-usage.ts'
import { vendorDown } from '../routing/vendor-errors.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { type Exchange, VendorFault } from '../transport/exchange.ts'
import type { Answer, ByteStream } from './answer.ts'
import { ledgerUnavailable } from './answer-whole.ts'
import { askVendor } from './ask-vendor.ts'
import { balanceOf, billOf, chargedOf, detailOf, meter, totalsOf } from './bill.ts'
import { drainVendor } from './drain-vendor.ts'
import type { Gateway } from './gateway.ts'
import { type HoldKeeper, holdKeeper } from './keep-within-hold.ts'
import type { Task } from './task.ts'

/** A stream under way: the vendor's side, what the meter has read, and what is still to be sent. */
type Relay = {
  readonly exchange: Exchange
  readonly splitter: ReturnType<typeof eventSplitter>
  readonly state: ChatStreamState
  readonly findUsage: UsageFinder
  readonly keeper: HoldKeeper
}

const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

export const answerStream = async (gateway: Gateway, task: Task): Promise<Answer> => {
  const vendor = gateway.vendors.get(task.model.vendor)?.vendor
  let relaying = false
  try {
    const { opened } = await askVendor(gateway, task, (exchange) => openRelay(gateway, task, exchange))
    task.trace.firstByteMs = gateway.clock.monotonicMs() - task.trace.startedMs
    if (!(await task.hold.opened)) {
      opened.relay.exchange.abort()
      throw ledgerUnavailable()
    }
    relaying = true
    const stream = relayStream(gateway, task, opened.relay, opened.first)
    // A generator that was never started would skip its `finally` and leave the money held: take its first piece here.
    const begun = await stream.next()
    onCallerGone(task.signal, () => {
      if (vendor?.cancel !== 'drain') opened.relay.exchange.abort()
      void stream.return(undefined)
    })
    return {
      status: 200,
      headers: streamHeaders,
      body: begun.done === true ? new Uint8Array() : startedWith(begun.value, stream),
    }
  } finally {
    if (!relaying) task.hold.void()
  }
}

const onCallerGone = (signal: AbortSignal, stop: () => void): void => {
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
}

/** The stream with its first piece put back; a plain object, since a generator around it would cost every piece anew. */
const startedWith = (first: Uint8Array, rest: AsyncGenerator<Uint8Array>): ByteStream => {
  let held: Uint8Array | undefined = first
  const stream: ByteStream = {
    next: () => {
      if (held === undefined) return rest.next()
      const value = held
      held = undefined
      return Promise.resolve({ done: false, value })
    },
    return: () => rest.return(undefined),
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}

/** Reads up to the first event that says anything, so that a vendor that fails at once can be replaced by another. */
const openRelay = async (
  gateway: Gateway,
  task: Task,
  exchange: Exchange,
): Promise<{ relay: Relay; first: Uint8Array }> => {
  const relay: Relay = {
    exchange,
    splitter: eventSplitter(),
    state: newChatStream(),
    findUsage: usageFinder(gateway.vendors.get(task.model.vendor)?.vendor),
    keeper: holdKeeper(task),
  }
  const pieces: Uint8Array[] = []
  while (relay.state.head.id === null && relay.state.contentEvents === 0 && !relay.state.done) {
    const piece = await exchange.next()
    if (piece === undefined) throw new VendorFault('body', 'the vendor ended its stream before it began')
    const out = forward(relay, piece)
    if (relay.state.error !== undefined) throw new VendorFault('body', 'the vendor began with an error')
    if (out !== undefined) pieces.push(out)
  }
  return { relay, first: pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : concat(pieces) }
}

async function* relayStream(
  gateway: Gateway,
  task: Task,
  relay: Relay,
  first: Uint8Array,
): AsyncGenerator<Uint8Array> {
  const { state, exchange } = relay
  let ended = 'client_gone'
  let settled = false
  try {
    if (first.length > 0) yield first
    let cut = false
    while (!state.done && state.error === undefined && !cut) {
      const covered = relay.keeper.covers(state)
      if (covered !== true && !(await covered)) {
        cut = true
        break
      }
      const piece = await exchange.next().catch(brokenOff)
      if (piece === undefined) break
      const out = forward(relay, piece)
      if (out !== undefined) yield out
    }
    if (task.signal.aborted) return
    exchange.abort()
    const whole = cut || (state.error === undefined && (state.done || state.finished))
    ended = cut ? 'cost_ceiling' : whole ? 'ok' : 'vendor_failed'
    settled = true
    const stop = cut ? lengthStopEvent(state) : new Uint8Array()
    const tail = await settleStream(gateway, task, state, { ended, stop })
    yield whole ? concat([stop, tail]) : errorEvent(streamError(task))
  } finally {
    if (!settled) {
      await drainVendor(gateway, task, {
        exchange,
        read: (piece) => forward(relay, piece),
        done: () => state.done || state.error !== undefined,
      })
      await settleStream(gateway, task, state, { ended, stop: new Uint8Array() })
    }
    task.trace.onEnded?.()
  }
}

/** A vendor that breaks off in mid-stream ends the stream; whether it was whole is decided by what it had sent. */
const brokenOff = (fault: unknown): undefined => {
  if (!(fault instanceof VendorFault)) throw fault
}

/** Passes a piece on: its own bytes where nothing in it is held back or rewritten. */
const forward = (relay: Relay, piece: Uint8Array): Uint8Array | undefined => {
  const out: Uint8Array[] = []
  let end = -1
  for (const event of relay.splitter.feed(piece)) {
    const bytes = followChatEvent(relay.state, event, relay.findUsage)
    if (bytes === undefined) continue
    const last = out.at(-1)
    // Neighbours in one buffer go out as one slice of it, without a copy.
    if (
      last !== undefined &&
      bytes === event.bytes &&
      bytes.buffer === last.buffer &&
      bytes.byteOffset === end
    )
      out[out.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length)
    else out.push(bytes)
    end = bytes.byteOffset + bytes.length
  }
  return out.length < 2 ? out[0] : concat(out)
}

type Ending = { readonly ended: string /** What goes out before the tail. */; readonly stop: Uint8Array }

/** Settles the stream and returns its tail. The tail of a kept answer leaves the balance out, so that repeats are the same. */
const settleStream = async (
  gateway: Gateway,
  task: Task,
  state: ChatStreamState,
  ending: Ending,
): Promise<Uint8Array> => {
  const { ended, stop } = ending
  const metered = meter(gateway, task, state.usage, {
    characters: state.characters,
    events: state.contentEvents,
  })
  const bill = billOf(task, metered)
  task.trace.charged = chargedOf(task, metered)
  task.trace.ended = ended
  const detail = detailOf(gateway, task, metered, ended)
  const tail = (extra: string) =>
    tailEvents(state, task.call.showUsage ? { totals: totalsOf(metered), bill, extra } : undefined, bill.cost)
  if (task.keep !== undefined && ended === 'vendor_failed') {
    // The key's next attempt runs under the same id and is charged then: one key, one charge.
    task.trace.charged = 0n
    task.hold.void()
    return stop
  }
  if (task.keep !== undefined) {
    const last = tail('')
    const answer = {
      ref: task.keep.ref,
      answer: { status: 200, headers: streamHeaders, body: task.keep.textWith([stop, last]) },
    }
    await task.hold.settle(metered.cost, detail, answer)
    return last
  }
  const { remaining } = await task.hold.settle(metered.cost, detail)
  const balance = balanceOf(gateway, remaining)
  return tail(`,"_balance_warning":${balance.warning},"_remaining_credits":${balance.remainingCredits}`)
}

const streamError = (task: Task): JsonObject =>
  refusalBody(vendorDown(task.model.vendor, undefined), task.trace.callId).error
