/**
 * Batches stand behind calls that somebody waits for. While such calls come, each step of a batch is small, waits until none
 * is open, and leaves the loop idle before it; otherwise steps are large, because those cost less.
 */
import type { Gateway } from '../parts/gateway.ts'

/** Calls come while the last one began no longer ago than this. */
const LATELY_MS = 500
/** How long the loop is left to calls between two steps: several times as long as a step takes. */
const PAUSE_MS = 5
/** A call may wait for its vendor for minutes, and batches still go on. */
const MOST_MS = 10
const LOOK_MS = 1
/** Lines that one step takes or ends: a call that comes meanwhile waits for it. */
const SMALL = 8
const LARGE = 32
/** So many lines or results are written, or forgotten, as quickly as one line ends. */
const WRITTEN_FOR_ONE = 4
/** Lines that one step starts while no calls come. */
const STARTS = 4

export type BehindCalls = {
  /** Resolves when the next step may begin: one after the other. */
  readonly step: () => Promise<void>
  /** How many lines a step may have. */
  readonly lines: () => number
  /** How many lines or results one step may write, or forget. */
  readonly writes: () => number
  /** How many lines may start in one step. */
  readonly starts: () => number
}

export const behindCalls = ({ clock, capacity: { overload } }: Gateway): BehindCalls => {
  let known = overload.entered()
  let cameMs = Number.NEGATIVE_INFINITY
  const come = (): boolean => {
    const entered = overload.entered()
    if (entered !== known || overload.inHand() > 0) cameMs = clock.monotonicMs()
    known = entered
    return clock.monotonicMs() - cameMs < LATELY_MS
  }
  const next = async (): Promise<void> => {
    await clock.turn()
    if (!come()) return
    const untilMs = clock.monotonicMs() + MOST_MS
    await clock.sleep(PAUSE_MS)
    while (overload.inHand() > 0 && clock.monotonicMs() < untilMs) await clock.sleep(LOOK_MS)
  }
  let last = Promise.resolve()
  const lines = () => (come() ? SMALL : LARGE)
  return {
    step: () => {
      last = last.then(next)
      return last
    },
    lines,
    writes: () => lines() * WRITTEN_FOR_ONE,
    starts: () => (come() ? 1 : STARTS),
  }
}
