/**
 * An answer as a stream. Gate 1: no byte goes out before the hold is durable. Gate 2: the stream's last bytes wait for
 * the charge. However the stream ends, the charge is for what was delivered, and never more than the hold.
 */
import { concat, parseJson } from '../../core/json-body.ts'
import { keepAlive } from '../../dialects/bill-members.ts'
import type { CallCodec } from '../../dialects/codec.ts'
import type { Progress, StreamRelay } from '../../dialects/relay.ts'
import type { ReplyStream } from '../../dialects/reply-steps.ts'
import { type BodyHasher, newBodyHasher } from '../../receipts/claims.ts'
import { awsEventSplitter } from '../../transport/aws-event-stream.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import type { Exchange } from '../../transport/exchange.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import type { CancelPolicy, Vendor } from '../../vendors/vendor.ts'
import { askVendor, inDialect } from '../ask/ask-vendor.ts'
import { drainVendor, endReadingOn, readsOn } from '../ask/drain-vendor.ts'
import { noteGate } from '../ask/time-attempt.ts'
import { type Answer, startedWith } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newPace, type Pace } from '../parts/patience.ts'
import type { Task } from '../parts/task.ts'
import { endStream } from '../parts/trace.ts'
import { beganWith, promptBlocked, readWhole } from './answer-whole.ts'
import { endUnheard } from './give-up.ts'
import { guardedRelay } from './guard-stream.ts'
import { type Covered, type HoldKeeper, holdKeeper } from './keep-within-hold.ts'
import { BLOCKED, isBlocked } from './settle.ts'
import { headersOf, settleStream } from './settle-stream.ts'

/** A stream in progress: the vendor's side, what the meter has read, and what is still to be sent. */
type Relay = {
  readonly exchange: Exchange
  readonly splitter: ReturnType<typeof eventSplitter>
  readonly stream: StreamRelay
  readonly cancel: CancelPolicy
  readonly keeper: HoldKeeper
  /** Hashes what goes to the caller, for the receipt. */
  readonly sent: BodyHasher | undefined
}

export const answerStream = async (gateway: Gateway, task: Task): Promise<Answer> => {
  let relaying = false
  try {
    const { opened } = await askVendor(
      gateway,
      task,
      inDialect((exchange, codec, deployment) =>
        openRelay(gateway, task, { exchange, codec, vendor: deployment.setup.vendor }),
      ),
    )
    const { trace, hold } = task
    const readyMs = trace.times.begunMs ?? gateway.clock.monotonicMs()
    trace.firstByteMs = readyMs - trace.startedMs
    const open = await hold.opened
    const outMs = gateway.clock.monotonicMs()
    trace.times.firstOutMs = outMs
    noteGate(gateway, trace, 'intent', { fromMs: readyMs, toMs: outMs })
    if (!open) {
      opened.relay.exchange.abort()
      throw await gateway.book.whyFenced(task.key)
    }
    relaying = true
    return await relayed(gateway, task, opened)
  } catch (thrown) {
    if (!relaying) await endUnheard(gateway, task, thrown)
    throw thrown
  }
}

const relayed = async (
  gateway: Gateway,
  task: Task,
  { relay, first }: { readonly relay: Relay; readonly first: Uint8Array },
): Promise<Answer> => {
  const { exchange } = relay
  const pace = newPace()
  const stream = relayStream(gateway, task, { relay, first, pace })
  // A generator that is never started skips its `finally` and would leave the money held, so the first piece is taken
  // here. Guardrails may hold it back for long, so from now on the caller may go.
  const begins = stream.next()
  const gone = () => {
    if (readsOn(task, relay.cancel, relay.stream)) void endReadingOn(gateway, () => exchange.abort())
    else exchange.abort()
    void stream.return(undefined)
  }
  onCallerGone(task.signal, gone)
  const begun = await begins
  // A reader that takes nothing for too long counts as gone, even if its connection is open.
  gateway.memory.patience.watch(pace, gone)
  return {
    status: 200,
    headers: headersOf(task),
    body: begun.done === true ? new Uint8Array() : startedWith(begun.value, stream),
  }
}

const onCallerGone = (signal: AbortSignal, stop: () => void): void => {
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
}

/** Reads up to the first event with content, so that a vendor that fails at once can be replaced by another. */
const openRelay = async (
  gateway: Gateway,
  task: Task,
  from: { readonly exchange: Exchange; readonly codec: CallCodec; readonly vendor: Vendor },
): Promise<{ relay: Relay; first: Uint8Array }> => {
  const { exchange, codec, vendor } = from
  const relayOf = (stream: StreamRelay): Relay => ({
    exchange,
    cancel: vendor.cancel,
    stream,
    splitter: vendor.framing === 'aws' ? awsEventSplitter() : eventSplitter(stream.skip),
    keeper: holdKeeper(gateway, task),
    sent: gateway.receipts === undefined ? undefined : newBodyHasher(),
  })
  if (exchange.headers.get('content-type')?.includes('application/json') === true) {
    const { stream, first } = await wholeStream(exchange, codec)
    if (task.guard === undefined) return { relay: relayOf(stream), first }
    const guarded = guardedRelay(stream, task.guard, task)
    return { relay: relayOf(guarded), first: guarded.passed(first) ?? new Uint8Array() }
  }
  const its = codec.relay()
  const relay = relayOf(task.guard === undefined ? its : guardedRelay(its, task.guard, task))
  const { progress } = relay.stream
  const pieces: Uint8Array[] = []
  while (!progress.begun && !progress.done) {
    const piece = await exchange.next()
    if (piece === undefined) throw new VendorFault('body', 'the vendor ended its stream before it began')
    const out = forward(relay, piece)
    // What guardrails stop has begun, and is billed.
    if (isBlocked(task)) return { relay, first: concat(pieces) }
    if (progress.error !== undefined) throw beganWith(progress.error, progress.finished)
    if (progress.blocked) throw promptBlocked()
    if (out !== undefined) pieces.push(out)
  }
  return { relay, first: pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : concat(pieces) }
}

/** The stream of a whole answer: some vendors give no other, whatever they are asked for. */
const wholeStream = async (exchange: Exchange, codec: CallCodec): Promise<ReplyStream> => {
  const whole = (await readWhole(exchange, codec)).asStream()
  if (whole === undefined) throw new VendorFault('body', 'the vendor sent no stream')
  if (whole.stream.progress.blocked) throw promptBlocked()
  return whole
}

type Start = { readonly relay: Relay; readonly first: Uint8Array; readonly pace: Pace }

async function* relayStream(
  gateway: Gateway,
  task: Task,
  { relay, first, pace }: Start,
): AsyncGenerator<Uint8Array> {
  const { exchange } = relay
  const { progress } = relay.stream
  let ended = 'client_gone'
  let settled = false
  gateway.capacity.streams++
  try {
    if (first.length > 0) {
      relay.sent?.update(first)
      pace.offered = true
      yield first
      pace.offered = false
    }
    let covered: Covered = 'covered'
    while (!isOver(task, progress)) {
      const now = relay.keeper.covers(progress)
      covered = typeof now === 'string' ? now : yield* whileWaiting(gateway, { relay, pace }, now)
      if (task.keep?.full() === true) covered = 'spent'
      if (covered !== 'covered') break
      const piece = await nextPiece(exchange)
      const out = piece === undefined ? forwardRest(relay) : forward(relay, piece)
      if (out !== undefined) {
        relay.sent?.update(out)
        pace.offered = true
        yield out
        pace.offered = false
        pace.taken++
      }
      if (piece === undefined) break
    }
    if (task.signal.aborted) return
    task.trace.times.answeredMs = gateway.clock.monotonicMs()
    if (progress.done) exchange.leave()
    else exchange.abort()
    ended = isBlocked(task) ? BLOCKED : endedAs(covered, progress)
    settled = true
    const ending = await settleStream(gateway, task, relay, ended)
    pace.offered = true
    yield ending
  } finally {
    gateway.memory.patience.end(pace)
    gateway.capacity.streams--
    if (!settled) {
      await drainVendor(
        gateway,
        { exchange, keepsReading: readsOn(task, relay.cancel, relay.stream) },
        {
          read: (piece) => forward(relay, piece),
          done: () => isOver(task, progress),
        },
      )
      await settleStream(gateway, task, relay, ended)
    }
    endStream(task.trace)
  }
}

const isOver = (task: Task, { done, error }: Progress): boolean =>
  done || error !== undefined || isBlocked(task)

/** How a stream whose caller is there ended. */
const endedAs = (covered: Covered, { error, done, finished }: Progress): string => {
  if (covered === 'spent') return 'cost_ceiling'
  if (covered === 'away') return 'ledger_away'
  return error === undefined && (done || finished) ? 'ok' : 'vendor_failed'
}

/** After this long without a byte, a caller is shown that the stream goes on. */
const ALIVE_MS = 5_000
/** As a vendor's own sign of life: a comment, or what the caller's dialect has for it. */
const SIGN_OF_LIFE = { data: '', bytes: new TextEncoder().encode(keepAlive) }

/** Waits for more money. Callers and what is between see that the stream goes on. */
async function* whileWaiting(
  { clock }: Gateway,
  { relay, pace }: Pick<Start, 'relay' | 'pace'>,
  covered: Promise<Covered>,
): AsyncGenerator<Uint8Array, Covered> {
  for (;;) {
    const known = await Promise.race([covered, clock.sleep(ALIVE_MS).then(() => undefined)])
    if (known !== undefined) return known
    const sign = relay.stream.follow(SIGN_OF_LIFE)
    if (sign === undefined) continue
    relay.sent?.update(sign)
    pace.offered = true
    yield sign
    pace.offered = false
  }
}

/** When a vendor breaks off in mid-stream, the stream ends; what it had sent decides whether the answer was complete. */
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

/** Passes a piece on. If nothing in it is held back or rewritten, its own bytes are used. */
const forward = (relay: Relay, piece: Uint8Array): Uint8Array | undefined => {
  const out: Uint8Array[] = []
  let end = -1
  for (const event of eventsOf(relay, piece)) {
    const bytes = relay.stream.follow(event)
    if (bytes === undefined) continue
    const last = out.at(-1)
    // Adjacent pieces of one buffer go out as one slice, without a copy.
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

/** The events that a piece completes; damaged framing ends the stream like any other fault of the vendor. */
const eventsOf = (relay: Relay, piece: Uint8Array) => {
  try {
    return relay.splitter.feed(piece)
  } catch (fault) {
    brokenOff(fault)
    relay.stream.progress.error = { message: 'the vendor sent a damaged stream' }
    return []
  }
}

/** An event counts even if the vendor left out its last blank line; half an event does not. */
const forwardRest = (relay: Relay): Uint8Array | undefined => {
  const rest = relay.splitter.remainder()
  return rest !== undefined && (rest.data === '[DONE]' || parseJson(rest.data) !== undefined)
    ? forward(relay, BLANK_LINE)
    : undefined
}

const BLANK_LINE = new TextEncoder().encode('\n\n')
