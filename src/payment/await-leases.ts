/** Takes money out of a wallet, waiting for idle leases that hold some of it. */
import type { Clock } from '../core/time.ts'

/** Processes answer a recall with their next heartbeat, at most a quarter of a second later. */
const WAIT_MS = 300
const TRIES = 8

/** Tries again while leases are being recalled; `leased` in the end, if they do not come back. */
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
