/**
 * The lease pool: money that this process has leased, with one lease for each path that calls take it from. A call that
 * fits is never refused: it waits for room that other leases or open calls have.
 */
import { disabledKey, unknownKey, unknownSubWallet } from '../admission/caller.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { InstanceId, LeaseId, LoanRefused } from '../ledger/types.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import { Borrower, type BorrowerParts, LEASE_TTL_MS } from './borrower.ts'
import type { HoldRefused, LeaseSums } from './contract.ts'
import type { KnownKeys } from './known-keys.ts'
import { type Lease, type LeasePath, type LeaseRequest, liveOn, nameOf } from './lease.ts'
import { LeaseSlot, type LeaseTaken, type SlotParts } from './lease-slot.ts'
import { Waits } from './waits.ts'

const IDLE_MS = 2_000
/** A lease with open calls is renewed when it has less than this to live. */
const RENEW_BELOW_MS = 6_000

type PoolParts = {
  readonly store: Pick<LedgerStore, 'lend' | 'giveBack' | 'renew'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly random: () => number
  readonly keys: Pick<KnownKeys, 'get' | 'reread'>
  /** The last check before money is held: by what is known now, not by what was known when the call arrived. */
  readonly stillRefused: (ask: LeaseRequest) => Refusal | undefined
  readonly draining: () => boolean
}

export class LeasePool {
  readonly #slots = new Map<string, LeaseSlot>()
  readonly #parts: PoolParts
  readonly #ofBorrowers: BorrowerParts
  readonly #ofSlots: SlotParts
  readonly #waits: Waits
  #renewing = false

  constructor(parts: PoolParts) {
    const { store, clock, instance, random, keys, stillRefused, draining } = parts
    let serial = 0
    this.#parts = parts
    this.#waits = new Waits(clock, random)
    const newLeaseId = () => `${instance}:${++serial}`
    this.#ofBorrowers = { store, clock, instance, stillRefused, draining, newLeaseId }
    this.#ofSlots = {
      nowMs: () => clock.monotonicMs(),
      stillRefused,
      refusalOf: (ask, refused) => refusalOf(keys, ask, refused),
      waits: this.#waits,
    }
  }

  /** Takes room for one hold, or says why there is none. */
  take(ask: LeaseRequest): LeaseTaken | Promise<LeaseTaken> {
    return this.#slotOf(ask).take(ask)
  }

  /** The lease that room of this path is taken from now; undefined if there is none. */
  leaseOf(path: LeasePath): Lease | undefined {
    return this.#slots.get(nameOf(path))?.borrower.lease
  }

  sums(): LeaseSums {
    let [count, room, held] = [0, 0n, 0n]
    for (const { borrower } of this.#slots.values()) {
      if (borrower.lease === undefined) continue
      count++
      room += borrower.lease.room
      held += borrower.lease.held
    }
    return { count, room, held }
  }

  /** A hold has ended: calls that wait for its money look again. */
  holdEnded(): void {
    this.#waits.holdEnded()
  }

  /** Renews leases that end soon and whose money open calls hold. */
  async renew(): Promise<void> {
    const { store, clock, instance } = this.#parts
    const nowMs = clock.monotonicMs()
    const ending = this.#endingLeases(nowMs)
    if (ending.size === 0 || this.#renewing) return
    this.#renewing = true
    try {
      for (const { leaseId, lifeMs } of await store.renew(instance, [...ending.keys()], LEASE_TTL_MS)) {
        const lease = ending.get(leaseId)
        if (lease !== undefined) liveOn(lease, lifeMs, nowMs)
      }
    } catch {
      // The next heartbeat tries again; a lease that ends is replaced by a new one.
    } finally {
      this.#renewing = false
    }
  }

  /** Gives back unused room of leases that the ledger recalls for others. */
  giveBackRecalled(ids: readonly LeaseId[]): void {
    if (ids.length === 0) return
    const recalled = new Set(ids)
    for (const { borrower } of this.#slots.values())
      if (borrower.lease !== undefined && recalled.has(borrower.lease.id)) void borrower.giveBack()
  }

  /** Gives back unused room of paths whose limits changed; resolves when it has reached the ledger. */
  async limitsChanged(concerns: (path: LeasePath) => boolean): Promise<void> {
    const concerned = [...this.#slots.values()].filter(({ borrower }) => concerns(borrower.path))
    await Promise.all(concerned.map(({ borrower }) => borrower.limitChanged()))
  }

  /** Gives back room that no call has asked for lately, and forgets paths without a lease. */
  giveBackIdle(): void {
    const before = this.#parts.clock.monotonicMs() - IDLE_MS
    for (const [name, { borrower, isInUse }] of this.#slots) {
      if (isInUse) continue
      const { lease } = borrower
      // Nothing was ever lent, for example because the sub-wallet does not exist.
      if (lease === undefined) this.#slots.delete(name)
      if (lease === undefined || lease.lastUsedMs > before) continue
      if (lease.held === 0n) this.#slots.delete(name)
      void borrower.giveBack()
    }
  }

  async giveBackAll(): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ borrower }) => borrower.giveBack()))
  }

  #slotOf(ask: LeaseRequest): LeaseSlot {
    const name = nameOf(ask)
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    const { keyId, sub, payer } = ask
    const slot = new LeaseSlot(this.#ofSlots, new Borrower(this.#ofBorrowers, { keyId, sub, payer }))
    this.#slots.set(name, slot)
    return slot
  }

  #endingLeases(nowMs: number): ReadonlyMap<LeaseId, Lease> {
    const ending = new Map<LeaseId, Lease>()
    for (const { borrower } of this.#slots.values()) {
      const { lease } = borrower
      if (lease !== undefined && lease.held > 0n && lease.deadlineMs - nowMs < RENEW_BELOW_MS)
        ending.set(lease.id, lease)
    }
    return ending
  }
}

const refusalOf = async (
  keys: PoolParts['keys'],
  { keyId }: LeaseRequest,
  refused: LoanRefused,
): Promise<Refusal | HoldRefused> => {
  const isNews = refused.outcome === 'disabled' || refused.keyVersion !== undefined
  const key = isNews ? await keys.reread(keyId) : keys.get(keyId)
  if (refused.outcome === 'unknown_key') return unknownKey()
  if (refused.outcome === 'unknown_sub') return unknownSubWallet()
  if (refused.outcome === 'disabled') return key === undefined ? unknownKey() : disabledKey(key)
  return {
    outcome: 'refused',
    spent: refused.outcome === 'spent',
    limit: refused.limit ?? 'wallet',
    owner: refused.owner,
    required: refused.required,
    available: refused.available,
    held: refused.held,
  }
}
