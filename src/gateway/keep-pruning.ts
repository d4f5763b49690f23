/** Deletes old rows other than postings, in small steps with long pauses, so that calls do not notice. */
import { type Log, warning } from '../core/log.ts'
import { type Clock, inRounds } from '../core/time.ts'
import type { PruneStore } from '../store/prune/prune-port.ts'

const EVERY_MS = 3_600_000
/** Rows per step: a few milliseconds, even when calls wait for it. */
const STEP = 500
/** The pause after a step, as a multiple of the step's time, and its least and greatest length. */
const REST = 20
const SHORTEST_REST_MS = 50
const LONGEST_REST_MS = 1_000

/** Runs a step and pauses; undefined to stop. */
type Turn = <T>(step: () => Promise<T>) => Promise<T | undefined>

/** How often what others held up is tried again. */
const TRIES = 5

export type Kept = {
  /** Whole months that details are kept; undefined keeps them for ever. */
  readonly months: number | undefined
  /** Days that refused and failed calls are kept. */
  readonly failureDays: number
}

type Done = { readonly details: number; readonly months: number; readonly rest: number }

/** Deletes all old rows, step by step, each in its turn; returns the number of rows. */
export const pruneAll = async (
  store: PruneStore,
  { months, failureDays }: Kept,
  turn: Turn,
): Promise<Done> => {
  const before = months === undefined ? 0 : await store.endDetails(months)
  const done = { details: 0, months: 0, rest: 0 }
  for (let tries = before === 0 ? 0 : TRIES; tries > 0; tries--) {
    const dropped = await turn(() => store.dropMonths(before))
    done.months += dropped?.months ?? 0
    if (dropped?.busy !== true) break
  }
  for (let after: string | undefined = before === 0 ? undefined : ''; after !== undefined; ) {
    const from: string = after
    const step = await turn(() => store.pruneDetails(before, from, STEP))
    if (step === undefined) return done
    done.details += step.deleted
    after = step.next
  }
  for (let deleted = STEP; deleted >= STEP; ) {
    deleted = (await turn(() => store.pruneRest(before, failureDays, STEP))) ?? 0
    done.rest += deleted
  }
  return done
}

type Parts = {
  readonly store: PruneStore
  readonly clock: Clock
  readonly log: Log
  readonly kept: Kept
}

/** Runs until the returned function is called. Several servers may do it at once. */
export const keepPruning = ({ store, clock, log, kept }: Parts): (() => void) =>
  inRounds(
    { clock, log, pauseMs: () => EVERY_MS, failed: 'old rows could not be deleted' },
    async (goesOn) => {
      const turn: Turn = async (step) => {
        if (!goesOn()) return undefined
        const startedMs = clock.monotonicMs()
        const made = await step()
        const restMs = (clock.monotonicMs() - startedMs) * REST
        await clock.sleep(Math.min(Math.max(restMs, SHORTEST_REST_MS), LONGEST_REST_MS))
        return made
      }
      await store.keepMonths().catch(warning(log, 'the tables for coming months could not be made'))
      const done = await pruneAll(store, kept, turn)
      const ops = done.details + done.months + done.rest
      if (ops > 0) log.info('old rows were deleted', { ops })
    },
  )
