/**
 * One path's lease: money against which this process may admit calls without asking anyone. First its arithmetic, which
 * waits for nothing; then what the path borrows from the ledger and gives back; then the slot from which calls take room.
 *
 * Rules on which the safety proof rests: `room` only changes by increments; it shrinks before the ledger hears of a
 * return and grows after the ledger has lent more; past its local deadline a lease admits nothing.
 */
import { greatest, least, type Nano } from '../core/money.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { AccountId, InstanceId, LeaseId, Loan, LoanRefused } from '../ledger/types.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { HoldRefused, HoldRequest } from './contract.ts'
import { unreachable } from './touch.ts'
import type { Waits } from './waits.ts'

export type Lease = {
  readonly id: LeaseId
  /** What was lent and is not yet charged, as far as this process knows. */
  room: Nano
  /** What the limits other than the account leave beside the room, as of the last loan; undefined if there are none. */
  beside: Nano | undefined
  /** What open calls hold of the room. */
  held: Nano
  /** Monotonic milliseconds after which nothing is admitted. */
  deadlineMs: number
  /** Money is short: every call asks the ledger. */
  tight: boolean
  lastUsedMs: number
  /** What the last call held. */
  lastAmount: Nano
  /** When the ledger was last asked for it: what it knows of other leases' charges is from then. */
  askedMs: number
}

/**
 * The share of a lease's life kept as a margin: the clocks of two machines may differ in rate by up to three percent.
 */
const DRIFT_MARGIN = 0.03
const FIXED_MARGIN_MS = 20

const newLease = (id: LeaseId): Lease => ({
  id,
  room: 0n,
  beside: undefined,
  held: 0n,
  deadlineMs: Number.NEGATIVE_INFINITY,
  tight: true,
  lastUsedMs: Number.NEGATIVE_INFINITY,
  lastAmount: 0n,
  askedMs: Number.NEGATIVE_INFINITY,
})

const free = (lease: Lease): Nano => lease.room - lease.held

/** Whether `amount` can be held now without asking the ledger. */
const covers = (lease: Lease, amount: Nano, nowMs: number): boolean =>
  !lease.tight && nowMs < lease.deadlineMs && free(lease) >= amount

/** Applies a loan. `askedMs` is the monotonic time before the request was sent, so the deadline is rather too early. */
const applyLoan = (lease: Lease, loan: Loan, askedMs: number): void => {
  lease.room += loan.grown
  lease.beside = loan.beside
  lease.tight = loan.tight
  lease.askedMs = askedMs
  liveOn(lease, loan.lifeMs, askedMs)
}

/** Extends the lease's life, counted from the moment the ledger was asked. */
export const liveOn = (lease: Lease, lifeMs: number, askedMs: number): void => {
  lease.deadlineMs = askedMs + lifeMs * (1 - DRIFT_MARGIN) - FIXED_MARGIN_MS
}

const holdOn = (lease: Lease, { amount, alreadyHeld }: LeaseRequest, nowMs: number): void => {
  lease.held += amount
  lease.lastUsedMs = nowMs
  // Of a call that goes on this is a part only, and a free one says nothing of the next.
  if (alreadyHeld === undefined && amount > 0n) lease.lastAmount = amount
}

/** A call ended: its hold is free, and its charge has left the lease. */
export const endHold = (lease: Lease, amount: Nano, charged: Nano): void => {
  lease.held -= amount
  lease.room -= charged
}

/** Takes unused room out of the lease, all but this, to return it to the ledger. */
const takeUnused = (lease: Lease, but: Nano): Nano => {
  const back = greatest(free(lease) - but, 0n)
  lease.room -= back
  if (lease.beside !== undefined) lease.beside += back
  return back
}

/** The ledger may have ended it: until the next loan nothing is taken from it. */
export const doubt = (lease: Lease): void => {
  lease.deadlineMs = Number.NEGATIVE_INFINITY
}

/** Room for this many calls is enough for a lease at rest; one with twice as much gives the rest back. */
const CALLS_KEPT = 16n

/** What a lease at rest keeps. */
const keptRoom = (lease: Lease): Nano => {
  const enough = lease.lastAmount * CALLS_KEPT
  return free(lease) > 2n * enough ? enough : free(lease)
}

/**
 * The least of everything that binds, with charges counted: what the account has, and what the limits leave. The
 * lease's own charges leave the room at once. Charges of other leases under the same limits show with the next loan,
 * which a call asks for when the last one is a minute old.
 */
export const leastLeft = (lease: Lease, account: Nano): Nano =>
  lease.beside === undefined ? account : greatest(least(account, lease.beside + lease.room), 0n)

/** How much to ask for: the need, and what is missing for the calls of the next seconds at the present pace. */
const wanted = (lease: Lease | undefined, need: Nano, amount: Nano): Nano => {
  const pace = amount * CALLS_KEPT
  return greatest(need, lease === undefined ? pace : pace + lease.held * 2n - free(lease))
}

/** What limits other than the account leave is asked for again after this time. */
const BESIDE_KNOWN_MS = 60_000

/** Whether to ask for more in the background, before a call has to wait. */
const runsLow = (lease: Lease, amount: Nano, nowMs: number): boolean =>
  !lease.tight &&
  (free(lease) < amount * 4n ||
    lease.deadlineMs - nowMs < 2_000 ||
    (lease.beside !== undefined && nowMs - lease.askedMs >= BESIDE_KNOWN_MS))

/** Whose money: the key, the sub-wallet that the call names, the payer if it is not the wallet, and tags under budget. */
export type LeasePath = {
  readonly keyId: KeyId
  readonly sub: string | undefined
  readonly payer: AccountId | undefined
  readonly tags?: string | undefined
}

/** A call's request for room. */
export type LeaseRequest = LeasePath & {
  readonly amount: Nano
  readonly useful: Nano
  /**
   * For a call that was already admitted, what it holds: it continues while the process drains, and does not wait for
   * its own money.
   */
  readonly alreadyHeld?: Nano
  /** Whether it waits a little for money that other open calls hold. */
  readonly waits: boolean
  /** Ends that wait, because the caller has gone. */
  readonly signal?: AbortSignal | undefined
}

/** The path of a call; a sub-wallet that its key is bound to is not named. */
export const pathOf = ({
  key,
  sub,
  payer,
  tags,
}: Pick<HoldRequest, 'key' | 'sub' | 'payer' | 'tags'>): LeasePath => ({
  keyId: key.id,
  sub: sub === key.subWallet ? undefined : sub,
  payer,
  tags,
})

export const nameOf = ({ keyId, sub, payer, tags }: LeasePath): string =>
  (sub ?? payer ?? tags) === undefined
    ? keyId
    : JSON.stringify([keyId, sub ?? null, payer ?? null, tags ?? null])

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
  /** How long leases may live, at most to the end of their UTC day. */
  readonly lifeMs: () => number
  /** Whether this process has given the lease up, although the ledger may still count it as ours. */
  readonly gaveUp: (lease: LeaseId) => boolean
}

/**
 * After this many tries, room that was being given back has arrived. Room that is still missing was lent in an answer
 * that was lost.
 */
const ASTRAY_TRIES = 5

/** Returns what no call holds of a lease, all but this. */
const returnUnused = async (store: Pick<LedgerStore, 'giveBack'>, lease: Lease, but = 0n): Promise<void> => {
  const back = takeUnused(lease, but)
  // An unknown outcome counts as returned. If the room was not returned, closing the lease will return it.
  if (back > 0n) await store.giveBack(lease.id, back).catch(() => undefined)
}

/** What one path has borrowed from the ledger: its lease grows by what calls need, and unused money goes back. */
export class Borrower {
  readonly path: LeasePath
  readonly #parts: BorrowerParts
  #lease: Lease | undefined
  /** How often a limit changed. Room lent before the last change is not handed out. */
  #changes = 0
  /** How many times in a row the ledger counted room as ours that this process does not have. */
  #astray = 0
  #asked: LeaseId | undefined
  /** The ledger answered with a lease that we gave up: it is to open another. */
  #anew = false

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
    holdOn(lease, ask, nowMs)
    return lease
  }

  /** Asks for what calls will want at the present pace. No call needs it yet, so it is never refused. */
  async borrowAhead(ask: LeaseRequest): Promise<void> {
    await this.#borrow(ask, undefined)
    this.#giveBackLate()
  }

  /** The lease that the ledger is being asked for. */
  get asked(): LeaseId | undefined {
    return this.#asked
  }

  /** Returns what no call holds. */
  async giveBack(): Promise<void> {
    if (this.#lease !== undefined) await returnUnused(this.#parts.store, this.#lease)
  }

  /** Returns what a lease at rest does not need. */
  async rest(): Promise<void> {
    if (this.#lease !== undefined) await returnUnused(this.#parts.store, this.#lease, keptRoom(this.#lease))
  }

  /** Nobody knows whether the ledger still has the lease, nor one that it is being asked for. */
  doubt(): void {
    this.#changes++
    if (this.#lease !== undefined) doubt(this.#lease)
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
    const { store, clock, instance, newLeaseId, lifeMs } = this.#parts
    const askedMs = clock.monotonicMs()
    const changes = this.#changes
    const lease = this.#lease
    const { keyId, sub, payer, tags } = this.path
    const leaseId = lease?.id ?? newLeaseId()
    this.#asked = leaseId
    const asking = store.lend({
      instance,
      keyId,
      ...(sub === undefined ? {} : { sub }),
      ...(payer === undefined ? {} : { payer }),
      ...(tags === undefined ? {} : { tags }),
      leaseId,
      ...(need === undefined ? {} : { need }),
      want: wanted(lease, need ?? 0n, ask.amount),
      held: lease?.held ?? 0n,
      free: lease === undefined ? 0n : free(lease),
      ...(ask.alreadyHeld === undefined ? {} : { admitted: true }),
      ...(this.#anew || this.#astray > ASTRAY_TRIES ? { anew: true } : {}),
      useful: ask.useful,
      ttlMs: lifeMs(),
    })
    const answer = await asking.finally(() => {
      this.#asked = undefined
    })
    this.#astray = answer.outcome === 'recall' && answer.astray !== undefined ? this.#astray + 1 : 0
    if (answer.outcome !== 'lent') return answer
    this.#anew = this.#parts.gaveUp(answer.leaseId)
    if (this.#anew) return { outcome: 'outdated' }
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
    return returnUnused(this.#parts.store, lease)
  }
}

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

/**
 * The place of one path's lease in the pool. Calls take room from it in memory. When there is none, one call asks the
 * ledger and is served first from its answer; the others wait for that answer, in order of arrival.
 */
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
    holdOn(lease, ask, nowMs)
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
