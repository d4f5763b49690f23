/** The book of one process: keys it knows, money it leased, calls it has open; backed by the store. */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import type { Log } from '../core/log.ts'
import type { Nano } from '../core/money.ts'
import { Refusal, unavailable } from '../core/refusal.ts'
import { type Clock, type Instant, monthOf } from '../core/time.ts'
import type { InstanceId } from '../ledger/words.ts'
import type { Beat, Store } from '../store/port.ts'
import { isEnabled, isKnown } from '../tenancy/key.ts'
import { createHeartbeat, type Nudge, untilKnown } from './heartbeat.ts'
import type { Journal } from './journal.ts'
import { createKnownKeys } from './known-keys.ts'
import { createKnownRules } from './known-rules.ts'
import { endHold, type Lease } from './lease.ts'
import { createNews } from './news.ts'
import { OpenHold } from './open-hold.ts'
import { createPurses } from './purse.ts'
import { createRates } from './rates.ts'
import { pathOf } from './room.ts'
import { newTouch, unreachable } from './touch.ts'
import type { Book, BookHealth, HoldAsk, HoldRefused } from './words.ts'
import { createWriter } from './writer.ts'

type BookParts = {
  readonly store: Store
  readonly clock: Clock
  /** Name of this process; never used again after it ends. */
  readonly instance: InstanceId
  readonly random: () => number
  readonly log: Log
  readonly nudge?: Nudge
  /** Where settlements wait while the ledger is away; for a ledger that is not on this machine. */
  readonly journal?: Journal | undefined
  /** The longest a call may run; orphans of a crash are charged and closed after it. */
  readonly longestCallMs?: number
}

/** A bound on memory, above what all open calls of a process queue at once; that the ledger is slow shows in the age. */
const QUEUE_MAX = 20_000
const QUEUE_AGE_MAX_MS = 1_000
const REAP_MS = 1_000
const EXPIRE_MS = 250
const REAP_GRACE_MS = 1_000
const LONGEST_CALL_MS = 15 * 60_000
const STALE_WAITS = 3
const REREAD_MS = 250
/** Calls that find knowledge too old are answered within this. */
const STALE_WAIT_MS = 1_500
/** Kept of the time to drain: for calls that are cut to be settled, and for leaving the ledger. */
const LEAVE_MS = 2_000
/** How often a hold that grows follows its path to another lease. */
const MOVES = 3

export const createBook = (parts: BookParts): Book => {
  const { store, clock, instance, log, nudge, journal } = parts
  const keys = createKnownKeys(store, clock)
  const writer = createWriter({ store, clock, instance, log, journal })
  const open = new Set<OpenHold>()
  let draining = false
  let nothingOpen: (() => void) | undefined

  /** Shutting down and overload are for new calls; those that were admitted go on. */
  const mayAdmit = (goesOn = false): Refusal | undefined => {
    if (draining && !goesOn) return unavailable('The server is shutting down.')
    if (!heartbeat.fresh()) return unavailable('The server has lost touch with the ledger.')
    if (goesOn) return undefined
    if (writer.queued() > QUEUE_MAX || writer.oldestMs() > QUEUE_AGE_MAX_MS)
      return unavailable('The ledger is overloaded.')
    return undefined
  }

  const purses = createPurses({ store, clock, instance, random: parts.random, keys, mayAdmit })
  const rules = createKnownRules(store)
  const learn = createNews({ keys, rules, purses })

  const onBeat = (beat: Beat): void => {
    void learn({ keys: beat.changed, rules: beat.rules, subWallets: beat.subWallets })
    purses.answerRecall(beat.recalled)
    purses.giveBackIdle()
    void purses.renew()
    rates.returnIdle()
  }

  const heartbeat = createHeartbeat({ store, clock, instance, log, nudge, onBeat })
  const rates = createRates({ store, clock, liveInstances: heartbeat.liveInstances })

  const knownSince = (at: Instant): Promise<void> =>
    untilKnown({ store, clock, nudge }, at, heartbeat.beatNow)

  const touch = newTouch(heartbeat.fresh)

  /** Knowledge that is merely late is fetched; a ledger that does not answer leaves the refusal. */
  const untilFresh = (): Promise<void> => Promise.race([beatUntilFresh(), clock.sleep(STALE_WAIT_MS)])

  const beatUntilFresh = async (): Promise<void> => {
    for (let waits = 0; !heartbeat.fresh() && waits < STALE_WAITS; waits++) await heartbeat.beatNow()
  }

  const reapForEver = async (): Promise<void> => {
    while (!draining) {
      await clock.sleep(REAP_MS * (1 + parts.random()))
      if (draining) return
      const reaped = await store
        .reap({ graceMs: REAP_GRACE_MS, longestCallMs: parts.longestCallMs ?? LONGEST_CALL_MS })
        .catch(() => undefined)
      if (reaped !== undefined && reaped.recovered > 0)
        log.warn('orphaned calls were charged', { recovered: reaped.recovered })
    }
  }

  /** Apart from the heartbeat: intents are given up in time also while the ledger does not answer. */
  const expireForEver = async (): Promise<void> => {
    while (!draining || open.size > 0) {
      await clock.sleep(EXPIRE_MS)
      writer.expire()
      touch.check()
    }
  }

  /** Brings into the ledger what processes that were killed had to leave in their journals. */
  const settleLeft = async (): Promise<void> => {
    for (const { settles, remove } of (await journal?.left()) ?? []) {
      const charged = await Promise.all(settles.map(writer.resettle))
      if (charged.every((one) => one)) await remove()
    }
  }

  /** Takes room for a call to hold `to` in all: more of its own lease or, where that is over, all of it on another. */
  const more = async (hold: OpenHold, to: Nano, waits: boolean): Promise<Lease | undefined> => {
    const path = pathOf(hold.key, hold.sub, hold.account)
    for (let tries = 0; tries < MOVES; tries++) {
      if (!heartbeat.fresh()) await untilFresh()
      const moves = purses.leaseOf(path) !== hold.lease
      const amount = moves ? to : to - hold.amount()
      const taken = await purses.take({ ...path, amount, useful: 0n, goesOn: hold.amount(), waits })
      if (taken instanceof Refusal || 'outcome' in taken) return undefined
      if ((taken !== hold.lease) === moves) return taken
      // Its lease was replaced while it asked.
      endHold(taken, amount, 0n)
    }
    return undefined
  }

  const holdParts = {
    writer,
    log,
    more,
    ended: (hold: OpenHold): void => {
      open.delete(hold)
      purses.freed()
      if (open.size === 0) nothingOpen?.()
    },
  }

  const holdNow = async (ask: HoldAsk): Promise<OpenHold | HoldRefused | Refusal> => {
    const { callId, key, sub, account, amount, useful, waits = false, signal } = ask
    const taken = await touch.whileInTouch(
      purses.take({ ...pathOf(key, sub, account), amount, useful, waits, signal }),
      (late) => {
        if (!(late instanceof Refusal || 'outcome' in late)) endHold(late, amount, 0n)
      },
    )
    if (taken instanceof Refusal || 'outcome' in taken) return taken
    const hold = new OpenHold(holdParts, { callId, key, sub, account, lease: taken, amount })
    open.add(hold)
    return hold
  }

  const allEnded = (): Promise<void> =>
    open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          nothingOpen = resolve
        })

  const leave = async (): Promise<void> => {
    await heartbeat.stop()
    await purses.giveBackAll()
    await store.leave(instance).catch(() => undefined)
  }

  return {
    start: async () => {
      const leftSettled = settleLeft().catch((error: unknown) =>
        log.error('a journal cannot be read', { error: String(error) }),
      )
      await heartbeat.start()
      void reapForEver()
      void expireForEver()
      await leftSettled
    },
    caller: async (hash) => {
      if (!heartbeat.fresh()) await untilFresh()
      const refusal = mayAdmit()
      if (refusal) return refusal
      try {
        return await touch.whileInTouch(keys.find(hash))
      } catch {
        return unreachable()
      }
    },
    isEndedTrial: keys.isEndedTrial,
    takeRate: async (keyId, limits, planRpm, tokens) => {
      try {
        return await touch.whileInTouch(rates.take(keyId, limits, planRpm, tokens))
      } catch {
        // A request that cannot be counted is not admitted: the window would no longer be exact.
        return unreachable()
      }
    },
    onKeyChanged: keys.onChanged,
    makersOf: async ({ ancestors }) => {
      try {
        const makers = await Promise.all(ancestors.map((id) => keys.get(id) ?? keys.reread(id)))
        return makers.filter((maker) => maker !== undefined)
      } catch {
        return unavailable('The ledger cannot be reached.')
      }
    },
    hold: async (ask) => {
      keys.learn(ask.key)
      if (!heartbeat.fresh()) await untilFresh()
      return holdNow(ask)
    },
    whyFenced: async (key) => {
      // A ledger that is away is not waited for once more.
      const now = await Promise.race([
        keys.reread(key.id).catch(() => key),
        clock.sleep(REREAD_MS).then(() => key),
      ])
      if (now === undefined || !isKnown(now, clock.now())) return unknownKey()
      return isEnabled(now, monthOf(clock.now()))
        ? unavailable('The ledger cannot be reached.')
        : disabledKey(now)
    },
    changeKey: async (id, change) => {
      const changed = await store.changeKey(id, change)
      if (changed === undefined) return undefined
      await learn({ keys: [changed.key, ...changed.below] })
      await knownSince(changed.at)
      return changed.key
    },
    deleteKey: async (id, withChildren) => {
      const deleted = await store.deleteKey(id, withChildren)
      if (deleted === undefined) return false
      await learn({ keys: [deleted.key, ...deleted.below] })
      await knownSince(deleted.at)
      return true
    },
    rules: async (walletId) => {
      try {
        const known = await touch.whileInTouch(rules.of(walletId))
        return known instanceof Refusal ? known : known.rules
      } catch {
        return unreachable()
      }
    },
    untilKnown: knownSince,
    health: (): BookHealth => ({
      fresh: heartbeat.fresh(),
      draining,
      openCalls: open.size,
      queued: writer.queued(),
      oldestQueuedMs: writer.oldestMs(),
    }),
    drain: async (deadlineMs, cut = nothing) => {
      draining = true
      const leaveMs = Math.min(LEAVE_MS, deadlineMs / 2)
      const ended = allEnded()
      await Promise.race([ended, clock.sleep(deadlineMs - leaveMs)])
      if (open.size > 0) cut()
      const settled = ended.then(writer.idle)
      await Promise.race([settled, clock.sleep(leaveMs / 2)])
      await Promise.race([leave(), clock.sleep(leaveMs / 2)])
    },
  }
}

const nothing = (): void => undefined
