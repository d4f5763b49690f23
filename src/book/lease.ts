/**
 * Leases in memory: money this process may admit calls against without asking anyone. Arithmetic only, no waiting.
 *
 * Rules that the safety proof rests on: `room` moves by deltas only; it shrinks before the ledger is told of a return
 * and grows after the ledger has told of a grant; past its local deadline a lease admits nothing.
 */
import { greatest, least, type Nano } from '../core/money.ts'
import type { Granted, LeaseId } from '../ledger/words.ts'

export type Lease = {
  readonly id: LeaseId
  /** What was granted and is not yet charged, as far as this process knows. */
  room: Nano
  /** What the limits other than the account leave beside the room, as of the last grant; undefined when there are none. */
  beside: Nano | undefined
  /** What open calls hold of the room. */
  held: Nano
  /** Monotonic milliseconds after which nothing is admitted. */
  deadlineMs: number
  /** Money is short: every call asks the ledger. */
  tight: boolean
  lastUsedMs: number
}

/** Share of a lease's life kept as margin: clocks of two machines may run at rates up to three percent apart. */
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

/** Applies a grant. `askedMs` is the monotonic time before the request was sent, so the deadline errs on the early side. */
export const applyGrant = (lease: Lease, granted: Granted, askedMs: number): void => {
  lease.room += granted.grown
  lease.beside = granted.beside
  lease.tight = granted.tight
  liveOn(lease, granted.lifeMs, askedMs)
}

/** The lease lives on for so long from the moment the ledger was asked. */
export const liveOn = (lease: Lease, lifeMs: number, askedMs: number): void => {
  lease.deadlineMs = askedMs + lifeMs * (1 - DRIFT_MARGIN) - FIXED_MARGIN_MS
}

export const holdOn = (lease: Lease, amount: Nano, nowMs: number): void => {
  lease.held += amount
  lease.lastUsedMs = nowMs
}

/** A call ended: its hold is free, and what it was charged has left the lease. */
export const endHold = (lease: Lease, amount: Nano, charged: Nano): void => {
  lease.held -= amount
  lease.room -= charged
}

/** Takes all unused room out of the lease, to be returned to the ledger. */
export const takeUnused = (lease: Lease): Nano => {
  const back = greatest(free(lease), 0n)
  lease.room -= back
  if (lease.beside !== undefined) lease.beside += back
  return back
}

/**
 * The least of all that binds, charges counted: what the account has, and what the limits leave. Own charges leave the
 * room at once; those of other leases under the same limits show with the next grant, within a lease's life.
 */
export const leastLeft = (lease: Lease, account: Nano): Nano =>
  lease.beside === undefined ? account : greatest(least(account, lease.beside + lease.room), 0n)

/** How much to ask for beyond the need: enough for the calls of the next seconds at the present pace. */
export const wanted = (lease: Lease | undefined, need: Nano, amount: Nano): Nano =>
  greatest(need, amount * 16n + (lease?.held ?? 0n) * 2n)

/** Whether to ask for more in the background, before a call has to wait for it. */
export const runsLow = (lease: Lease, amount: Nano, nowMs: number): boolean =>
  !lease.tight && (free(lease) < amount * 4n || lease.deadlineMs - nowMs < 2_000)
