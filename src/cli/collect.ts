/**
 * Keeps memory flat after a burst: on a machine with much memory the runtime sees no need to free what a burst left.
 */
import type { Meters } from '../metrics/meters.ts'

const EVERY_MS = 10_000
/** The memory that a busy process needs in any case. */
const USUAL_BYTES = 200_000_000

/** Collects garbage now and then while the process is larger than usual, until the returned function is called. */
export const keepCollecting = (meters?: Meters): (() => void) => {
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() <= USUAL_BYTES) return
    const startedMs = performance.now()
    Bun.gc(false)
    meters?.collected(performance.now() - startedMs)
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
