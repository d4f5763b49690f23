/**
 * The commit pump: sends what is queued to the ledger, one batch at a time; what arrives meanwhile forms the next
 * batch. There is no timer: a single call waits only for its own commit, and under load the batches grow by themselves.
 *
 * A commit with an unknown outcome is sent again, word for word, until the outcome is known: repeating it changes
 * nothing.
 */
import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import type { CommitResult, InstanceId } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import { Violation } from '../store/engine/engine.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import { batchOf, type Operation, type OperationQueue, type SettleOperation } from './operation-queue.ts'
import type { Outage } from './outage.ts'
import type { Outbox } from './outbox.ts'

/**
 * How many turns of the event loop a batch waits for more. An idle process takes them in microseconds. A busy one
 * commits half as often as with one turn, and a commit is the most expensive step of a call.
 */
const TURNS = 4
const RESEND_FIRST_MS = 20
const RESEND_LONGEST_MS = 500

export type PumpParts = {
  readonly store: Pick<LedgerStore, 'commit'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly log: Log
  /** Absent when the ledger is on this machine. */
  readonly outbox: Outbox | undefined
  readonly queue: OperationQueue
  readonly outage: Outage
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
    const { clock, outbox, queue } = this.#parts
    this.#runs = true
    while (!queue.isEmpty) {
      // An embedded engine commits without releasing the thread, so everything that is ready now must be queued first.
      // With enough for a batch waiting gains nothing, and turns are long just when many wait.
      for (let turn = 0; turn < TURNS && !queue.hasEnough; turn++) await clock.turn()
      await this.#send(queue.takeBatch(outbox !== undefined))
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

type ConcludeParts = { readonly log: Log; readonly outbox: Outbox | undefined }

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
        operation.done(result.chargedBefore.get(operation.callId) ?? 0n)
        break
      default:
        operation satisfies never
    }
}

const concludeSettle = (
  { log, outbox }: ConcludeParts,
  operation: SettleOperation,
  result: CommitResult,
): void => {
  const { callId, charge } = operation.settle
  // Settlements in the outbox have already been answered.
  const mayAnswer = operation.safe || !result.answeredElsewhere.has(callId)
  const remaining = mayAnswer ? result.settled.get(callId) : undefined
  // A settlement that was answered and then refused is a bug. It stays in the outbox, so that somebody can investigate.
  if (remaining !== undefined || !operation.safe) outbox?.inLedger(callId)
  else log.error('the ledger refused a settlement of the journal', { call: callId, charged: charge })
  operation.safe = true
  operation.ends.done(remaining, result.chargedBefore.get(callId) ?? 0n)
}
