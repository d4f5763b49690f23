/**
 * The heartbeat: proves that this process knows every change of a key, and fences it when it cannot prove that any more.
 * A change is acknowledged only when each process has read it, or has been silent for so long that it admits nothing.
 */
import type { Log } from '../core/log.ts'
import type { Clock, Instant } from '../core/time.ts'
import type { InstanceId } from '../ledger/words.ts'
import type { Beat, InstanceStore } from '../store/port.ts'

/** How long knowledge counts as fresh, on every process and for who waits for them. */
const FRESH_MS = 2_000
/** Kept off it for clocks that run at different rates. */
const FRESH_MARGIN_MS = 200
const BEAT_MS = 100

/** Tells other processes that there is news; a hint that may be lost. */
export type Nudge = {
  readonly address: string
  tell(addresses: readonly string[]): void
  onTold(listener: () => void): void
}

type Heartbeat = {
  /** Beats until stopped; resolves after the first beat that succeeded. */
  start(): Promise<void>
  fresh(): boolean
  /** Beats at once and resolves when that beat has ended, well or not. */
  beatNow(): Promise<void>
  liveInstances(): number
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
  let live = 1
  let stopped = false
  let failing = false
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let hurry = Promise.withResolvers<void>()

  const beat = async (): Promise<void> => {
    const startedMs = clock.monotonicMs()
    try {
      const read = await store.beat(instance, seen, nudge?.address)
      parts.onBeat(read)
      seen = read.at
      live = Math.max(1, read.liveInstances)
      freshUntilMs = startedMs + FRESH_MS - FRESH_MARGIN_MS
      failing = false
    } catch (error) {
      if (!failing) log.warn('the ledger does not answer the heartbeat', { error: String(error) })
      failing = true
    }
  }
  /** One beat at a time; all who ask while one runs share the next, for only that one reads what is known now. */
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
      nudge?.onTold(() => hurry.resolve())
      await beatNow()
      for (let tries = 0; seen === undefined && tries < 20; tries++) {
        await clock.sleep(BEAT_MS)
        await beatNow()
      }
      void loop()
    },
    fresh: () => clock.monotonicMs() < freshUntilMs,
    beatNow,
    liveInstances: () => live,
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
    parts.nudge?.tell(unaware.flatMap(({ nudge }) => (nudge === undefined ? [] : [nudge])))
    await beatNow()
    await parts.clock.sleep(pauseMs)
  }
}
