/** Waits until a change that a command made is in force on every serving process. */
import { untilKnown } from '../../book/heartbeat.ts'
import { openNudge } from '../../book/nudge.ts'
import { type Instant, systemClock } from '../../core/time.ts'
import type { Database } from './run-command.ts'

/**
 * Returns once no serving process can admit a call on the old state; at the latest when silent processes have fenced
 * themselves.
 */
export const holdsEverywhere = async ({ store }: Database, at: Instant): Promise<void> => {
  const nudge = await openNudge()
  // This process admits no calls, so it has nothing of its own to refresh.
  await untilKnown({ store: store.instances, clock: systemClock, nudge }, at, async () => undefined)
}
