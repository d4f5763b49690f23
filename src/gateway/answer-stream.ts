/**
 * An answer as a stream. Gate 1: no byte goes out before the hold is durable. Gate 2: the stream's last bytes wait for
 * the charge. Whatever ends it, the charge is what was delivered and never more than the hold.
 */
import { concat, parseJson } from '../core/json-body.ts'
import type { Form } from '../dialects/form.ts'
import type { Progress, StreamRelay } from '../dialects/relay.ts'
import { filled } from '../dialects/told.ts'
import type { Delivered } from '../metering/estimate.ts'
import { type BodyHasher, newBodyHasher } from '../receipts/body-hash.ts'
import { awsEventSplitter } from '../transport/aws-event-stream.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { type Exchange, VendorFault } from '../transport/exchange.ts'
import type { CancelPolicy, Vendor } from '../vendors/vendor.ts'
import type { Answer, ByteStream } from './answer.ts'
import { promptBlocked } from './answer-whole.ts'
import { askVendor } from './ask-vendor.ts'
import { balanceOf, billOf, chargedOf, detailOf, meter } from './bill.ts'
import { drainVendor, endReadingOn, readsOn } from './drain-vendor.ts'
import type { Gateway } from './gateway.ts'
import { giveUp } from './give-up.ts'
import { coverCost, type HoldKeeper, holdKeeper } from './keep-within-hold.ts'
import { type Ended, endsWell, lastWords, remember, withheld } from './last-words.ts'
import { receiptFor } from './receipt.ts'
import type { Task } from './task.ts'

/** A stream under way: the vendor's side, what the meter has read, and what is still to be sent. */
type Relay = {
  readonly exchange: Exchange
  readonly splitter: ReturnType<typeof eventSplitter>
  readonly stream: StreamRelay
  readonly cancel: CancelPolicy
  readonly keeper: HoldKeeper
  /** Reads along what goes to the caller, for the receipt. */
  readonly sent: BodyHasher | undefined
}

const headersOf = ({ call }: Task) => ({
  'content-type': call.listed === true ? 'application/json' : 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
})

export const answerStream = async (gateway: Gateway, task: Task): Promise<Answer> => {
  let relaying = false
  try {
    const { opened } = await askVendor(gateway, task, (exchange, form, deployment) =>
      openRelay(gateway, task, { exchange, form, vendor: deployment.setup.vendor }),
    )
    task.trace.firstByteMs = gateway.clock.monotonicMs() - task.trace.startedMs
    if (!(await task.hold.opened)) {
      opened.relay.exchange.abort()
      throw await gateway.book.whyFenced(task.key)
    }
    relaying = true
    const stream = relayStream(gateway, task, opened.relay, opened.first)
    // A generator that was never started would skip its `finally` and leave the money held: take its first piece here.
    const begun = await stream.next()
    onCallerGone(task.signal, () => {
      if (goesOn(task, opened.relay)) void endReadingOn(gateway, opened.relay.exchange)
      else opened.relay.exchange.abort()
      void stream.return(undefined)
    })
    return {
      status: 200,
      headers: headersOf(task),
      body: begun.done === true ? new Uint8Array() : startedWith(begun.value, stream),
    }
  } finally {
    if (!relaying) await giveUp(gateway, task)
  }
}

const goesOn = ({ model }: Task, { cancel, stream }: Relay): boolean => readsOn(model, cancel, stream)

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
  from: { readonly exchange: Exchange; readonly form: Form; readonly vendor: Vendor },
): Promise<{ relay: Relay; first: Uint8Array }> => {
  const { exchange, form, vendor } = from
  const stream = form.relay()
  const { progress } = stream
  const relay: Relay = {
    exchange,
    cancel: vendor.cancel,
    stream,
    splitter: vendor.framing === 'aws' ? awsEventSplitter() : eventSplitter(stream.skip),
    keeper: holdKeeper(gateway, task),
    sent: gateway.receipts === undefined ? undefined : newBodyHasher(),
  }
  const pieces: Uint8Array[] = []
  while (!progress.begun && !progress.done) {
    const piece = await exchange.next()
    if (piece === undefined) throw new VendorFault('body', 'the vendor ended its stream before it began')
    const out = forward(relay, piece)
    if (progress.error !== undefined) throw new VendorFault('body', 'the vendor began with an error')
    if (progress.blocked) throw promptBlocked()
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
  const { exchange } = relay
  const { progress } = relay.stream
  let ended = 'client_gone'
  let settled = false
  try {
    if (first.length > 0) {
      relay.sent?.update(first)
      yield first
    }
    let cut = false
    while (!progress.done && progress.error === undefined && !cut) {
      const covered = relay.keeper.covers(progress)
      if (covered !== true && !(await covered)) {
        cut = true
        break
      }
      const piece = await nextPiece(exchange)
      const out = piece === undefined ? forwardRest(relay) : forward(relay, piece)
      if (out !== undefined) {
        relay.sent?.update(out)
        yield out
      }
      if (piece === undefined) break
    }
    if (task.signal.aborted) return
    if (progress.done) exchange.leave()
    else exchange.abort()
    const whole = cut || (progress.error === undefined && (progress.done || progress.finished))
    ended = cut ? 'cost_ceiling' : whole ? 'ok' : 'vendor_failed'
    settled = true
    yield await settleStream(gateway, task, relay, { ended, cut })
  } finally {
    if (!settled) {
      await drainVendor(
        gateway,
        { exchange, goesOn: goesOn(task, relay) },
        {
          read: (piece) => forward(relay, piece),
          done: () => progress.done || progress.error !== undefined,
        },
      )
      await settleStream(gateway, task, relay, { ended, cut: false })
    }
    task.trace.onEnded?.()
  }
}

/** A vendor that breaks off in mid-stream ends the stream; whether it was whole is decided by what it had sent. */
const brokenOff = (fault: unknown): undefined => {
  if (!(fault instanceof VendorFault)) throw fault
}

const nextPiece = async (exchange: Exchange): Promise<Uint8Array | undefined> => {
  try {
    return await exchange.next()
  } catch (fault) {
    return brokenOff(fault)
  }
}

/** Passes a piece on: its own bytes where nothing in it is held back or rewritten. */
const forward = (relay: Relay, piece: Uint8Array): Uint8Array | undefined => {
  const out: Uint8Array[] = []
  let end = -1
  for (const event of eventsOf(relay, piece)) {
    const bytes = relay.stream.follow(event)
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

/** The events a piece completes; damaged framing ends the stream like any other fault of the vendor. */
const eventsOf = (relay: Relay, piece: Uint8Array) => {
  try {
    return relay.splitter.feed(piece)
  } catch (fault) {
    brokenOff(fault)
    relay.stream.progress.error = { message: 'the vendor sent a damaged stream' }
    return []
  }
}

/** A vendor that left out the last blank line still said what it said; half an event is dropped. */
const forwardRest = (relay: Relay): Uint8Array | undefined => {
  const rest = relay.splitter.remainder()
  return rest !== undefined && (rest.data === '[DONE]' || parseJson(rest.data) !== undefined)
    ? forward(relay, BLANK_LINE)
    : undefined
}

const BLANK_LINE = new TextEncoder().encode('\n\n')

/** What the caller has got of the content. */
const deliveredBy = ({ letters, contentEvents, unsaid }: Progress): Delivered => ({
  letters: letters - unsaid.letters,
  events: contentEvents - unsaid.events,
})

/**
 * Settles the stream and returns its last bytes. They leave the balance out while the ledger cannot be asked, and always
 * in a kept answer, so that repeats are the same.
 */
const settleStream = async (
  gateway: Gateway,
  task: Task,
  { stream, sent }: Relay,
  { ended, cut }: Ended,
): Promise<Uint8Array> => {
  const { progress } = stream
  const delivered = deliveredBy(progress)
  const tier = stream.tier?.()
  const metered = meter(task, { reported: stream.usage(), whole: progress.finished, delivered, tier })
  await coverCost(gateway, task, metered.cost)
  const charged = chargedOf(task, metered)
  task.trace.charged = charged
  task.trace.ended = ended
  const ending = lastWords(task, stream, { ended, cut, usage: metered.usage, bill: billOf(task, metered) })
  sent?.update(encoder.encode(filled(ending, undefined, undefined)))
  const detail = detailOf(gateway, task, metered, ended, () => sent?.digest() ?? '')
  if (ended === 'vendor_failed' && (task.keep !== undefined || delivered.events === 0)) {
    // Nothing delivered is nothing charged; and a key's next attempt runs under the same id and is charged then.
    task.trace.charged = 0n
    await giveUp(gateway, task)
    return encoder.encode(ending)
  }
  const receipt = endsWell(ended) ? receiptFor(gateway, task, detail, charged) : undefined
  if (task.keep !== undefined) {
    const bytes = encoder.encode(filled(ending, undefined, receipt))
    const answer = {
      ref: task.keep.ref,
      answer: { status: 200, headers: headersOf(task), body: task.keep.textWith([bytes]) },
    }
    await task.hold.settle(metered.cost, detail, answer)
    await remember(task, ended, ending)
    const unpaid = charged === 0n ? undefined : await task.collect?.()
    return unpaid === undefined ? bytes : withheld(task, stream, unpaid)
  }
  const { remaining } = await task.hold.settle(metered.cost, detail)
  await remember(task, ended, ending)
  return encoder.encode(filled(ending, balanceOf(gateway, remaining), receipt))
}

const encoder = new TextEncoder()
