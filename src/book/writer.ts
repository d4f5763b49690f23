/**
 * The writer: group commit. Calls queue what must become durable and learn when it is. `commit-pump.ts` sends it;
 * `outage.ts` keeps settlements on the local disk while the ledger is away.
 */
import type { Nano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { CallId, Checkpoint, Intent, Settle } from '../ledger/types.ts'
import { CommitPump, type PumpParts } from './commit-pump.ts'
import { expireIntents, reportDoubt } from './expire-intents.ts'
import type { IntentEnds, Operation, OperationQueue, SettleEnds } from './operation-queue.ts'
import { Outage } from './outage.ts'

type WriterParts = Omit<PumpParts, 'outage'> & {
  /** Whether the ledger answers heartbeats. */
  readonly inTouch: () => boolean
}

export class Writer {
  readonly #clock: Clock
  readonly #queue: OperationQueue
  readonly #outage: Outage
  readonly #inTouch: () => boolean
  readonly #hasOutbox: boolean
  readonly #pump: CommitPump

  constructor(parts: WriterParts) {
    this.#queue = parts.queue
    this.#clock = parts.clock
    this.#outage = new Outage(parts)
    this.#inTouch = parts.inTouch
    this.#hasOutbox = parts.outbox !== undefined
    this.#pump = new CommitPump({ ...parts, outage: this.#outage })
  }

  /** A call whose intent was fenced, or did not become durable in time, must not answer and is to be voided. */
  intent(intent: Intent, ends: IntentEnds): void {
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
    if (!this.#inTouch()) reportDoubt(this.#queue, nowMs, this.#hasOutbox)
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
