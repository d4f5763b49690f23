/**
 * Outages of the ledger: while it does not answer, settlements of calls that are known to be open go to the outbox, so
 * that answers can end. The commit pump keeps sending them.
 */
import type { Log } from '../core/log.ts'
import type { Clock } from '../core/time.ts'
import { mayBeRepeated, type OperationQueue, type SettleOperation } from './operation-queue.ts'
import type { Outbox } from './outbox.ts'

/** A settlement goes to the outbox after a commit has failed, or when it has waited this long. */
const SETTLE_WAIT_MS = 1_000

type OutageParts = {
  readonly queue: OperationQueue
  readonly clock: Clock
  readonly log: Log
  /** Absent when the ledger is on this machine. */
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

  ledgerAnswered(): void {
    this.#ledgerFails = false
  }

  ledgerFailed(): void {
    this.#ledgerFails = true
    void this.keepDue()
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

  /**
   * Settlements that have waited too long, of calls that may be answered without the ledger: their intent is not in
   * doubt, and nobody else can make an answer of them.
   */
  #due(): readonly SettleOperation[] {
    const { queue, clock } = this.#parts
    const before = this.#ledgerFails ? Number.POSITIVE_INFINITY : clock.monotonicMs() - SETTLE_WAIT_MS
    const operations = queue.all()
    const inDoubt = new Set(operations.map((one) => (one.kind === 'intent' ? one.intent.callId : '')))
    return operations.filter(
      (one): one is SettleOperation =>
        one.kind === 'settle' &&
        !one.safe &&
        !mayBeRepeated(one) &&
        one.queuedMs < before &&
        !inDoubt.has(one.settle.callId),
    )
  }
}

const markKept = (operation: SettleOperation): void => {
  operation.safe = true
  operation.ends.kept()
}
