/** The running check that the ledger has a synchronous standby, for a server that must have one. */
import type { Log } from '../../core/log.ts'
import { type Clock, inRounds } from '../../core/time.ts'
import type { Store } from '../../store/port.ts'

const LOOK_MS = 5_000

export type StandbyWatch = {
  /** What is wrong, if anything is known to be. */
  trouble(): string | undefined
  stop(): void
}

type StandbyParts = {
  readonly store: Pick<Store, 'synchronous'>
  readonly clock: Clock
  readonly log: Log
}

/** Looks again and again until it is stopped, and says when the standby is lost and when there is one again. */
export const watchStandby = ({ store, clock, log }: StandbyParts): StandbyWatch => {
  let lost = false
  const look = async (): Promise<void> => {
    const found = await store.synchronous()
    if (found === lost && found) log.warn('the ledger has a synchronous standby again')
    if (found === lost && !found)
      log.error('the ledger has lost its synchronous standby: what it acknowledges can get lost with it')
    lost = !found
  }
  // A ledger that does not answer is told by the heartbeat.
  const failed = 'the standby of the ledger could not be looked for'
  return {
    trouble: () =>
      lost ? 'the ledger has no synchronous standby; what it acknowledges can get lost' : undefined,
    stop: inRounds({ clock, log, pauseMs: () => LOOK_MS, waits: true, failed }, look),
  }
}
