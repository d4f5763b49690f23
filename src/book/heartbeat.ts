/**
 * The heartbeat: proves that this process knows every change of a key, and fences the process when it can no longer
 * prove that. A change is acknowledged only when each process has read it, or has been silent for so long that it
 * admits nothing.
 */
import type { Log } from '../core/log.ts'
import type { Clock, Instant } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { Meters } from '../metrics/meters.ts'
import type { Beat, InstanceStore } from '../store/calls/instance-port.ts'

/** How long knowledge counts as fresh, both for each process and for those who wait until no process can know less. */
const FRESH_MS = 2_000
/** The margin we subtract, because clocks run at different rates. */
const FRESH_MARGIN_MS = 200
const BEAT_MS = 100
/** If the database clock gains more than this on ours, beyond the time that asking took, somebody has set it. */
const JUMP_MS = 1_000
/**
 * After this time all living processes have sent a heartbeat under the new clock, have asked again for the leases that
 * calls use or released those at rest, and have ended those that were short-lived.
 */
const SETTLING_MS = 12_000
/** After this long between two heartbeats others may have thought that this process is silent, and fenced its leases. */
const BROKEN_MS = 2_800

/** What a window of the ledger's clock needs on each side, so that a clock set by less than is noticed changes no window. */
const WINDOW_MARGIN_MS = JUMP_MS
/** Two clocks may differ in rate by this much. */
const DRIFT = 0.03

/** The ledger's time at two moments of ours, between which the ledger told it. */
type Told = { readonly at: Instant; readonly askedMs: number; readonly answeredMs: number }

/** The earliest and the latest that the ledger's clock may show. */
const earliest = ({ at, answeredMs }: Told, nowMs: number): number =>
  at + Math.max(0, nowMs - answeredMs) * (1 - DRIFT) - WINDOW_MARGIN_MS
const latest = ({ at, askedMs }: Told, nowMs: number): number =>
  at + (nowMs - askedMs) * (1 + DRIFT) + WINDOW_MARGIN_MS

const windowIn = (
  told: Told | undefined,
  lengthMs: number,
  nowMs: number,
): ReturnType<Heartbeat['windowAt']> => {
  if (told === undefined) return undefined
  const from = earliest(told, nowMs)
  const startsAt = from - (from % lengthMs)
  const lastsMs = startsAt + lengthMs - latest(told, nowMs)
  return lastsMs > 0 ? { startsAt, lastsMs: lastsMs * (1 - DRIFT) } : undefined
}

const agreesWith = (
  told: Told | undefined,
  at: Instant,
  { askedMs, nowMs }: { readonly askedMs: number; readonly nowMs: number },
): boolean => told !== undefined && at >= earliest(told, askedMs) && at <= latest(told, nowMs)

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
  /** Whether the ledger was asked and did not answer: nobody need wait to learn that again. */
  away(): boolean
  /** Sends a heartbeat at once and resolves when it has ended, successfully or not. */
  beatNow(): Promise<void>
  liveInstances(): number
  /** The window of the ledger's clock that surely runs: its start, and for how long. Undefined near its ends, or out of touch. */
  windowAt(
    lengthMs: number,
    nowMs: number,
  ): { readonly startsAt: Instant; readonly lastsMs: number } | undefined
  /** Whether the ledger, which told this time after `askedMs` and now, still has the clock that the heartbeats told. */
  agrees(at: Instant, askedMs: number): boolean
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
  /**
   * `unbroken`: it followed the last one so soon that nobody can have thought that this process is silent. `forgotMs`: what
   * the ledger acknowledged from then on it may have forgotten.
   */
  readonly onBeat: (beat: Beat, how: { readonly unbroken: boolean; readonly forgotMs: number }) => void
  readonly meters?: Pick<Meters, 'ledgerLost'> | undefined
}

/** One heartbeat at a time. All who ask while one runs share the next, because only the next one reads what is known now. */
const oneAtATime = (beat: () => Promise<void>) => {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
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
  return Object.assign(beatNow, { running: () => running })
}

export const createHeartbeat = (parts: HeartbeatParts): Heartbeat => {
  const { store, clock, instance, log, nudge } = parts
  let freshUntilMs = Number.NEGATIVE_INFINITY
  let told: Told | undefined
  let seen: Instant | undefined
  let seenAskedMs = 0
  let steadyFromMs = Number.NEGATIVE_INFINITY
  let live = 1
  let answeredMs = clock.monotonicMs()
  let stopped = false
  let hurry = Promise.withResolvers<void>()

  const jumped = (at: Instant): boolean =>
    seen !== undefined && at - seen > clock.monotonicMs() - seenAskedMs + JUMP_MS
  /** Whether it followed the last one soon, by either clock, and none was set meanwhile. */
  const isUnbroken = (at: Instant): boolean =>
    seen === undefined ||
    (!jumped(at) && at >= seen && at - seen < BROKEN_MS && clock.monotonicMs() - seenAskedMs < BROKEN_MS)
  const noteClock = (at: Instant, startedMs: number): void => {
    if (jumped(at)) steadyFromMs = clock.monotonicMs() + SETTLING_MS
    seen = at
    seenAskedMs = startedMs
  }

  let failed = false
  let away = false
  /** One line when touch is lost, with the reason if there is one, and one when it is back, with how long that took. */
  const noteLost = (error: unknown): void => {
    if (away || clock.monotonicMs() < freshUntilMs) return
    away = true
    parts.meters?.ledgerLost()
    log.error('the ledger does not answer; new calls are refused until it does', { error: String(error) })
  }
  const noteBack = (): void => {
    const took_ms = clock.monotonicMs() - answeredMs
    if (stopped) return
    if (away) log.warn('the ledger answers again', { took_ms })
    else if (seen !== undefined && clock.monotonicMs() >= freshUntilMs)
      log.warn('a heartbeat came late; new calls waited for it or were refused', { took_ms })
    away = false
  }

  const beat = async (): Promise<void> => {
    const startedMs = clock.monotonicMs()
    try {
      const read = await store.beat(instance, seen, nudge?.address)
      noteBack()
      // After one that failed another ledger may answer, which never had what came after the last one that succeeded.
      const forgotMs = failed ? seenAskedMs : Number.POSITIVE_INFINITY
      parts.onBeat(read, { unbroken: isUnbroken(read.at), forgotMs })
      failed = false
      noteClock(read.at, startedMs)
      live = Math.max(1, read.liveInstances)
      answeredMs = startedMs
      freshUntilMs = startedMs + FRESH_MS - FRESH_MARGIN_MS
      told = { at: read.at, askedMs: startedMs, answeredMs: clock.monotonicMs() }
    } catch (error) {
      failed = true
      noteLost(error)
    }
  }
  const beatNow = oneAtATime(beat)
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
    away: () => away,
    beatNow,
    liveInstances: () => live,
    windowAt: (lengthMs, nowMs) => (nowMs < freshUntilMs ? windowIn(told, lengthMs, nowMs) : undefined),
    agrees: (at, askedMs) => {
      const nowMs = clock.monotonicMs()
      return nowMs < freshUntilMs && agreesWith(told, at, { askedMs, nowMs })
    },
    ageMs: () => clock.monotonicMs() - answeredMs,
    steady: () => clock.monotonicMs() >= steadyFromMs,
    stop: async () => {
      stopped = true
      freshUntilMs = Number.NEGATIVE_INFINITY
      await beatNow.running()
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
