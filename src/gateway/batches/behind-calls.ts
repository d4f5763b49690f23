/** Batches stand behind calls that somebody waits for: each step of theirs waits while such calls are answered. */
import type { Gateway } from '../parts/gateway.ts'

/** A call may wait for its vendor for minutes, and batches still go on. */
const MOST_MS = 10
const LOOK_MS = 1

/** Resolves when no call but these lines is open, or after a while. */
export type BehindCalls = () => Promise<void>

export const behindCalls =
  ({ clock, capacity }: Gateway, lines: () => number): BehindCalls =>
  async () => {
    const untilMs = clock.monotonicMs() + MOST_MS
    await clock.turn()
    while (capacity.calls.used() > lines() && clock.monotonicMs() < untilMs) await clock.sleep(LOOK_MS)
  }
