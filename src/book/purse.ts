/**
 * Purses: one a key, sub-wallet and account that pays, with the lease this process has for it. A purse hands out room in
 * memory, and asks the ledger when there is none: one request at a time, and the call that asked is served from its
 * answer first. A call for which there is room is never refused: what other leases or open calls have of it is waited for.
 */
import { disabledKey, unknownKey, unknownSubWallet } from '../admission/caller.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import type { GrantRefused, InstanceId, LeaseId } from '../ledger/words.ts'
import type { LedgerStore } from '../store/port.ts'
import { isEnabled, isKnown, type KeyId } from '../tenancy/key.ts'
import { createBorrowing, LEASE_TTL_MS } from './borrow.ts'
import type { KnownKeys } from './known-keys.ts'
import { covers, holdOn, type Lease, liveOn, runsLow } from './lease.ts'
import { nameOf, newPurse, type Path, type Purse, type Room } from './room.ts'
import type { HoldRefused } from './words.ts'

export type Purses = {
  /** Takes room for one hold, or says why there is none. */
  take(room: Room): Lease | Refusal | HoldRefused | Promise<Lease | Refusal | HoldRefused>
  /** The lease that room of this path is taken from now; undefined where there is none. */
  leaseOf(path: Path): Lease | undefined
  /** A hold has ended: who waits for its money looks again. */
  freed(): void
  /** Leases that open calls hold and that end soon live on. */
  renew(): Promise<void>
  /** Gives unused room back: of recalled leases, of purses whose limits changed, of idle ones, or of all. */
  answerRecall(ids: readonly LeaseId[]): void
  giveBack(whose: (path: Path) => boolean): Promise<void>
  giveBackIdle(): void
  giveBackAll(): Promise<void>
}

const IDLE_MS = 2_000
/** A lease with open calls is renewed when it has less than this to live. */
const RENEW_BELOW_MS = 6_000
/** How long a call waits for money to come back, from leases of other processes or from open calls. */
const PATIENCE_MS = 2_000
const LOOK_AGAIN_MS = 40
const LOOK_AGAIN_AFTER_MS = 160
/** Answers that are out of date when they come: a ledger that gives no other cannot be reached. */
const OUTDATED_TRIES = 20

type PursesParts = {
  readonly store: Pick<LedgerStore, 'grant' | 'giveBack' | 'renew'>
  readonly clock: Clock
  readonly instance: InstanceId
  readonly random: () => number
  readonly keys: KnownKeys
  /** Whether this process may admit a call now, or let one go on; the refusal when not. */
  readonly mayAdmit: (goesOn: boolean) => Refusal | undefined
}

export const createPurses = (parts: PursesParts): Purses => {
  const { store, clock, instance, random, keys, mayAdmit } = parts
  const purses = new Map<string, Purse>()
  let waitingForHolds = 0
  let renewing = false
  let freed = Promise.withResolvers<void>()

  const purseOf = (path: Path): Purse => {
    const name = nameOf(path)
    const known = purses.get(name)
    if (known !== undefined) return known
    const purse = newPurse({ keyId: path.keyId, sub: path.sub, account: path.account })
    purses.set(name, purse)
    return purse
  }

  const stillRefused = ({ keyId, goesOn }: Room): Refusal | undefined => {
    const key = keys.get(keyId)
    if (key === undefined || !isKnown(key, clock.now())) return unknownKey()
    return (
      mayAdmit(goesOn !== undefined) ?? (isEnabled(key, monthOf(clock.now())) ? undefined : disabledKey(key))
    )
  }

  const borrowing = createBorrowing({ store, clock, instance, stillRefused })

  const takeNow = (purse: Purse, room: Room): Lease | Refusal | undefined => {
    const refusal = stillRefused(room)
    if (refusal) return refusal
    const { lease } = purse
    const nowMs = clock.monotonicMs()
    if (lease === undefined || !covers(lease, room.amount, nowMs)) return undefined
    holdOn(lease, room.amount, nowMs)
    if (purse.asking === undefined && runsLow(lease, room.amount, nowMs)) refillAhead(purse, room)
    return lease
  }

  /** Asks for more before anyone has to wait; when it fails, the next call asks itself. */
  const refillAhead = (purse: Purse, room: Room): void => {
    purse.asking = borrowing
      .ahead(purse, room)
      .catch(() => undefined)
      .finally(() => {
        purse.asking = undefined
      })
  }

  const refusalOf = async (keyId: KeyId, refused: GrantRefused): Promise<Refusal | HoldRefused> => {
    const key =
      refused.outcome === 'disabled' || refused.keyVersion !== undefined
        ? await keys.reread(keyId)
        : keys.get(keyId)
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

  /** Until money may have come back: an open call of this process ended, or it is time to ask again. */
  const moneyMayBeBack = async (): Promise<void> => {
    waitingForHolds++
    try {
      await Promise.race([freed.promise, clock.sleep(LOOK_AGAIN_MS + LOOK_AGAIN_AFTER_MS * random())])
    } finally {
      waitingForHolds--
    }
  }

  /** One asks the ledger at a time; the others are served from its answer in the order they came. */
  const takeFromLedger = async (purse: Purse, room: Room): Promise<Lease | Refusal | HoldRefused> => {
    const until = clock.monotonicMs() + PATIENCE_MS
    for (let outdated = 0; outdated < OUTDATED_TRIES; ) {
      if (purse.asking !== undefined) {
        await purse.asking.catch(() => undefined)
        const lease = takeNow(purse, room)
        if (lease !== undefined) return lease
        continue
      }
      const asked = borrowing.forCall(purse, room)
      purse.asking = asked
      const answer = await asked.finally(() => {
        purse.asking = undefined
      })
      if (answer === undefined) {
        outdated++
        continue
      }
      if (!('outcome' in answer)) return answer
      const mayComeBack = answer.outcome === 'recall' || (room.waits && othersHold(answer, room))
      const over = room.signal?.aborted === true || clock.monotonicMs() >= until
      if (!mayComeBack || over) return refusalOf(room.keyId, answer)
      if (answer.outcome === 'recall') await clock.sleep(LOOK_AGAIN_MS * (1 + random()))
      else await moneyMayBeBack()
    }
    return unreachable()
  }

  return {
    take: (room) => {
      const purse = purseOf(room)
      const taken = takeNow(purse, room)
      if (taken !== undefined) return taken
      purse.waiting++
      return takeFromLedger(purse, room)
        .catch(unreachable)
        .finally(() => purse.waiting--)
    },
    leaseOf: (path) => purses.get(nameOf(path))?.lease,
    freed: () => {
      if (waitingForHolds === 0) return
      freed.resolve()
      freed = Promise.withResolvers()
    },
    renew: async () => {
      const nowMs = clock.monotonicMs()
      const ending = new Map<LeaseId, Lease>()
      for (const { lease } of purses.values())
        if (lease !== undefined && lease.held > 0n && lease.deadlineMs - nowMs < RENEW_BELOW_MS)
          ending.set(lease.id, lease)
      if (ending.size === 0 || renewing) return
      renewing = true
      try {
        for (const { leaseId, lifeMs } of await store.renew(instance, [...ending.keys()], LEASE_TTL_MS)) {
          const lease = ending.get(leaseId)
          if (lease !== undefined) liveOn(lease, lifeMs, nowMs)
        }
      } catch {
        // The next beat tries again; a lease that ends is replaced by the next one.
      } finally {
        renewing = false
      }
    },
    answerRecall: (ids) => {
      if (ids.length === 0) return
      const recalled = new Set(ids)
      for (const { lease } of purses.values())
        if (lease !== undefined && recalled.has(lease.id)) void borrowing.giveBack(lease)
    },
    giveBack: async (whose) => {
      const concerned = [...purses.values()].filter(({ path }) => whose(path))
      await Promise.all(
        concerned.map((purse) => {
          purse.changes++
          return purse.lease && borrowing.callBack(purse.lease)
        }),
      )
    },
    giveBackIdle: () => {
      const before = clock.monotonicMs() - IDLE_MS
      for (const [name, { lease, asking, waiting }] of purses) {
        // Who still waits would put its lease into a purse that nobody finds any more.
        if (asking !== undefined || waiting > 0) continue
        // Nothing was ever granted, to a sub-wallet that does not exist for example.
        if (lease === undefined) purses.delete(name)
        if (lease === undefined || lease.lastUsedMs > before) continue
        if (lease.held === 0n) purses.delete(name)
        void borrowing.giveBack(lease)
      }
    },
    giveBackAll: async () => {
      await Promise.all([...purses.values()].map(({ lease }) => lease && borrowing.giveBack(lease)))
    },
  }
}

/** Whether what other open calls hold would do. */
const othersHold = ({ outcome, available, held }: GrantRefused, { amount, goesOn = 0n }: Room): boolean =>
  outcome === 'held' && available + held - goesOn >= amount

const unreachable = (): Refusal => unavailable('The ledger cannot be reached.')
