/** The jobs that this process goes on with, and who waits here for their ends. */
import type { JobShape } from '../media/shape.ts'
import type { Deployment } from '../routing/deployments.ts'
import type { Run, RunFacts } from '../store/calls/run-port.ts'

/** How long a process that says nothing still has its jobs; then others go on with them. */
export const OWNER_MS = 15_000

/** How a job is asked for, and where. */
export type JobPlace = { readonly shape: JobShape; readonly at: Deployment }

export type Job = {
  readonly run: Run
  readonly facts: RunFacts
  /** Where it was submitted; unknown of one that another process did. */
  readonly begunAt: JobPlace | undefined
  /** When it is asked for next, and was last, by the clock that only goes forward. */
  dueMs: number
  askedMs: number
  busy: boolean
  cancel: boolean
  cancelSent: boolean
  /** How often in a row its vendor did not know it. */
  missing: number
  /** Tries to fetch its results, and when the first was. */
  fetches: number
  fetchingMs: number | undefined
  /** In thousandths; `told` is what the ledger has. */
  progress: number | undefined
  told: number | undefined
}

export type Jobs = {
  readonly open: Map<string, Job>
  /** Submissions under way: their rows are this process's too. */
  readonly submitting: Set<string>
  /** Steps under way. */
  busy: number
  readonly waiting: Map<string, Set<() => void>>
  stopped: boolean
}

export const newJobs = (): Jobs => ({
  open: new Map(),
  submitting: new Set(),
  busy: 0,
  waiting: new Map(),
  stopped: false,
})

type JobTimes = { readonly nowMs: number; readonly everyMs: number }

export const newJob = (run: Run, facts: RunFacts, { nowMs, everyMs }: JobTimes, begunAt?: JobPlace): Job => ({
  run,
  facts,
  begunAt,
  dueMs: nowMs + everyMs,
  askedMs: nowMs,
  busy: false,
  cancel: run.cancel,
  cancelSent: false,
  missing: 0,
  fetches: 0,
  fetchingMs: undefined,
  progress: run.progress,
  told: run.progress,
})

/** Who waits for the job looks at it. */
export const tellEnded = ({ waiting }: Jobs, id: string): void => {
  for (const wake of waiting.get(id) ?? []) wake()
  waiting.delete(id)
}

/** Resolves when the job has ended here, or the process ends. */
export const endedHere = ({ waiting }: Jobs, id: string): { ended: Promise<void>; stop: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const all = waiting.get(id) ?? new Set()
  waiting.set(id, all.add(resolve))
  const stop = () => {
    all.delete(resolve)
    if (all.size === 0 && waiting.get(id) === all) waiting.delete(id)
  }
  return { ended: promise, stop }
}
