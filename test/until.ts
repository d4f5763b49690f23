/** Waits for the effects of other processes and timers, for as long as a busy machine may take. */
import { PATIENCE_MS } from './now.ts'

/** Work of seconds ends within this on any machine, unless it hangs. */
export const BUSY_MS = 60_000

/**
 * Checks again and again until it is so. Throws, before the test itself runs out of time, when it does not become so.
 */
export const until = async (isSo: () => boolean | Promise<boolean>, everyMs = 50): Promise<void> => {
  const limit = performance.now() + PATIENCE_MS / 2
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error(`did not become so: ${isSo}`)
    await Bun.sleep(everyMs)
  }
}
