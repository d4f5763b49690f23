/**
 * Keeps memory flat after a burst: on a machine with much memory the runtime sees no need to free what a burst left.
 */
import type { Meters } from '../../metrics/meters.ts'

const EVERY_MS = 10_000
/** The memory that a busy process needs in any case. */
const USUAL_BYTES = 200_000_000

/** Nothing when it cannot be read, because no file can be opened. */
const residentBytes = (): number => {
  try {
    return process.memoryUsage.rss()
  } catch {
    return 0
  }
}

/** Collects garbage now and then while the process is larger than usual, until the returned function is called. */
export const keepCollecting = (meters?: Meters): (() => void) => {
  const timer = setInterval(() => {
    if (residentBytes() <= USUAL_BYTES) return
    const startedMs = performance.now()
    Bun.gc(false)
    meters?.collected(performance.now() - startedMs)
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
