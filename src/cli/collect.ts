/** Memory stays flat after a burst: on a machine with much of it the runtime sees no need to collect what one left. */

const EVERY_MS = 10_000
/** What a busy process needs anyway. */
const USUAL_BYTES = 200_000_000

/** Collects garbage now and then while the process is larger than usual, until the returned function is called. */
export const keepCollecting = (): (() => void) => {
  const timer = setInterval(() => {
    if (process.memoryUsage.rss() > USUAL_BYTES) Bun.gc(false)
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
