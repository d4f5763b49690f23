/**
 * Purses: one a key, with the lease this process has for it. A purse hands out room in memory, and asks the ledger when
 * there is none: one request at a time, and the call that asked is served from its answer first.
 */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import { greatest, type Nano } from '../core/money.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import type { GrantRefused, InstanceId, LeaseId } from '../ledger/words.ts'
import type { LedgerStore } from '../store/port.ts'
import { isEnabled, type KeyId } from '../tenancy/key.ts'
import type { KnownKeys } from './known-keys.ts'
import {
  applyGrant,
  covers,
  free,
  holdOn,
  type Lease,
  newLease,
  runsLow,
  takeUnused,
  wanted,
} from './lease.ts'
import type { HoldRefused } from './words.ts'

export type Purse = {
  readonly keyId: KeyId
  lease: Lease | undefined
  asking: Promise<unknown> | undefined
}

export type Room = { readonly keyId: KeyId; readonly amount: Nano; readonly useful: Nano }

export type Purses = {
  /** Takes room for one hold, or says why there is none. */
  take(room: Room): Lease | Refusal | HoldRefused | Promise<Lease | Refusal | HoldRefused>
  /** Gives unused room back: of recalled leases, of one key, of idle ones, or of all. */
  answerRecall(ids: readonly LeaseId[]): void
  giveBack(keyId: KeyId): Promise<void>
  giveBackIdle(): void
  giveBackAll(): Promise<void>
}

const LEASE_TTL_MS = 10_000
const IDLE_MS = 2_000
const TRIES = 5
const RECALL_WAIT_MS = 40

export type PursesParts = {
  readonly store: Pick<LedgerStore, 'grant' | 'giveBack'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly random: () => number
  readonly keys: KnownKeys
  /** Whether this process may admit at all now; the refusal when not. */
  readonly mayAdmit: () => Refusal | undefined
}

export const createPurses = (parts: PursesParts): Purses => {
  const { store, clock, instance, random, keys, mayAdmit } = parts
  const purses = new Map<KeyId, Purse>()
  let serial = 0

  const purseOf = (keyId: KeyId): Purse => {
    const known = purses.get(keyId)
    if (known !== undefined) return known
    const purse: Purse = { keyId, lease: undefined, asking: undefined }
    purses.set(keyId, purse)
    return purse
  }

  /** The last look before money is held: what is known now, not when the call came in. */
  const stillRefused = (keyId: KeyId): Refusal | undefined => {
    const key = keys.get(keyId)
    if (key === undefined || key.deleted) return unknownKey()
    return mayAdmit() ?? (isEnabled(key, monthOf(clock.now())) ? undefined : disabledKey(key))
  }

  const grant = async (purse: Purse, room: Room, need: Nano) => {
    const askedMs = clock.monotonicMs()
    const granted = await store.grant({
      instance,
      keyId: purse.keyId,
      leaseId: purse.lease?.id ?? `${instance}:${++serial}`,
      need,
      want: wanted(purse.lease, need, room.amount),
      useful: room.useful,
      ttlMs: LEASE_TTL_MS,
    })
    if (granted.outcome !== 'granted') return granted
    // Another lease than the one asked for: the old one was closed meanwhile, and its calls end on their own.
    if (purse.lease?.id !== granted.leaseId) purse.lease = newLease(granted.leaseId)
    applyGrant(purse.lease, granted, askedMs)
    return { outcome: 'granted' as const, lease: purse.lease }
  }

  const needOf = (lease: Lease | undefined, amount: Nano): Nano =>
    lease === undefined || clock.monotonicMs() >= lease.deadlineMs
      ? amount
      : greatest(amount - free(lease), 1n)

  /** Asks for the room of one hold and takes it from the answer, before anyone else can. */
  const askFor = async (purse: Purse, room: Room): Promise<Lease | Refusal | GrantRefused | undefined> => {
    const answer = await grant(purse, room, needOf(purse.lease, room.amount))
    if (answer.outcome !== 'granted') return answer
    const refusal = stillRefused(purse.keyId)
    if (refusal) return refusal
    const { lease } = answer
    const nowMs = clock.monotonicMs()
    if (nowMs >= lease.deadlineMs || free(lease) < room.amount) return undefined
    holdOn(lease, room.amount, nowMs)
    return lease
  }

  const refusalOf = async (keyId: KeyId, refused: GrantRefused): Promise<Refusal | HoldRefused> => {
    const key =
      refused.outcome === 'disabled' || refused.keyVersion !== undefined
        ? await keys.reread(keyId)
        : keys.get(keyId)
    if (refused.outcome === 'unknown_key') return unknownKey()
    if (refused.outcome === 'disabled') return key === undefined ? unknownKey() : disabledKey(key)
    return {
      outcome: 'refused',
      limit: refused.limit ?? 'wallet',
      required: refused.required,
      available: refused.available,
      held: refused.held,
    }
  }

  const takeFromLedger = async (purse: Purse, room: Room): Promise<Lease | Refusal | HoldRefused> => {
    let recalls = 0
    for (let tries = 0; tries < TRIES; ) {
      if (purse.asking !== undefined) {
        await purse.asking.catch(() => undefined)
        const lease = takeNow(purse, room)
        if (lease !== undefined) return lease
        continue
      }
      tries++
      const asked = askFor(purse, room)
      purse.asking = asked
      const answer = await asked.finally(() => {
        purse.asking = undefined
      })
      if (answer === undefined) continue
      if (!('outcome' in answer)) return answer
      if (answer.outcome !== 'recall' || ++recalls === TRIES) return refusalOf(purse.keyId, answer)
      await clock.sleep(RECALL_WAIT_MS * (1 + random()))
    }
    return unreachable()
  }

  const takeNow = (purse: Purse, room: Room): Lease | Refusal | undefined => {
    const refusal = stillRefused(purse.keyId)
    if (refusal) return refusal
    const { lease } = purse
    const nowMs = clock.monotonicMs()
    if (lease === undefined || !covers(lease, room.amount, nowMs)) return undefined
    holdOn(lease, room.amount, nowMs)
    if (purse.asking === undefined && runsLow(lease, room.amount, nowMs)) refillAhead(purse, room)
    return lease
  }

  /** Asks for more before anyone has to wait. Needing nothing, it is never refused; when it fails, the next call asks itself. */
  const refillAhead = (purse: Purse, room: Room): void => {
    const asking = grant(purse, room, 0n)
      .catch(() => undefined)
      .finally(() => {
        purse.asking = undefined
      })
    purse.asking = asking
  }

  const returnUnused = async (lease: Lease): Promise<void> => {
    const back = takeUnused(lease)
    // An unknown outcome counts as returned; what was not comes home when the lease is closed.
    if (back > 0n) await store.giveBack(lease.id, back).catch(() => undefined)
  }

  return {
    take: (room) => {
      const purse = purseOf(room.keyId)
      const taken = takeNow(purse, room)
      if (taken !== undefined) return taken
      return takeFromLedger(purse, room).catch(unreachable)
    },
    answerRecall: (ids) => {
      if (ids.length === 0) return
      const recalled = new Set(ids)
      for (const { lease } of purses.values())
        if (lease !== undefined && recalled.has(lease.id)) void returnUnused(lease)
    },
    giveBack: async (keyId) => {
      const lease = purses.get(keyId)?.lease
      if (lease !== undefined) await returnUnused(lease)
    },
    giveBackIdle: () => {
      const before = clock.monotonicMs() - IDLE_MS
      for (const [keyId, purse] of purses) {
        const { lease, asking } = purse
        if (lease === undefined || asking !== undefined || lease.lastUsedMs > before) continue
        if (lease.held === 0n) purses.delete(keyId)
        void returnUnused(lease)
      }
    },
    giveBackAll: async () => {
      await Promise.all([...purses.values()].map(({ lease }) => lease && returnUnused(lease)))
    },
  }
}

const unreachable = (): Refusal => unavailable('The ledger cannot be reached.')
