/**
 * The place of one path's lease in the pool. Calls take room from it in memory. When there is none, one call asks the
 * ledger and is served first from its answer; the others wait for that answer, in order of arrival.
 */
import type { Refusal } from '../core/refusal.ts'
import type { LoanRefused } from '../ledger/types.ts'
import type { Borrower } from './borrower.ts'
import type { HoldRefused } from './contract.ts'
import { covers, holdOn, type Lease, type LeaseRequest, runsLow } from './lease.ts'
import { unreachable } from './touch.ts'
import type { Waits } from './waits.ts'

/** Room on a lease, or why there is none. */
export type LeaseTaken = Lease | Refusal | HoldRefused

export type SlotParts = {
  readonly nowMs: () => number
  /** The last check before money is held: by what is known now, not by what was known when the call arrived. */
  readonly stillRefused: (ask: LeaseRequest) => Refusal | undefined
  /** What the ledger's refusal means for the call. */
  readonly refusalOf: (ask: LeaseRequest, refused: LoanRefused) => Promise<Refusal | HoldRefused>
  readonly waits: Waits
}

/** How long a call waits for money to come back from leases of other processes or from open calls. */
const PATIENCE_MS = 2_000
/** How many answers may be out of date on arrival. After that the ledger counts as out of reach. */
const OUTDATED_TRIES = 20

export class LeaseSlot {
  readonly borrower: Borrower
  readonly #parts: SlotParts
  /** The request to the ledger that is in progress. */
  #asking: Promise<unknown> | undefined
  /** Calls that ask the ledger, or wait before they ask again. */
  #waiting = 0

  constructor(parts: SlotParts, borrower: Borrower) {
    this.#parts = parts
    this.borrower = borrower
  }

  /** A call that still waits would put its lease into a slot that nobody can find any more. */
  get isInUse(): boolean {
    return this.#asking !== undefined || this.#waiting > 0
  }

  /** Takes room for one hold, or says why there is none. */
  take(ask: LeaseRequest): LeaseTaken | Promise<LeaseTaken> {
    const taken = this.#takeNow(ask)
    if (taken !== undefined) return taken
    this.#waiting++
    return this.#takeFromLedger(ask)
      .catch(unreachable)
      .finally(() => this.#waiting--)
  }

  /** From memory; undefined when the ledger must be asked. */
  #takeNow(ask: LeaseRequest): Lease | Refusal | undefined {
    const refusal = this.#parts.stillRefused(ask)
    if (refusal) return refusal
    const { lease } = this.borrower
    const nowMs = this.#parts.nowMs()
    if (lease === undefined || !covers(lease, ask.amount, nowMs)) return undefined
    holdOn(lease, ask.amount, nowMs)
    if (this.#asking === undefined && runsLow(lease, ask.amount, nowMs)) this.#refillAhead(ask)
    return lease
  }

  /** Asks for more before anyone has to wait; if that fails, the next call asks by itself. */
  #refillAhead(ask: LeaseRequest): void {
    this.#asking = this.borrower
      .borrowAhead(ask)
      .catch(() => undefined)
      .finally(() => {
        this.#asking = undefined
      })
  }

  async #takeFromLedger(ask: LeaseRequest): Promise<LeaseTaken> {
    const { nowMs, refusalOf, waits } = this.#parts
    const until = nowMs() + PATIENCE_MS
    for (let outdated = 0; outdated < OUTDATED_TRIES; ) {
      if (this.#asking !== undefined) {
        await this.#asking.catch(() => undefined)
        const lease = this.#takeNow(ask)
        if (lease !== undefined) return lease
        continue
      }
      const answer = await this.#askFor(ask)
      if (answer === undefined) {
        outdated++
        continue
      }
      if (!('outcome' in answer)) return answer
      const mayComeBack = answer.outcome === 'recall' || (ask.waits && othersHold(answer, ask))
      const over = ask.signal?.aborted === true || nowMs() >= until
      if (!mayComeBack || over) return refusalOf(ask, answer)
      await (answer.outcome === 'recall' ? waits.forRecall() : waits.forHolds())
    }
    return unreachable()
  }

  #askFor(ask: LeaseRequest): Promise<Lease | Refusal | LoanRefused | undefined> {
    const loan = this.borrower.borrowFor(ask)
    this.#asking = loan
    return loan.finally(() => {
      this.#asking = undefined
    })
  }
}

/** Whether the money that other open calls hold would suffice. */
const othersHold = (
  { outcome, available, held }: LoanRefused,
  { amount, alreadyHeld = 0n }: LeaseRequest,
): boolean => outcome === 'held' && available + held - alreadyHeld >= amount
