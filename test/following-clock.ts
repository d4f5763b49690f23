/**
 * The clock of a process beside a database whose clock a test moves on at once: what was lent before is over for both,
 * as it would be if that time had passed.
 */
import { type Clock, systemClock } from '../src/core/time.ts'

/** Less is what calls may take, and leaves them open. */
const JUMP_MS = 30_000

export const followingClock = (now: () => number): Clock => {
  let [last, passed] = [now(), 0]
  return {
    ...systemClock,
    monotonicMs: () => {
      const ahead = now() - last
      if (ahead > JUMP_MS) passed += ahead
      last = Math.max(last, now())
      return systemClock.monotonicMs() + passed
    },
  }
}
