/**
 * Leases in memory: money against which this process may admit calls without asking anyone, and the path from which a
 * call takes it. Only arithmetic, no waiting.
 *
 * Rules on which the safety proof rests: `room` only changes by increments; it shrinks before the ledger hears of a
 * return and grows after the ledger has lent more; past its local deadline a lease admits nothing.
 */
import { greatest, least, type Nano } from '../core/money.ts'
import type { AccountId, LeaseId, Loan } from '../ledger/types.ts'
import type { Key, KeyId } from '../tenancy/key.ts'

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
}

/**
 * The share of a lease's life kept as a margin: the clocks of two machines may differ in rate by up to three percent.
 */
const DRIFT_MARGIN = 0.03
const FIXED_MARGIN_MS = 20

export const newLease = (id: LeaseId): Lease => ({
  id,
  room: 0n,
  beside: undefined,
  held: 0n,
  deadlineMs: Number.NEGATIVE_INFINITY,
  tight: true,
  lastUsedMs: Number.NEGATIVE_INFINITY,
})

export const free = (lease: Lease): Nano => lease.room - lease.held

/** Whether `amount` can be held now without asking the ledger. */
export const covers = (lease: Lease, amount: Nano, nowMs: number): boolean =>
  !lease.tight && nowMs < lease.deadlineMs && free(lease) >= amount

/** Applies a loan. `askedMs` is the monotonic time before the request was sent, so the deadline is rather too early. */
export const applyLoan = (lease: Lease, loan: Loan, askedMs: number): void => {
  lease.room += loan.grown
  lease.beside = loan.beside
  lease.tight = loan.tight
  liveOn(lease, loan.lifeMs, askedMs)
}

/** Extends the lease's life, counted from the moment the ledger was asked. */
export const liveOn = (lease: Lease, lifeMs: number, askedMs: number): void => {
  lease.deadlineMs = askedMs + lifeMs * (1 - DRIFT_MARGIN) - FIXED_MARGIN_MS
}

export const holdOn = (lease: Lease, amount: Nano, nowMs: number): void => {
  lease.held += amount
  lease.lastUsedMs = nowMs
}

/** A call ended: its hold is free, and its charge has left the lease. */
export const endHold = (lease: Lease, amount: Nano, charged: Nano): void => {
  lease.held -= amount
  lease.room -= charged
}

/** Takes all unused room out of the lease, to return it to the ledger. */
export const takeUnused = (lease: Lease): Nano => {
  const back = greatest(free(lease), 0n)
  lease.room -= back
  if (lease.beside !== undefined) lease.beside += back
  return back
}

/**
 * The least of everything that binds, with charges counted: what the account has, and what the limits leave. The
 * lease's own charges leave the room at once. Charges of other leases under the same limits show with the next loan,
 * within a lease's life.
 */
export const leastLeft = (lease: Lease, account: Nano): Nano =>
  lease.beside === undefined ? account : greatest(least(account, lease.beside + lease.room), 0n)

/** How much to ask for beyond the need: enough for the calls of the next seconds at the present pace. */
export const wanted = (lease: Lease | undefined, need: Nano, amount: Nano): Nano =>
  greatest(need, amount * 16n + (lease?.held ?? 0n) * 2n)

/** Whether to ask for more in the background, before a call has to wait. */
export const runsLow = (lease: Lease, amount: Nano, nowMs: number): boolean =>
  !lease.tight && (free(lease) < amount * 4n || lease.deadlineMs - nowMs < 2_000)

/** Whose money: the key, the sub-wallet that the call names, and the payer if it is not the key's wallet. */
export type LeasePath = {
  readonly keyId: KeyId
  readonly sub: string | undefined
  readonly payer: AccountId | undefined
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
export const pathOf = (key: Key, sub: string | undefined, payer: AccountId | undefined): LeasePath => ({
  keyId: key.id,
  sub: sub === key.subWallet ? undefined : sub,
  payer,
})

export const nameOf = ({ keyId, sub, payer }: LeasePath): string =>
  sub === undefined && payer === undefined ? keyId : JSON.stringify([keyId, sub ?? null, payer ?? null])
