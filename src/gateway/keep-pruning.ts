/** Deletes what is old beside the postings, in small steps with long rests, so that calls do not notice. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import type { Clock } from '../core/time.ts'
import type { PruneStore } from '../store/prune/prune-port.ts'

const EVERY_MS = 3_600_000
/** Rows of a step: some milliseconds, also where calls wait for it. */
const STEP = 500
/** How much longer than a step it rests. */
const REST = 20
const SHORTEST_REST_MS = 50

/** Deletes all that is old, step by step; tells how many rows. `rest` waits between steps and says whether to go on. */
export const pruneAll = async (
  store: PruneStore,
  months: number | undefined,
  rest: () => Promise<boolean>,
): Promise<{ readonly details: number; readonly rest: number }> => {
  const before = months === undefined ? 0 : await store.endDetails(months)
  const done = { details: 0, rest: 0 }
  let after: string | undefined = before === 0 ? undefined : ''
  while (after !== undefined) {
    const step = await store.pruneDetails(before, after, STEP)
    done.details += step.deleted
    after = step.next
    if (after !== undefined && !(await rest())) return done
  }
  for (let deleted = STEP; deleted >= STEP; ) {
    deleted = await store.pruneRest(before, STEP)
    done.rest += deleted
    if (deleted >= STEP && !(await rest())) return done
  }
  return done
}

type Parts = {
  readonly store: PruneStore
  readonly clock: Clock
  readonly log: Log
  /** How long details are kept; undefined for ever. */
  readonly months: number | undefined
}

/** Runs until the returned function is called. Several servers may do it at the same time. */
export const keepPruning = ({ store, clock, log, months }: Parts): (() => void) => {
  let stopped = false
  let restedMs = 0
  const rest = async (): Promise<boolean> => {
    const tookMs = clock.monotonicMs() - restedMs
    await clock.sleep(Math.max(SHORTEST_REST_MS, tookMs * REST))
    restedMs = clock.monotonicMs()
    return !stopped
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      restedMs = clock.monotonicMs()
      try {
        const { details, rest: others } = await pruneAll(store, months, rest)
        if (details + others > 0) log.info('what was old was deleted', { ops: details + others })
      } catch (error) {
        log.warn('what is old could not be deleted', { error: messageOf(error) })
      }
      await clock.sleep(EVERY_MS)
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
