/**
 * The writer: group commit. One flush is under way at a time; what arrives meanwhile forms the next. No timer: alone, a
 * call waits for nothing but its own commit; under load the batches grow by themselves.
 *
 * A flush whose outcome is unknown is sent again word for word until it is known: repeating it changes nothing. While
 * the ledger does not answer, settlements of calls that are known to be open go to the journal, so that answers can end.
 */
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { CallId, FlushResult, InstanceId, Intent, Progress, Settle } from '../ledger/words.ts'
import { Violation } from '../store/engine.ts'
import type { LedgerStore } from '../store/port.ts'
import { batchLength, batchOf, type Op, type SettleEnds, type SettleOp } from './batch.ts'
import type { Journal } from './journal.ts'

export type Writer = {
  /** `done(false)`: fenced, or not known in time; the call must not answer and is to be voided. */
  intent(intent: Intent, done: (opened: boolean) => void): void
  progress(progress: Progress, done: (extended: boolean) => void): void
  settle(settle: Settle, ends: SettleEnds): void
  /** Settles what an earlier process left in its journal; resolves whether the ledger has it now. */
  resettle(settle: Settle): Promise<boolean>
  void(callId: CallId, done: (chargedBefore: Nano) => void): void
  /** Gives up on intents that have waited too long, and keeps settlements that have; called a few times a second. */
  expire(): void
  queued(): number
  oldestMs(): number
  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void>
}

/** The outcome of operations that had no effect. */
const NOTHING: FlushResult = {
  opened: new Set(),
  extended: new Set(),
  settled: new Map(),
  chargedBefore: new Map(),
  answeredElsewhere: new Set(),
}
const INTENT_WAIT_MS = 2_000
/** A settlement goes to the journal after a flush has failed, or when it has waited for so long. */
const SETTLE_WAIT_MS = 1_000
const RESEND_FIRST_MS = 20
const RESEND_LONGEST_MS = 500

type WriterParts = {
  readonly store: Pick<LedgerStore, 'flush'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly log: Log
  /** Absent where the ledger itself is local. */
  readonly journal: Journal | undefined
}

export const createWriter = ({ store, clock, instance, log, journal }: WriterParts): Writer => {
  let queue: Op[] = []
  let current: readonly Op[] = []
  let busy = false
  let failing = false
  let keeping = false
  let journalFails = false
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
        const result = await store.flush(batch)
        failing = false
        return result
      } catch (error) {
        if (error instanceof Violation) {
          failing = false
          log.error('the ledger refused a batch', { ops: ops.length, error: error.message })
          return 'refused'
        }
        log.warn('flush is sent again', { ops: ops.length, error: String(error) })
        failing = true
        void keepDue()
        await clock.sleep(pauseMs)
      }
    }
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
          concludeSettle(op, result)
          break
        case 'void':
          op.done(result.chargedBefore.get(op.callId) ?? 0n)
          break
        default:
          op satisfies never
      }
  }

  const concludeSettle = (op: SettleOp, result: FlushResult): void => {
    const { callId, charge } = op.settle
    // What was kept in the journal has been answered.
    const mayAnswer = op.safe || !result.answeredElsewhere.has(callId)
    const remaining = mayAnswer ? result.settled.get(callId) : undefined
    // One that was answered and then refused is a bug: it stays in the journal, to be looked into.
    if (remaining !== undefined || !op.safe) journal?.inLedger(callId)
    else log.error('the ledger refused a settlement of the journal', { call: callId, charged: charge })
    op.safe = true
    op.ends.done(remaining, result.chargedBefore.get(callId) ?? 0n)
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

  /** Calls whose intent was given up are voided in place of a settlement that was not sent yet. */
  const voidSettlesOf = (givenUp: ReadonlySet<CallId>): void => {
    if (givenUp.size === 0) return
    queue = queue.map((op) =>
      op.kind === 'settle' && !op.safe && givenUp.has(op.settle.callId) ? voidInstead(op) : op,
    )
  }

  /** A refused batch is a bug: its operations are sent one by one, so that only the guilty fails. */
  const poisoned = async (ops: readonly Op[]): Promise<void> => {
    if (ops.length === 1) return conclude(ops, NOTHING)
    for (const [index, op] of ops.entries()) {
      current = ops.slice(index)
      await send([op])
    }
  }

  /** Settlements that have waited too long, of calls whose intent is not in doubt: those may be answered. */
  const dueForJournal = (): readonly SettleOp[] => {
    const before = failing ? Number.POSITIVE_INFINITY : clock.monotonicMs() - SETTLE_WAIT_MS
    const ops = [...current, ...queue]
    const inDoubt = new Set(ops.map((op) => (op.kind === 'intent' ? op.intent.callId : '')))
    return ops.filter(
      (op): op is SettleOp =>
        op.kind === 'settle' && !op.safe && op.queuedMs < before && !inDoubt.has(op.settle.callId),
    )
  }

  /** One append at a time; what becomes due meanwhile goes into the next. */
  const keepDue = async (): Promise<void> => {
    if (journal === undefined || keeping) return
    keeping = true
    try {
      for (let due = dueForJournal(); due.length > 0; due = dueForJournal()) {
        await journal.keep(due.map(({ settle }) => settle))
        for (const op of due) if (!op.safe) markKept(op)
      }
      journalFails = false
    } catch (error) {
      // The answers go on waiting for the ledger, as they would without a journal.
      if (!journalFails) log.error('the journal cannot be written', { error: String(error) })
      journalFails = true
    } finally {
      keeping = false
    }
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
    else if (failing && op.kind === 'settle') void keepDue()
  }

  return {
    intent: (intent, done) =>
      add({ kind: 'intent', intent, queuedMs: clock.monotonicMs(), done: once(done) }),
    progress: (progress, done) => add({ kind: 'progress', progress, queuedMs: clock.monotonicMs(), done }),
    settle: (settle, ends) =>
      add({ kind: 'settle', settle, queuedMs: clock.monotonicMs(), ends, safe: false }),
    resettle: (settle) =>
      new Promise((resolve) => {
        const ends = {
          kept: nothing,
          dropped: nothing,
          done: (remaining?: Nano) => resolve(remaining !== undefined),
        }
        add({ kind: 'settle', settle, queuedMs: clock.monotonicMs(), ends, safe: true })
      }),
    void: (callId, done) => add({ kind: 'void', callId, queuedMs: clock.monotonicMs(), done }),
    expire: () => {
      const limit = clock.monotonicMs() - INTENT_WAIT_MS
      const givenUp = new Set<CallId>()
      for (const op of [...current, ...queue])
        if (op.kind === 'intent' && op.queuedMs < limit) {
          givenUp.add(op.intent.callId)
          op.done(false)
        }
      voidSettlesOf(givenUp)
      void keepDue()
    },
    queued: () => queue.length + current.length,
    oldestMs: () => {
      const oldest = current[0] ?? queue[0]
      return oldest === undefined ? 0 : clock.monotonicMs() - oldest.queuedMs
    },
    idle: () => (busy ? new Promise((wake) => waiting.push(wake)) : Promise.resolve()),
  }
}

const nothing = (): void => undefined

const voidInstead = ({ settle, queuedMs, ends }: SettleOp): Op => {
  ends.dropped()
  return { kind: 'void', callId: settle.callId, queuedMs, done: (before) => ends.done(undefined, before) }
}

const markKept = (op: SettleOp): void => {
  op.safe = true
  op.ends.kept()
}

const once = (done: (opened: boolean) => void): ((opened: boolean) => void) => {
  let told = false
  return (opened) => {
    if (told) return
    told = true
    done(opened)
  }
}
