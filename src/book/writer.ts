/**
 * The writer: group commit. Calls queue what must become durable and learn when it is. The pump sends what is queued to
 * the ledger, one batch at a time; what arrives meanwhile forms the next batch. There is no timer: a single call waits
 * only for its own commit, and under load the batches grow by themselves.
 *
 * A commit with an unknown outcome is sent again, word for word, until the outcome is known: repeating it changes
 * nothing. While the ledger does not answer, settlements of calls that are known to be open go to the outbox, so that
 * answers can end; the pump keeps sending them.
 */

import { Lately, LatelyFree } from '../core/lately.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { CallId, Checkpoint, CommitResult, InstanceId, Intent, Settle } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import { Violation } from '../store/engine/engine.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import { expireIntents, reportDoubt } from './expire-intents.ts'
import {
  batchOf,
  type IntentEnds,
  mayBeRepeated,
  type Operation,
  type OperationQueue,
  type SettleEnds,
  type SettleOperation,
} from './operation-queue.ts'
import type { Outbox } from './outbox.ts'

/** A settlement goes to the outbox after a commit has failed, or when it has waited this long. */
const SETTLE_WAIT_MS = 1_000

type OutageParts = {
  readonly queue: OperationQueue
  readonly clock: Clock
  readonly log: Log
  readonly outbox: Outbox | undefined
}

export class Outage {
  readonly #parts: OutageParts
  #ledgerFails = false
  #outboxFails = false
  #keeps = false

  constructor(parts: OutageParts) {
    this.#parts = parts
  }

  /** Whether the last commit failed. */
  get ledgerFails(): boolean {
    return this.#ledgerFails
  }

  ledgerAnswered(): void {
    this.#ledgerFails = false
  }

  ledgerFailed(): void {
    this.#ledgerFails = true
    void this.keepDue()
  }

  /**
   * Whether an answer ends only with the ledger's, and not by the outbox: there is none that can be written, or this
   * settlement is not for it.
   */
  needsLedger(): (operation: SettleOperation) => boolean {
    if (this.#parts.outbox === undefined || this.#outboxFails) return () => true
    const mayBeKept = this.#mayBeKept()
    return (operation) => !mayBeKept(operation)
  }

  /** A settlement arrived while others are being committed: during an outage it does not wait for them. */
  settlementCame(): void {
    if (this.#ledgerFails) void this.keepDue()
  }

  /** Puts due settlements into the outbox. One append at a time; what becomes due meanwhile goes into the next. */
  async keepDue(): Promise<void> {
    const { outbox, log } = this.#parts
    if (outbox === undefined || this.#keeps) return
    this.#keeps = true
    try {
      for (let due = this.#due(); due.length > 0; due = this.#due()) {
        await outbox.keep(due.map(({ settle }) => settle))
        for (const operation of due) if (!operation.safe) markKept(operation)
      }
      this.#outboxFails = false
    } catch (error) {
      // The answers keep waiting for the ledger, as they do without an outbox.
      if (!this.#outboxFails) log.error('the journal cannot be written', { error: String(error) })
      this.#outboxFails = true
    } finally {
      this.#keeps = false
    }
  }

  /** Settlements that have waited too long, of calls that may be answered without the ledger. */
  #due(): readonly SettleOperation[] {
    const { queue, clock } = this.#parts
    const before = this.#ledgerFails ? Number.POSITIVE_INFINITY : clock.monotonicMs() - SETTLE_WAIT_MS
    const mayBeKept = this.#mayBeKept()
    return queue
      .all()
      .filter(
        (one): one is SettleOperation =>
          one.kind === 'settle' && !one.safe && one.queuedMs < before && mayBeKept(one),
      )
  }

  /** Which calls may be answered without the ledger: their intent is not in doubt, and nobody else can make an answer. */
  #mayBeKept(): (operation: SettleOperation) => boolean {
    const operations = this.#parts.queue.all()
    const inDoubt = new Set(operations.map((one) => (one.kind === 'intent' ? one.intent.callId : '')))
    return (one) => !mayBeRepeated(one) && !inDoubt.has(one.settle.callId)
  }
}

const markKept = (operation: SettleOperation): void => {
  operation.safe = true
  operation.ends.kept()
}

/**
 * How many turns of the event loop a batch waits for more. An idle process takes them in microseconds. A busy one
 * commits half as often as with one turn, and a commit is the most expensive step of a call.
 */
const TURNS = 4
const RESEND_FIRST_MS = 20
const RESEND_LONGEST_MS = 500

type PumpParts = {
  readonly store: Pick<LedgerStore, 'commit'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly log: Log
  readonly outbox: Outbox | undefined
  /** Whether the ledger is in this process, which knows of each commit whether it was made. */
  readonly local?: boolean | undefined
  readonly queue: OperationQueue
  readonly outage: Outage
  readonly acknowledged?: Acknowledged | undefined
  readonly meters?: Pick<Meters, 'committed' | 'commitFailed'> | undefined
}

export class CommitPump {
  readonly #parts: PumpParts
  #runs = false
  #waitingForIdle: (() => void)[] = []

  constructor(parts: PumpParts) {
    this.#parts = parts
  }

  /** Whether it is running. It runs until the queue is empty. */
  get runs(): boolean {
    return this.#runs
  }

  start(): void {
    if (!this.#runs) void this.#run()
  }

  /** Resolves when nothing is queued or being committed. */
  idle(): Promise<void> {
    return this.#runs ? new Promise((wake) => this.#waitingForIdle.push(wake)) : Promise.resolve()
  }

  async #run(): Promise<void> {
    const { clock, outbox, queue, local } = this.#parts
    this.#runs = true
    while (!queue.isEmpty) {
      // An embedded engine commits without releasing the thread, so everything that is ready now must be queued first.
      // With enough for a batch waiting gains nothing, and turns are long just when many wait.
      for (let turn = 0; turn < TURNS && !queue.hasEnough; turn++) await clock.turn()
      await this.#send(queue.takeBatch(outbox !== undefined && local !== true))
      queue.setUnderWay([])
    }
    this.#runs = false
    for (const wake of this.#waitingForIdle) wake()
    this.#waitingForIdle = []
  }

  async #send(operations: readonly Operation[]): Promise<void> {
    const result = await this.#commit(operations)
    if (result === 'refused') return this.#sendEach(operations)
    this.#withdrawFenced(
      operations.filter((one) => one.kind === 'intent' && !result.opened.has(one.intent.callId)),
    )
    conclude(this.#parts, operations, result)
  }

  /** The outcome of a batch, however long it takes to learn it; `refused` if a constraint of the ledger stopped it. */
  async #commit(operations: readonly Operation[]): Promise<CommitResult | 'refused'> {
    const { store, clock, instance, log, outage, meters } = this.#parts
    const batch = batchOf(instance, operations)
    for (let pauseMs = RESEND_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RESEND_LONGEST_MS)) {
      const sentMs = clock.monotonicMs()
      try {
        const result = await store.commit(batch)
        meters?.committed(operations.length, sentMs, clock.monotonicMs())
        outage.ledgerAnswered()
        return result
      } catch (error) {
        if (error instanceof Violation) {
          outage.ledgerAnswered()
          log.error('the ledger refused a batch', { ops: operations.length, error: error.message })
          return 'refused'
        }
        // Once for an outage: the heartbeat says when it is over.
        if (!outage.ledgerFails)
          log.warn('a commit is sent again', { ops: operations.length, error: String(error) })
        meters?.commitFailed()
        outage.ledgerFailed()
        await clock.sleep(pauseMs)
      }
    }
  }

  /** A refused batch is a bug. Its operations are sent one by one, so that only the faulty one fails. */
  async #sendEach(operations: readonly Operation[]): Promise<void> {
    if (operations.length === 1) return conclude(this.#parts, operations, NO_EFFECT)
    for (const [index, operation] of operations.entries()) {
      this.#parts.queue.setUnderWay(operations.slice(index))
      await this.#send([operation])
    }
  }

  /** A charge behind a fenced intent must not be sent: its call may not answer. */
  #withdrawFenced(fenced: readonly Operation[]): void {
    if (fenced.length === 0) return
    const calls = new Set(fenced.map((one) => (one.kind === 'intent' ? one.intent.callId : '')))
    const withdrawn = this.#parts.queue.withdraw(
      (one) => one.kind === 'settle' && calls.has(one.settle.callId),
    )
    conclude(this.#parts, withdrawn, NO_EFFECT)
  }
}

/** The outcome of operations that had no effect. */
const NO_EFFECT: CommitResult = {
  opened: new Set(),
  extended: new Set(),
  settled: new Map(),
  chargedBefore: new Map(),
  answeredElsewhere: new Set(),
}

/** What the ledger acknowledged lately. */
type Acknowledged = { readonly charges: Lately<Settle>; readonly free: LatelyFree }

type ConcludeParts = {
  readonly log: Log
  readonly clock: Clock
  readonly outbox: Outbox | undefined
  /** Undefined where the ledger is in this process, which cannot lose what it acknowledged. */
  readonly acknowledged?: Acknowledged | undefined
}

/** Reports to each operation of a batch how it ended. */
const conclude = (parts: ConcludeParts, operations: readonly Operation[], result: CommitResult): void => {
  for (const operation of operations)
    switch (operation.kind) {
      case 'intent':
        operation.ends.intentEnded(result.opened.has(operation.intent.callId))
        break
      case 'progress':
        operation.done(result.extended.has(operation.progress.callId))
        break
      case 'settle':
        concludeSettle(parts, operation, result)
        break
      case 'void':
        parts.acknowledged?.free.add(operation.callId, parts.clock.monotonicMs())
        operation.done(result.chargedBefore.get(operation.callId) ?? 0n)
        break
      default:
        operation satisfies never
    }
}

const concludeSettle = (
  { log, clock, outbox, acknowledged }: ConcludeParts,
  operation: SettleOperation,
  result: CommitResult,
): void => {
  const { callId, charge, answer } = operation.settle
  // Settlements in the outbox have already been answered.
  const mayAnswer = operation.safe || !result.answeredElsewhere.has(callId)
  const remaining = mayAnswer ? result.settled.get(callId) : undefined
  if (remaining !== undefined && charge > 0n)
    acknowledged?.charges.add(operation.settle, clock.monotonicMs(), answer?.answer.body.length)
  else if (remaining !== undefined) acknowledged?.free.add(callId, clock.monotonicMs())
  // A settlement that was answered and then refused is a bug. It stays in the outbox, so that somebody can investigate.
  if (remaining !== undefined || !operation.safe) outbox?.inLedger(callId)
  else log.error('the ledger refused a settlement of the journal', { call: callId, charged: charge })
  operation.safe = true
  operation.ends.done(remaining, result.chargedBefore.get(callId) ?? 0n)
}

type WriterParts = Omit<PumpParts, 'outage' | 'acknowledged'> & {
  /** Whether the ledger answers heartbeats. */
  readonly inTouch: () => boolean
}

export class Writer {
  readonly acknowledged: Acknowledged = { charges: new Lately(), free: new LatelyFree() }
  readonly #clock: Clock
  readonly #queue: OperationQueue
  readonly #outage: Outage
  readonly #inTouch: () => boolean
  readonly #local: boolean
  readonly #pump: CommitPump

  constructor(parts: WriterParts) {
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#outage = new Outage(parts)
    this.#inTouch = parts.inTouch
    this.#local = parts.local === true
    const acknowledged = this.#local ? undefined : this.acknowledged
    this.#pump = new CommitPump({ ...parts, outage: this.#outage, acknowledged })
  }

  /** A call whose intent was fenced, or did not become durable in time, must not answer and is to be voided. */
  intent(intent: Intent, ends: IntentEnds): void {
    if (!this.#local) this.acknowledged.free.opened(intent.callId)
    this.#add({ kind: 'intent', intent, queuedMs: this.#clock.monotonicMs(), ends })
  }

  progress(progress: Checkpoint, done: (extended: boolean) => void): void {
    this.#add({ kind: 'progress', progress, queuedMs: this.#clock.monotonicMs(), done })
  }

  settle(settle: Settle, ends: SettleEnds): void {
    this.#add({ kind: 'settle', settle, queuedMs: this.#clock.monotonicMs(), ends, safe: false })
  }

  /** Settles what an earlier process left in its outbox; resolves with whether the ledger has it now. */
  resettle(settle: Settle): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (remaining: Nano | undefined) => resolve(remaining !== undefined)
      const ends = { kept: nothing, dropped: nothing, inDoubt: nothing, done }
      this.#add({ kind: 'settle', settle, queuedMs: this.#clock.monotonicMs(), ends, safe: true })
    })
  }

  void(callId: CallId, done: (chargedBefore: Nano) => void): void {
    this.#add({ kind: 'void', callId, queuedMs: this.#clock.monotonicMs(), done })
  }

  /**
   * Gives up intents that have waited too long. Settlements that have are put into the outbox or reported as in doubt.
   * Called a few times a second.
   */
  expire(): void {
    const nowMs = this.#clock.monotonicMs()
    expireIntents(this.#queue, nowMs)
    if (!this.#inTouch()) reportDoubt(this.#queue, nowMs, this.#outage.needsLedger())
    void this.#outage.keepDue()
  }

  /** Operations that are queued or being committed. */
  queued(): number {
    return this.#queue.length
  }

  /** How long the oldest of them has waited; 0 when there is none. */
  oldestMs(): number {
    const { oldestMs } = this.#queue
    return oldestMs === undefined ? 0 : this.#clock.monotonicMs() - oldestMs
  }

  /** Resolves when nothing is queued or being committed. */
  idle(): Promise<void> {
    return this.#pump.idle()
  }

  #add(operation: Operation): void {
    this.#queue.add(operation)
    if (!this.#pump.runs) this.#pump.start()
    else if (operation.kind === 'settle') this.#outage.settlementCame()
  }
}

const nothing = (): void => undefined
