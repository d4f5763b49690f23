/**
 * The writer: group commit. One flush is under way at a time; what arrives meanwhile forms the next. No timer: alone, a
 * call waits for nothing but its own commit; under load the batches grow by themselves.
 *
 * A flush whose outcome is unknown is sent again word for word until it is known: repeating it changes nothing.
 */
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type {
  CallId,
  FlushBatch,
  FlushResult,
  InstanceId,
  Intent,
  Progress,
  Settle,
} from '../ledger/words.ts'
import { Violation } from '../store/engine.ts'
import type { LedgerStore } from '../store/port.ts'

type Op =
  | {
      readonly kind: 'intent'
      readonly intent: Intent
      readonly queuedMs: number
      readonly done: (opened: boolean) => void
    }
  | {
      readonly kind: 'progress'
      readonly progress: Progress
      readonly queuedMs: number
      readonly done: (extended: boolean) => void
    }
  | {
      readonly kind: 'settle'
      readonly settle: Settle
      readonly queuedMs: number
      readonly done: (remaining: Nano | undefined) => void
    }
  | { readonly kind: 'void'; readonly callId: CallId; readonly queuedMs: number; readonly done: () => void }

export type Writer = {
  /** `done(false)`: fenced, or not known in time; the call must not answer and is to be voided. */
  intent(intent: Intent, done: (opened: boolean) => void): void
  progress(progress: Progress, done: (extended: boolean) => void): void
  /** `done(undefined)`: the call was not open, so nothing was charged. */
  settle(settle: Settle, done: (remaining: Nano | undefined) => void): void
  void(callId: CallId, done: () => void): void
  /** Gives up on intents that have waited too long; called at every heartbeat. */
  expire(): void
  queued(): number
  oldestMs(): number
  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void>
}

const BATCH_MAX = 256
/** The outcome of operations that had no effect. */
const NOTHING: FlushResult = { opened: new Set(), extended: new Set(), settled: new Map() }
const INTENT_WAIT_MS = 2_000
const RESEND_FIRST_MS = 20
const RESEND_LONGEST_MS = 500

export type WriterParts = {
  readonly store: Pick<LedgerStore, 'flush'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly log: Log
}

export const createWriter = ({ store, clock, instance, log }: WriterParts): Writer => {
  let queue: Op[] = []
  let current: Op[] = []
  let busy = false
  let waiting: (() => void)[] = []

  const send = async (ops: readonly Op[]): Promise<void> => {
    const result = await flushed(ops)
    if (result === 'refused') return poisoned(ops)
    dropSettlesOf(ops.filter((op) => op.kind === 'intent' && !result.opened.has(op.intent.callId)))
    conclude(ops, result)
  }

  /** The outcome of a batch, however long it takes to learn it; `refused` when a law of the ledger stopped it. */
  const flushed = async (ops: readonly Op[]): Promise<FlushResult | 'refused'> => {
    const batch = batchOf(instance, ops)
    for (let pauseMs = RESEND_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RESEND_LONGEST_MS)) {
      try {
        return await store.flush(batch)
      } catch (error) {
        if (error instanceof Violation) {
          log.error('the ledger refused a batch', { ops: ops.length, error: error.message })
          return 'refused'
        }
        log.warn('flush is sent again', { ops: ops.length, error: String(error) })
        await clock.sleep(pauseMs)
      }
    }
  }

  /** A charge that waits behind an intent which was fenced must not be sent: its call may not answer. */
  const dropSettlesOf = (fenced: readonly Op[]): void => {
    if (fenced.length === 0) return
    const calls = new Set(fenced.map((op) => (op.kind === 'intent' ? op.intent.callId : '')))
    const isDropped = (op: Op): boolean => op.kind === 'settle' && calls.has(op.settle.callId)
    const dropped = queue.filter(isDropped)
    if (dropped.length === 0) return
    queue = queue.filter((op) => !isDropped(op))
    conclude(dropped, NOTHING)
  }

  /** A refused batch is a bug: its operations are sent one by one, so that only the guilty fails. */
  const poisoned = async (ops: readonly Op[]): Promise<void> => {
    if (ops.length === 1) return conclude(ops, NOTHING)
    for (const op of ops) await send([op])
  }

  const pump = async (): Promise<void> => {
    busy = true
    while (queue.length > 0) {
      // An embedded engine commits without letting go of the thread: what is ready now must be in the queue before.
      await clock.turn()
      const count = batchLength(queue)
      current = queue.slice(0, count)
      queue = queue.slice(count)
      await send(current)
      current = []
    }
    busy = false
    for (const wake of waiting) wake()
    waiting = []
  }

  const add = (op: Op): void => {
    queue.push(op)
    if (!busy) void pump()
  }

  return {
    intent: (intent, done) =>
      add({ kind: 'intent', intent, queuedMs: clock.monotonicMs(), done: once(done) }),
    progress: (progress, done) => add({ kind: 'progress', progress, queuedMs: clock.monotonicMs(), done }),
    settle: (settle, done) => add({ kind: 'settle', settle, queuedMs: clock.monotonicMs(), done }),
    void: (callId, done) => add({ kind: 'void', callId, queuedMs: clock.monotonicMs(), done }),
    expire: () => {
      const limit = clock.monotonicMs() - INTENT_WAIT_MS
      for (const op of [...current, ...queue]) if (op.kind === 'intent' && op.queuedMs < limit) op.done(false)
    },
    queued: () => queue.length + current.length,
    oldestMs: () => {
      const oldest = current[0] ?? queue[0]
      return oldest === undefined ? 0 : clock.monotonicMs() - oldest.queuedMs
    },
    idle: () => (busy ? new Promise((wake) => waiting.push(wake)) : Promise.resolve()),
  }
}

/**
 * How many operations go out together. A flush opens calls before it voids calls, so a call that is voided and opened
 * again (a repeat under the same id) takes two flushes.
 */
const batchLength = (queue: readonly Op[]): number => {
  const voided = new Set<CallId>()
  for (const [index, op] of queue.entries()) {
    if (index === BATCH_MAX || (op.kind === 'intent' && voided.has(op.intent.callId))) return index
    if (op.kind === 'void') voided.add(op.callId)
  }
  return queue.length
}

const once = (done: (opened: boolean) => void): ((opened: boolean) => void) => {
  let told = false
  return (opened) => {
    if (told) return
    told = true
    done(opened)
  }
}

const batchOf = (instance: InstanceId, ops: readonly Op[]): FlushBatch => {
  const intents: Intent[] = []
  const progress: Progress[] = []
  const settles: Settle[] = []
  const voids: CallId[] = []
  for (const op of ops)
    switch (op.kind) {
      case 'intent':
        intents.push(op.intent)
        break
      case 'progress':
        progress.push(op.progress)
        break
      case 'settle':
        settles.push(op.settle)
        break
      case 'void':
        voids.push(op.callId)
        break
      default:
        op satisfies never
    }
  return { instance, intents, progress, settles, voids }
}

const conclude = (ops: readonly Op[], result: FlushResult): void => {
  for (const op of ops)
    switch (op.kind) {
      case 'intent':
        op.done(result.opened.has(op.intent.callId))
        break
      case 'progress':
        op.done(result.extended.has(op.progress.callId))
        break
      case 'settle':
        op.done(result.settled.get(op.settle.callId))
        break
      case 'void':
        op.done()
        break
      default:
        op satisfies never
    }
}
