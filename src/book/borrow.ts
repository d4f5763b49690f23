/** Between one purse and the ledger: leases grow by what calls need, and what is not used goes back. */
import type { Nano } from '../core/money.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { GrantRefused, InstanceId } from '../ledger/words.ts'
import type { LedgerStore } from '../store/port.ts'
import { applyGrant, free, holdOn, type Lease, newLease, takeUnused, wanted } from './lease.ts'
import type { Purse, Room } from './room.ts'

type Borrowed = { readonly outcome: 'granted'; readonly lease: Lease } | { readonly outcome: 'outdated' }

type Borrowing = {
  /** Asks for the room of one hold and takes it from the answer, before anyone else can; undefined to ask again. */
  forCall(purse: Purse, room: Room): Promise<Lease | Refusal | GrantRefused | undefined>
  /** Asks for what the pace of calls wants. As no call needs it, it is never refused. */
  ahead(purse: Purse, room: Room): Promise<Borrowed | GrantRefused>
  /** Returns what no call holds. */
  giveBack(lease: Lease): Promise<void>
  /** The same, for room that may be of an old limit: until the next grant every call asks the ledger. */
  callBack(lease: Lease): Promise<void>
}

export const LEASE_TTL_MS = 10_000
/** Room that was on its way back has come back after so many tries; what is still missing was granted in a lost answer. */
const ASTRAY_TRIES = 5

type BorrowingParts = {
  readonly store: Pick<LedgerStore, 'grant' | 'giveBack'>
  readonly clock: Clock
  readonly instance: InstanceId
  /** The last look before money is held: what is known now, not when the call came in. */
  readonly stillRefused: (room: Room) => Refusal | undefined
}

export const createBorrowing = ({ store, clock, instance, stillRefused }: BorrowingParts): Borrowing => {
  let serial = 0

  const giveBack = async (lease: Lease): Promise<void> => {
    const back = takeUnused(lease)
    // An unknown outcome counts as returned; what was not comes home when the lease is closed.
    if (back > 0n) await store.giveBack(lease.id, back).catch(() => undefined)
  }

  const callBack = (lease: Lease): Promise<void> => {
    lease.tight = true
    return giveBack(lease)
  }

  const ask = async (purse: Purse, room: Room, need: Nano | undefined): Promise<Borrowed | GrantRefused> => {
    const askedMs = clock.monotonicMs()
    const { changes, lease, path } = purse
    const granted = await store.grant({
      instance,
      keyId: path.keyId,
      ...(path.sub === undefined ? {} : { sub: path.sub }),
      ...(path.account === undefined ? {} : { account: path.account }),
      leaseId: lease?.id ?? `${instance}:${++serial}`,
      ...(need === undefined ? {} : { need }),
      want: wanted(lease, need ?? 0n, room.amount),
      held: lease?.held ?? 0n,
      free: lease === undefined ? 0n : free(lease),
      ...(room.goesOn === undefined ? {} : { goesOn: true }),
      ...(purse.astray > ASTRAY_TRIES ? { anew: true } : {}),
      useful: room.useful,
      ttlMs: LEASE_TTL_MS,
    })
    purse.astray = granted.outcome === 'recall' && granted.astray !== undefined ? purse.astray + 1 : 0
    if (granted.outcome !== 'granted') return granted
    // Another lease than the one asked for: the old one is over, and its calls end on their own.
    if (purse.lease?.id !== granted.leaseId) purse.lease = newLease(granted.leaseId)
    applyGrant(purse.lease, granted, askedMs)
    if (changes === purse.changes) return { outcome: 'granted', lease: purse.lease }
    // A limit was changed while the ledger was asked: this grant may be one under the old limit.
    await callBack(purse.lease)
    return { outcome: 'outdated' }
  }

  return {
    forCall: async (purse, room) => {
      const covered = purse.lease === undefined ? 0n : free(purse.lease)
      const answer = await ask(purse, room, room.amount - covered)
      if (answer.outcome === 'outdated') return undefined
      if (answer.outcome !== 'granted') return answer
      const refusal = stillRefused(room)
      if (refusal) return refusal
      const { lease } = answer
      const nowMs = clock.monotonicMs()
      if (nowMs >= lease.deadlineMs || free(lease) < room.amount) return undefined
      holdOn(lease, room.amount, nowMs)
      return lease
    },
    ahead: (purse, room) => ask(purse, room, undefined),
    giveBack,
    callBack,
  }
}
