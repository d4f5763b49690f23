/**
 * Purses: one a key, sub-wallet and account that pays, with the lease this process has for it. A purse hands out room in
 * memory, and asks the ledger when there is none: one request at a time, and the call that asked is served from its
 * answer first.
 */
import { disabledKey, unknownKey, unknownSubWallet } from '../admission/caller.ts'
import { greatest, type Nano } from '../core/money.ts'
import { type Refusal, unavailable } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import type { AccountId, GrantRefused, InstanceId, LeaseId } from '../ledger/words.ts'
import type { LedgerStore } from '../store/port.ts'
import { isEnabled, isKnown, type Key, type KeyId } from '../tenancy/key.ts'
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

type Purse = {
  readonly keyId: KeyId
  readonly sub: string | undefined
  /** How often a limit changed: what was granted before the last time is not handed out. */
  changes: number
  /** The lease may hold room of an old limit: until the ledger says otherwise, every call asks it. */
  outdated: boolean
  /** Calls that ask the ledger, or wait before they ask again. */
  waiting: number
  /** What it draws on when it is not the key's wallet. */
  readonly account: AccountId | undefined
  lease: Lease | undefined
  asking: Promise<unknown> | undefined
}

type Room = {
  readonly keyId: KeyId
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  readonly account: AccountId | undefined
  readonly amount: Nano
  readonly useful: Nano
}

export type Purses = {
  /** Takes room for one hold, or says why there is none. */
  take(room: Room): Lease | Refusal | HoldRefused | Promise<Lease | Refusal | HoldRefused>
  /** Gives unused room back: of recalled leases, of purses whose limits changed, of idle ones, or of all. */
  answerRecall(ids: readonly LeaseId[]): void
  giveBack(whose: (purse: Purse) => boolean): Promise<void>
  giveBackIdle(): void
  giveBackAll(): Promise<void>
}

const LEASE_TTL_MS = 10_000
const IDLE_MS = 2_000
const TRIES = 5
const RECALL_WAIT_MS = 40

type PursesParts = {
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
  const purses = new Map<string, Purse>()
  let serial = 0

  const purseOf = ({ keyId, sub, account }: Room): Purse => {
    const name = nameOf(keyId, sub, account)
    const known = purses.get(name)
    if (known !== undefined) return known
    const purse: Purse = {
      keyId,
      sub,
      account,
      changes: 0,
      outdated: false,
      waiting: 0,
      lease: undefined,
      asking: undefined,
    }
    purses.set(name, purse)
    return purse
  }

  /** The last look before money is held: what is known now, not when the call came in. */
  const stillRefused = (keyId: KeyId): Refusal | undefined => {
    const key = keys.get(keyId)
    if (key === undefined || !isKnown(key, clock.now())) return unknownKey()
    return mayAdmit() ?? (isEnabled(key, monthOf(clock.now())) ? undefined : disabledKey(key))
  }

  const grant = async (purse: Purse, room: Room, need: Nano) => {
    const askedMs = clock.monotonicMs()
    const { changes } = purse
    const granted = await store.grant({
      instance,
      keyId: purse.keyId,
      ...(purse.sub === undefined ? {} : { sub: purse.sub }),
      ...(purse.account === undefined ? {} : { account: purse.account }),
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
    purse.outdated = changes !== purse.changes
    // A limit was changed while the ledger was asked: this grant may be one under the old limit.
    if (purse.outdated) {
      void callBack(purse, purse.lease)
      return { outcome: 'outdated' as const }
    }
    return { outcome: 'granted' as const, lease: purse.lease }
  }

  /** A wallet is asked for at least something, so that its minimum is looked at; other accounts may be leased to their end. */
  const needOf = ({ lease, account }: Purse, amount: Nano): Nano =>
    lease === undefined || clock.monotonicMs() >= lease.deadlineMs
      ? amount
      : greatest(amount - free(lease), account === undefined ? 1n : 0n)

  /** Asks for the room of one hold and takes it from the answer, before anyone else can. */
  const askFor = async (purse: Purse, room: Room): Promise<Lease | Refusal | GrantRefused | undefined> => {
    // What ended calls left over of an old limit is not for the next one: it is asked for anew, as a whole.
    if (purse.outdated && purse.lease !== undefined) await returnUnused(purse.lease)
    const answer = await grant(purse, room, needOf(purse, room.amount))
    if (answer.outcome === 'outdated') return undefined
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
    if (refused.outcome === 'unknown_sub') return unknownSubWallet()
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

  const callBack = (purse: Purse, lease: Lease): Promise<void> => {
    purse.outdated = true
    lease.tight = true
    return returnUnused(lease)
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
    answerRecall: (ids) => {
      if (ids.length === 0) return
      const recalled = new Set(ids)
      for (const { lease } of purses.values())
        if (lease !== undefined && recalled.has(lease.id)) void returnUnused(lease)
    },
    giveBack: async (whose) => {
      const concerned = [...purses.values()].filter(whose)
      await Promise.all(
        concerned.map((purse) => {
          purse.changes++
          return purse.lease && callBack(purse, purse.lease)
        }),
      )
    },
    giveBackIdle: () => {
      const before = clock.monotonicMs() - IDLE_MS
      for (const [name, purse] of purses) {
        const { lease, asking, waiting } = purse
        // Who still waits would put its lease into a purse that nobody finds any more.
        if (asking !== undefined || waiting > 0) continue
        // Nothing was ever granted, to a sub-wallet that does not exist for example.
        if (lease === undefined) purses.delete(name)
        if (lease === undefined || lease.lastUsedMs > before) continue
        if (lease.held === 0n) purses.delete(name)
        void returnUnused(lease)
      }
    },
    giveBackAll: async () => {
      await Promise.all([...purses.values()].map(({ lease }) => lease && returnUnused(lease)))
    },
  }
}

/** Whose purse it is: a sub-wallet that a key is bound to is not named. */
export const roomOf = (key: Key, sub: string | undefined): Pick<Room, 'keyId' | 'sub'> => ({
  keyId: key.id,
  sub: sub === key.subWallet ? undefined : sub,
})

const nameOf = (keyId: KeyId, sub: string | undefined, account: AccountId | undefined): string =>
  sub === undefined && account === undefined ? keyId : JSON.stringify([keyId, sub ?? null, account ?? null])

const unreachable = (): Refusal => unavailable('The ledger cannot be reached.')
