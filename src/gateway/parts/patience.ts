/**
 * Patience with readers: a stream whose reader takes nothing for long is ended, so that it does not tie up money and
 * memory.
 */
import type { Clock } from '../../core/time.ts'

/** How far a stream's reader has come; its writer notes each piece. */
export type Pace = {
  /** A piece waits to be taken. */
  offered: boolean
  /** How many pieces were taken. */
  taken: number
  /** The stream has ended. */
  over: boolean
  /** Its place in the list of watched streams. */
  at: number
}

const NOWHERE = -1

export const newPace = (): Pace => ({ offered: false, taken: 0, over: false, at: NOWHERE })

export type Patience = {
  /** Watches one stream until it is over; `stop` ends it. */
  watch(pace: Pace, stop: () => void): void
  /**
   * The stream is over. It is forgotten at once, so that the memory it holds does not have to wait for the next look.
   */
  end(pace: Pace): void
}

type WatchedReader = { readonly pace: Pace; readonly stop: () => void; seen: number; sinceMs: number }

const LOOKS = 4

/** Ends streams whose reader takes nothing for `longestMs`. A periodic look at all streams costs each piece nothing. */
export const newPatience = (clock: Clock, longestMs: number): Patience => {
  /** When a stream is over, the last entry takes its place. */
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
    // Over a copy, because stopping one stream can remove it and others from the list.
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
