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
}

export const newPace = (): Pace => ({ offered: false, taken: 0, over: false })

export type Patience = {
  /** Watches one stream until it is over; `stop` ends it. */
  watch(pace: Pace, stop: () => void): void
}

type WatchedReader = { readonly pace: Pace; readonly stop: () => void; seen: number; sinceMs: number }

const LOOKS = 4

/** Ends streams whose reader takes nothing for `longestMs`. One look at all of them costs a piece nothing. */
export const newPatience = (clock: Clock, longestMs: number): Patience => {
  const watched = new Set<WatchedReader>()
  let looking = false
  const look = (): void => {
    const nowMs = clock.monotonicMs()
    for (const one of watched) {
      if (one.pace.over) watched.delete(one)
      else if (!one.pace.offered || one.pace.taken !== one.seen) {
        one.seen = one.pace.taken
        one.sinceMs = nowMs
      } else if (nowMs - one.sinceMs >= longestMs) {
        watched.delete(one)
        one.stop()
      }
    }
  }
  const lookOn = async (): Promise<void> => {
    looking = true
    while (watched.size > 0) {
      await clock.sleep(longestMs / LOOKS)
      look()
    }
    looking = false
  }
  return {
    watch: (pace, stop) => {
      watched.add({ pace, stop, seen: pace.taken, sinceMs: clock.monotonicMs() })
      if (!looking) void lookOn()
    },
  }
}
