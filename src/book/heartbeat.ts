/**
 * The heartbeat: proves that this process knows every change of a key, and fences the process when it can no longer
 * prove that. A change is acknowledged only when each process has read it, or has been silent for so long that it
 * admits nothing.
 */
import type { Log } from '../core/log.ts'
import type { Clock, Instant } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { Beat, InstanceStore } from '../store/calls/instance-port.ts'
import { LEASE_TTL_MS } from './borrower.ts'

/** How long knowledge counts as fresh, both for each process and for those who wait until no process can know less. */
const FRESH_MS = 2_000
/** The margin we subtract, because clocks run at different rates. */
const FRESH_MARGIN_MS = 200
const BEAT_MS = 100
/** If the database clock gains more than this on ours, beyond the time that asking took, somebody has set it. */
const JUMP_MS = 1_000
/**
 * After this time all living processes have sent a heartbeat under the new clock. Leases that have ended by it have
 * ended for their owners too.
 */
const SETTLING_MS = LEASE_TTL_MS + 2_000

/** Notifies other processes that there is news; the hint may get lost. */
export type Nudge = {
  readonly address: string
  notify(addresses: readonly string[]): void
  onNotified(listener: () => void): void
}

export type Heartbeat = {
  /** Sends heartbeats until stopped; resolves after the first that succeeded. */
  start(): Promise<void>
  /** Whether this process may trust its knowledge at a given monotonic time. */
  fresh(nowMs?: number): boolean
  /** Sends a heartbeat at once and resolves when it has ended, successfully or not. */
  beatNow(): Promise<void>
  liveInstances(): number
  /** Time since the sending of the last heartbeat that was answered. */
  ageMs(): number
  /** Whether the database's clock can tell which processes are silent. For a while after it jumped ahead, it cannot. */
  steady(): boolean
  stop(): Promise<void>
}

type HeartbeatParts = {
  readonly store: InstanceStore
  readonly clock: Clock
  readonly instance: InstanceId
  readonly log: Log
  readonly nudge: Nudge | undefined
  readonly onBeat: (beat: Beat) => void
}

export const createHeartbeat = (parts: HeartbeatParts): Heartbeat => {
  const { store, clock, instance, log, nudge } = parts
  let freshUntilMs = Number.NEGATIVE_INFINITY
  let seen: Instant | undefined
  let seenAskedMs = 0
  let steadyFromMs = Number.NEGATIVE_INFINITY
  let live = 1
  let answeredMs = clock.monotonicMs()
  let stopped = false
  let failing = false
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let hurry = Promise.withResolvers<void>()

  const noteClock = (at: Instant, startedMs: number): void => {
    const nowMs = clock.monotonicMs()
    if (seen !== undefined && at - seen > nowMs - seenAskedMs + JUMP_MS) steadyFromMs = nowMs + SETTLING_MS
    seen = at
    seenAskedMs = startedMs
  }

  const beat = async (): Promise<void> => {
    const startedMs = clock.monotonicMs()
    try {
      const read = await store.beat(instance, seen, nudge?.address)
      parts.onBeat(read)
      noteClock(read.at, startedMs)
      live = Math.max(1, read.liveInstances)
      answeredMs = startedMs
      freshUntilMs = startedMs + FRESH_MS - FRESH_MARGIN_MS
      failing = false
    } catch (error) {
      if (!failing) log.warn('the ledger does not answer the heartbeat', { error: String(error) })
      failing = true
    }
  }
  /**
   * One heartbeat at a time. All who ask while one runs share the next, because only the next one reads what is known
   * now.
   */
  const beatNow = (): Promise<void> => {
    if (running === undefined) {
      running = beat().finally(() => {
        running = undefined
      })
      return running
    }
    next ??= running.then(() => {
      next = undefined
      return beatNow()
    })
    return next
  }
  const loop = async (): Promise<void> => {
    while (!stopped) {
      hurry = Promise.withResolvers()
      await Promise.race([clock.sleep(BEAT_MS), hurry.promise])
      if (!stopped) await beatNow()
    }
  }
  return {
    start: async () => {
      nudge?.onNotified(() => hurry.resolve())
      await beatNow()
      for (let tries = 0; seen === undefined && tries < 20; tries++) {
        await clock.sleep(BEAT_MS)
        await beatNow()
      }
      void loop()
    },
    fresh: (nowMs = clock.monotonicMs()) => nowMs < freshUntilMs,
    beatNow,
    liveInstances: () => live,
    ageMs: () => clock.monotonicMs() - answeredMs,
    steady: () => clock.monotonicMs() >= steadyFromMs,
    stop: async () => {
      stopped = true
      freshUntilMs = Number.NEGATIVE_INFINITY
      await running
    },
  }
}

/** Waits until no process can admit a call on knowledge older than `since`. */
export const untilKnown = async (
  parts: { readonly store: InstanceStore; readonly clock: Clock; readonly nudge: Nudge | undefined },
  since: Instant,
  beatNow: () => Promise<void>,
): Promise<void> => {
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const unaware = await parts.store.unaware(since, FRESH_MS)
    if (unaware.length === 0) return
    parts.nudge?.notify(unaware.flatMap(({ nudge }) => (nudge === undefined ? [] : [nudge])))
    await beatNow()
    await parts.clock.sleep(pauseMs)
  }
}
