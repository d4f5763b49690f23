/**
 * The time in which this process ran. On a busy machine, where it waits for its turn, less passes than by the clock: what
 * a promise in seconds is held to without blaming the product for its neighbours.
 */

const TICK_MS = 5

/** Counts from now on, a tick at a time: one that comes late counts twice at most. */
export const startOwnTime = (): { nowMs(): number; stop(): void } => {
  let [passed, last] = [0, performance.now()]
  const timer = setInterval(() => {
    const now = performance.now()
    passed += Math.min(now - last, 2 * TICK_MS)
    last = now
  }, TICK_MS)
  return { nowMs: () => passed, stop: () => clearInterval(timer) }
}
