/** Takes money out of a wallet, waiting for the idle leases that hold it. */
import type { Clock } from '../core/time.ts'

/** Processes answer a recall with their next heartbeat, a quarter of a second away. */
const WAIT_MS = 300
const TRIES = 8

/** Tries again while leases were called back; `leased` at last when they do not come. */
export const awaitLeases = async <Outcome>(
  clock: Clock,
  attempt: () => Promise<Outcome | 'leased'>,
): Promise<Outcome | 'leased'> => {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt()
    if (outcome !== 'leased' || tries === TRIES) return outcome
    await clock.sleep(WAIT_MS)
  }
}
