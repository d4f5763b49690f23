/**
 * The lease pool: money that this process has leased, with one lease for each path that calls take it from. A call that
 * fits is never refused: it waits for room that other leases or open calls have.
 *
 * A lease stays when its calls are over, so that the next one does not ask the ledger. It goes back when others need its
 * money, when its limit is nearly used up, and with its day, its key or its process.
 */
import { disabledKey, noBudgetLeft, unknownKey, unknownSubWallet } from '../admission/caller.ts'
import type { Refusal } from '../core/refusal.ts'
import { type Clock, DAY_MS } from '../core/time.ts'
import {
  type InstanceId,
  isChannelAccount,
  isPaymentAccount,
  type LeaseId,
  type LoanRefused,
} from '../ledger/types.ts'
import type { LedgerStore } from '../store/ledger/ledger-port.ts'
import { isKnown } from '../tenancy/key.ts'
import type { KnownKeys } from './callers.ts'
import type { HoldRefused, LeaseSums } from './contract.ts'
import {
  Borrower,
  type BorrowerParts,
  type Lease,
  type LeasePath,
  type LeaseRequest,
  LeaseSlot,
  type LeaseTaken,
  liveOn,
  nameOf,
  type SlotParts,
} from './lease.ts'
import { Releases } from './releases.ts'
import { Waits } from './waits.ts'

/** After this time without a call a lease is at rest. */
const IDLE_MS = 2_000
/** So many leases may rest; beyond that the one that has rested longest ends. Each takes about a kilobyte. */
const KEPT_MOST = 20_000
/** How often leases at rest are looked at: whether their day and their key go on. */
const LOOK_MS = 10_000
/** A lease with open calls is renewed when it has less than this to live. */
const RENEW_BELOW_MS = 6_000
/** How long a lease lives: as long as its process, to the end of its day. */
const KEPT_MS = DAY_MS
/** While a process of a former version serves too, it ends leases that live for long. */
const NOT_KEPT_MS = 10_000

type PoolParts = {
  readonly store: Pick<LedgerStore, 'lend' | 'giveBack' | 'renew' | 'release'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly random: () => number
  readonly keys: Pick<KnownKeys, 'get' | 'reread'>
  /** The last check before money is held: by what is known now, not by what was known when the call arrived. */
  readonly stillRefused: (ask: LeaseRequest) => Refusal | undefined
  readonly draining: () => boolean
  /** So many leases may rest. */
  readonly keptMost?: number | undefined
}

export class LeasePool {
  readonly #slots = new Map<string, LeaseSlot>()
  /** Those that calls have used since they last rested: only these are looked at with each heartbeat. */
  readonly #active = new Set<LeaseSlot>()
  /** Those whose leases are kept for their next call, the longest rested first. */
  readonly #resting = new Set<LeaseSlot>()
  readonly #parts: PoolParts
  readonly #ofBorrowers: BorrowerParts
  readonly #ofSlots: SlotParts
  readonly #waits: Waits
  readonly #releases: Releases
  #keeps = false
  #renewing = false
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(parts: PoolParts) {
    const { store, clock, instance, random, keys, stillRefused, draining } = parts
    let serial = 0
    this.#parts = parts
    this.#waits = new Waits(clock, random)
    this.#releases = new Releases(parts)
    this.#ofBorrowers = {
      store,
      clock,
      instance,
      stillRefused,
      draining,
      newLeaseId: () => `${instance}:${(++serial).toString(36)}`,
      lifeMs: () => this.#lifeMs(),
      gaveUp: (lease) => this.#releases.has(lease),
    }
    this.#ofSlots = {
      nowMs: () => clock.monotonicMs(),
      stillRefused,
      refusalOf: (ask, refused) => refusalOf(keys, ask, refused),
      waits: this.#waits,
    }
  }

  /** Takes room for one hold, or says why there is none. */
  take(ask: LeaseRequest): LeaseTaken | Promise<LeaseTaken> {
    const slot = this.#slotOf(ask)
    if (!this.#active.has(slot)) this.#wake(slot)
    return slot.take(ask)
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

  /**
   * Takes in a heartbeat. `unbroken`: nobody can have thought since the last one that this process is silent. `allKeep`:
   * all processes that serve keep leases.
   */
  beaten({
    recalled,
    allKeep,
    unbroken,
  }: {
    recalled: readonly LeaseId[]
    allKeep: boolean
    unbroken: boolean
  }): void {
    // Shorter lives begin with the next loan.
    if (!unbroken || (this.#keeps && !allKeep)) for (const slot of this.#slots.values()) this.#doubt(slot)
    this.#keeps = allKeep
    this.#giveBackRecalled(recalled)
    this.#rest()
    this.#releases.look()
    void this.#renew()
  }

  /** Gives back unused room of paths whose limits changed; resolves when it has reached the ledger. */
  async limitsChanged(concerns: (path: LeasePath) => boolean): Promise<void> {
    const concerned = [...this.#slots.values()].filter(({ borrower }) => concerns(borrower.path))
    for (const slot of concerned) this.#wake(slot)
    await Promise.all(concerned.map(({ borrower }) => borrower.limitChanged()))
  }

  /** The ledger has forgotten what it lent: nothing is taken from any lease, and the next call of each path opens one. */
  giveUp(): void {
    const ids = [...this.#slots.values()].flatMap(({ borrower: { lease } }) => lease?.id ?? [])
    for (const slot of this.#slots.values()) this.#doubt(slot)
    void this.#releases.add(ids)
  }

  /** Returns everything that no call holds; called at the end. */
  async giveBackAll(): Promise<void> {
    const ended: LeaseId[] = []
    const returned: Promise<void>[] = []
    for (const { borrower } of this.#slots.values()) {
      const { lease } = borrower
      if (lease !== undefined && lease.held > 0n) returned.push(borrower.giveBack())
      else if (lease !== undefined) ended.push(lease.id)
    }
    await Promise.all([this.#releases.add(ended), ...returned])
  }

  #slotOf(ask: LeaseRequest): LeaseSlot {
    const name = nameOf(ask)
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    const { keyId, sub, payer, tags } = ask
    const slot = new LeaseSlot(this.#ofSlots, new Borrower(this.#ofBorrowers, { keyId, sub, payer, tags }))
    this.#slots.set(name, slot)
    return slot
  }

  #lifeMs(): number {
    return this.#keeps ? KEPT_MS : NOT_KEPT_MS
  }

  #wake(slot: LeaseSlot): void {
    this.#resting.delete(slot)
    this.#active.add(slot)
  }

  /** The ledger may have fenced it: the next call asks. */
  #doubt(slot: LeaseSlot): void {
    slot.borrower.doubt()
    this.#wake(slot)
  }

  /**
   * Gives back leases that the ledger recalls for others: whole, with what was lent in answers that were lost, or if calls
   * hold some of them what they do not hold. One that is not found came in such an answer, or is of another day.
   */
  #giveBackRecalled(ids: readonly LeaseId[]): void {
    if (ids.length === 0) return
    const recalled = new Set(ids)
    const ended: LeaseId[] = []
    const lately = this.#parts.clock.monotonicMs() - IDLE_MS
    for (const slot of this.#slots.values()) {
      if (recalled.size === 0) break
      const { borrower, isInUse } = slot
      const { lease } = borrower
      if (lease === undefined || !recalled.delete(lease.id)) continue
      // A free call holds nothing, and is open on it all the same.
      if (lease.held > 0n || isInUse || lease.lastUsedMs > lately) void borrower.giveBack()
      else ended.push(...this.#drop(slot))
    }
    // An answer about it may be on its way.
    for (const { borrower } of this.#active) recalled.delete(borrower.asked ?? '')
    void this.#releases.add([...ended, ...[...recalled].filter((id) => !this.#releases.has(id))])
  }

  /** Leases that no call has used lately rest, or end; paths without a lease are forgotten. */
  #rest(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const ended: LeaseId[] = []
    for (const slot of this.#active) {
      const { borrower, isInUse } = slot
      if (isInUse || (borrower.lease?.lastUsedMs ?? 0) > nowMs - IDLE_MS) continue
      if (borrower.lease !== undefined && borrower.lease.held > 0n) {
        if (!this.#mayRest(slot, nowMs)) void borrower.giveBack()
      } else if (this.#mayRest(slot, nowMs)) {
        this.#active.delete(slot)
        this.#resting.add(slot)
        void borrower.rest()
      } else ended.push(...this.#drop(slot))
    }
    for (const slot of this.#resting) {
      if (this.#resting.size <= (this.#parts.keptMost ?? KEPT_MOST)) break
      ended.push(...this.#drop(slot))
    }
    if (nowMs - this.#lookedMs >= LOOK_MS || this.#parts.draining()) {
      this.#lookedMs = nowMs
      for (const slot of this.#resting) if (!this.#mayRest(slot, nowMs)) ended.push(...this.#drop(slot))
    }
    void this.#releases.add(ended)
  }

  /** Not where money is short, nor after its day or its key; and what is left of a payment is its payer's. */
  #mayRest({ borrower: { lease, path } }: LeaseSlot, nowMs: number): boolean {
    if (!this.#keeps || this.#parts.draining()) return false
    if (lease === undefined || lease.tight || nowMs >= lease.deadlineMs) return false
    const key = this.#parts.keys.get(path.keyId)
    return (
      key !== undefined &&
      isKnown(key, this.#parts.clock.now()) &&
      (path.payer === undefined || !isPaymentAccount(path.payer) || isChannelAccount(path.payer))
    )
  }

  /** Forgets a path that no call uses; returns its lease, which is to be released. */
  #drop(slot: LeaseSlot): readonly LeaseId[] {
    const { lease, path } = slot.borrower
    this.#slots.delete(nameOf(path))
    this.#active.delete(slot)
    this.#resting.delete(slot)
    return lease === undefined ? [] : [lease.id]
  }

  /** Renews leases that end soon and whose money open calls hold. */
  async #renew(): Promise<void> {
    const { store, clock, instance } = this.#parts
    const nowMs = clock.monotonicMs()
    const ending = this.#endingLeases(nowMs)
    if (ending.size === 0 || this.#renewing) return
    this.#renewing = true
    try {
      for (const { leaseId, lifeMs } of await store.renew(instance, [...ending.keys()], this.#lifeMs())) {
        const lease = ending.get(leaseId)
        if (lease !== undefined) liveOn(lease, lifeMs, nowMs)
      }
    } catch {
      // The next heartbeat tries again; a lease that ends is replaced by a new one.
    } finally {
      this.#renewing = false
    }
  }

  #endingLeases(nowMs: number): ReadonlyMap<LeaseId, Lease> {
    const ending = new Map<LeaseId, Lease>()
    for (const { borrower } of this.#active) {
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
  if (refused.outcome === 'full' && refused.budget !== undefined) return noBudgetLeft(refused.budget)
  if (refused.outcome === 'disabled') return key === undefined ? unknownKey() : disabledKey(key)
  return {
    outcome: 'refused',
    spent: refused.outcome === 'spent',
    limit: refused.limit ?? 'wallet',
    budget: refused.budget,
    owner: refused.owner,
    required: refused.required,
    available: refused.available,
    held: refused.held,
  }
}
