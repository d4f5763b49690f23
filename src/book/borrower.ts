/** What one path has borrowed from the ledger: its lease grows by what calls need, and unused money goes back. */
import type { Nano } from '../core/money.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { InstanceId, LeaseId, LoanRefused } from '../ledger/types.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import {
  applyLoan,
  free,
  holdOn,
  type Lease,
  type LeasePath,
  type LeaseRequest,
  newLease,
  takeUnused,
  wanted,
} from './lease.ts'

type Borrowed = { readonly outcome: 'lent'; readonly lease: Lease } | { readonly outcome: 'outdated' }

export type BorrowerParts = {
  readonly store: Pick<LedgerStore, 'lend' | 'giveBack'>
  readonly clock: Clock
  readonly instance: InstanceId
  /** Makes an id that no lease had before. */
  readonly newLeaseId: () => LeaseId
  /** The last check before money is held: by what is known now, not by what was known when the call arrived. */
  readonly stillRefused: (ask: LeaseRequest) => Refusal | undefined
  readonly draining: () => boolean
}

export const LEASE_TTL_MS = 10_000
/**
 * After this many tries, room that was being given back has arrived. Room that is still missing was lent in an answer
 * that was lost.
 */
const ASTRAY_TRIES = 5

export class Borrower {
  readonly path: LeasePath
  readonly #parts: BorrowerParts
  #lease: Lease | undefined
  /** How often a limit changed. Room lent before the last change is not handed out. */
  #changes = 0
  /** How many times in a row the ledger counted room as ours that this process does not have. */
  #astray = 0

  constructor(parts: BorrowerParts, path: LeasePath) {
    this.#parts = parts
    this.path = path
  }

  /** The lease that room is taken from now. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  /** Asks for the room of one hold, and takes it from the answer before anyone else can; undefined to ask again. */
  async borrowFor(ask: LeaseRequest): Promise<Lease | Refusal | LoanRefused | undefined> {
    const covered = this.#lease === undefined ? 0n : free(this.#lease)
    const answer = await this.#borrow(ask, ask.amount - covered)
    if (answer.outcome === 'outdated') return undefined
    if (answer.outcome !== 'lent') return answer
    const refusal = this.#parts.stillRefused(ask)
    if (refusal) {
      this.#giveBackLate()
      return refusal
    }
    const { lease } = answer
    const nowMs = this.#parts.clock.monotonicMs()
    if (nowMs >= lease.deadlineMs || free(lease) < ask.amount) return undefined
    holdOn(lease, ask.amount, nowMs)
    return lease
  }

  /** Asks for what calls will want at the present pace. No call needs it yet, so it is never refused. */
  async borrowAhead(ask: LeaseRequest): Promise<void> {
    await this.#borrow(ask, undefined)
    this.#giveBackLate()
  }

  /** Returns what no call holds. */
  async giveBack(): Promise<void> {
    if (this.#lease !== undefined) await this.#return(this.#lease)
  }

  /**
   * A limit changed, so this room may be under the old one: it goes back, and until the next loan every call asks the
   * ledger.
   */
  async limitChanged(): Promise<void> {
    this.#changes++
    if (this.#lease !== undefined) await this.#callBack(this.#lease)
  }

  /** A draining process has no use for a late loan, and others may be waiting for the money. */
  #giveBackLate(): void {
    if (this.#parts.draining()) void this.giveBack()
  }

  async #borrow(ask: LeaseRequest, need: Nano | undefined): Promise<Borrowed | LoanRefused> {
    const { store, clock, instance, newLeaseId } = this.#parts
    const askedMs = clock.monotonicMs()
    const changes = this.#changes
    const lease = this.#lease
    const { keyId, sub, payer } = this.path
    const answer = await store.lend({
      instance,
      keyId,
      ...(sub === undefined ? {} : { sub }),
      ...(payer === undefined ? {} : { payer }),
      leaseId: lease?.id ?? newLeaseId(),
      ...(need === undefined ? {} : { need }),
      want: wanted(lease, need ?? 0n, ask.amount),
      held: lease?.held ?? 0n,
      free: lease === undefined ? 0n : free(lease),
      ...(ask.alreadyHeld === undefined ? {} : { admitted: true }),
      ...(this.#astray > ASTRAY_TRIES ? { anew: true } : {}),
      useful: ask.useful,
      ttlMs: LEASE_TTL_MS,
    })
    this.#astray = answer.outcome === 'recall' && answer.astray !== undefined ? this.#astray + 1 : 0
    if (answer.outcome !== 'lent') return answer
    const lent = this.#leaseNamed(answer.leaseId)
    applyLoan(lent, answer, askedMs)
    if (changes === this.#changes) return { outcome: 'lent', lease: lent }
    // A limit changed while we asked the ledger, so this loan may still be under the old limit.
    await this.#callBack(lent)
    return { outcome: 'outdated' }
  }

  /** This is another lease than the one we asked for: the old one is over, and its calls end on their own. */
  #leaseNamed(id: LeaseId): Lease {
    if (this.#lease?.id === id) return this.#lease
    const lease = newLease(id)
    this.#lease = lease
    return lease
  }

  #callBack(lease: Lease): Promise<void> {
    lease.tight = true
    return this.#return(lease)
  }

  async #return(lease: Lease): Promise<void> {
    const back = takeUnused(lease)
    // An unknown outcome counts as returned. If the room was not returned, closing the lease will return it.
    if (back > 0n) await this.#parts.store.giveBack(lease.id, back).catch(() => undefined)
  }
}
