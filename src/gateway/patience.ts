/** Patience with readers: a stream whose reader takes nothing for long is ended, so that it does not keep money and memory. */
import type { Clock } from '../core/time.ts'

/** How a stream is taken; its writer notes each piece. */
export type Pace = {
  /** A piece waits to be taken. */
  offered: boolean
  /** How many were taken. */
  taken: number
  /** The stream has ended. */
  over: boolean
  /** Where it stands among those that are watched. */
  at: number
}

const NOWHERE = -1

export const newPace = (): Pace => ({ offered: false, taken: 0, over: false, at: NOWHERE })

export type Patience = {
  /** Watches one stream until it is over; `stop` ends it. */
  watch(pace: Pace, stop: () => void): void
  /** The stream is over. It is forgotten at once: what it holds must not outlive it until the next look. */
  end(pace: Pace): void
}

type WatchedReader = { readonly pace: Pace; readonly stop: () => void; seen: number; sinceMs: number }

const LOOKS = 4

/** Ends streams whose reader takes nothing for `longestMs`. One look at all of them costs a piece nothing. */
export const newPatience = (clock: Clock, longestMs: number): Patience => {
  /** Gaps are filled from the end. */
  const watched: WatchedReader[] = []
  let looking = false
  const forget = (pace: Pace): void => {
    if (pace.at === NOWHERE) return
    const last = watched.pop()
    if (last !== undefined && last.pace !== pace) {
      watched[pace.at] = last
      last.pace.at = pace.at
    }
    pace.at = NOWHERE
  }
  const look = (): void => {
    const nowMs = clock.monotonicMs()
    // Over a copy: who is stopped, and others by it, are forgotten on the way.
    for (const one of [...watched]) {
      if (one.pace.over) continue
      if (!one.pace.offered || one.pace.taken !== one.seen) {
        one.seen = one.pace.taken
        one.sinceMs = nowMs
      } else if (nowMs - one.sinceMs >= longestMs) {
        forget(one.pace)
        one.stop()
      }
    }
  }
  const lookOn = async (): Promise<void> => {
    looking = true
    while (watched.length > 0) {
      await clock.sleep(longestMs / LOOKS)
      look()
    }
    looking = false
  }
  return {
    watch: (pace, stop) => {
      if (pace.over) return
      pace.at = watched.push({ pace, stop, seen: pace.taken, sinceMs: clock.monotonicMs() }) - 1
      if (!looking) void lookOn()
    },
    end: (pace) => {
      pace.over = true
      forget(pace)
    },
  }
}
