/** The running checks of the ledger's standbys: that a synchronous one is there, and that the replica of reports follows. */
import type { Log } from '../../core/log.ts'
import { type Clock, inRounds } from '../../core/time.ts'
import type { Store } from '../../store/port.ts'

const LOOK_MS = 5_000
/** What is read of the replica is as old as the look before it, too. */
const REPLICA_LOOK_MS = 1_000

export type StandbyWatch = {
  /** What is wrong, if anything is known to be. */
  trouble(): string | undefined
  stop(): void
}

export type ReplicaWatch = StandbyWatch & {
  /** How far it was behind at the last look, in milliseconds; undefined if that is not known. */
  lagMs(): number | undefined
}

type WatchParts = { readonly clock: Clock; readonly log: Log }

type Watched = {
  readonly everyMs: number
  /** Whether all is well. */
  readonly look: () => Promise<boolean>
  readonly trouble: string
  readonly again: string
  /** What the log says when a look fails; a ledger that does not answer is told by the heartbeat. */
  readonly failed: string
  /** Says that it is lost. */
  readonly lose: (log: Log) => void
}

/** Looks again and again until it is stopped, and says when what it watches is lost and when it is there again. */
const watch = ({ clock, log }: WatchParts, watched: Watched): StandbyWatch => {
  const { everyMs, failed, trouble } = watched
  let isLost = false
  const look = async (): Promise<void> => {
    const found = await watched.look()
    if (found && isLost) log.warn(watched.again)
    if (!found && !isLost) watched.lose(log)
    isLost = !found
  }
  return {
    trouble: () => (isLost ? trouble : undefined),
    stop: inRounds({ clock, log, pauseMs: () => everyMs, waits: true, failed }, look),
  }
}

/** For a server that must have a synchronous standby. */
export const watchStandby = (store: Pick<Store, 'synchronous'>, parts: WatchParts): StandbyWatch =>
  watch(parts, {
    everyMs: LOOK_MS,
    look: () => store.synchronous(),
    trouble: 'the ledger has no synchronous standby; what it acknowledges can get lost',
    again: 'the ledger has a synchronous standby again',
    failed: 'the standby of the ledger could not be looked for',
    lose: (log) =>
      log.error('the ledger has lost its synchronous standby: what it acknowledges can get lost with it'),
  })

/** For a server that reads reports of a replica, which is to lag at most so much. */
export const watchReplica = (
  { reports }: Pick<Store, 'reports'>,
  mostMs: number,
  parts: WatchParts,
): ReplicaWatch => {
  let lagMs: number | undefined
  const watched = watch(parts, {
    everyMs: REPLICA_LOOK_MS,
    look: async () => {
      lagMs = await reports.replicaLagMs()
      return lagMs !== undefined && lagMs <= mostMs
    },
    trouble: 'the replica does not answer or lags too much; reports are read from the ledger itself',
    again: 'reports are read from the replica',
    failed: 'the replica of the ledger could not be looked at',
    lose: (log) =>
      log.warn('reports are read from the ledger itself: the replica does not answer or lags too much'),
  })
  return { ...watched, lagMs: () => lagMs }
}
