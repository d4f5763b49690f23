/** The jobs that this process looks after, and who waits here for their ends; and responses made in the background. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import type { JobShape } from '../../media/shape.ts'
import type { Deployment } from '../../routing/deployments.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import type { Run, RunFacts } from '../../store/calls/run-port.ts'
import type { WalletId } from '../../tenancy/key.ts'

/** How long a silent process keeps its jobs; then others take them over. */
export const OWNER_MS = 15_000

/** How and where to ask about a job. */
export type JobPlace = { readonly shape: JobShape; readonly at: Deployment }

export type Job = {
  readonly run: Run
  readonly facts: RunFacts
  /** Where it was submitted; unknown if another process submitted it. */
  readonly begunAt: JobPlace | undefined
  /** When to ask about it next, and when we last did, in monotonic milliseconds. */
  dueMs: number
  askedMs: number
  busy: boolean
  cancel: boolean
  /** It is cancelled because its vendor wants more than the call may be charged, not because its caller asked. */
  tooDear: boolean
  cancelSent: boolean
  /** How many times in a row its vendor did not know it. */
  missing: number
  /** How many times we tried to fetch its results, and when first. */
  fetches: number
  fetchingMs: number | undefined
  /** In thousandths; `storedProgress` is what the ledger has. */
  progress: number | undefined
  storedProgress: number | undefined
}

export type Jobs = {
  readonly open: Map<string, Job>
  /** Submissions in progress, and what each holds; their rows belong to this process too. */
  readonly submitting: Map<string, Nano>
  /** Steps in progress. */
  busy: number
  readonly waiting: Map<string, Set<() => void>>
  /** Jobs that were left to processes that sell their models, and when. */
  readonly passedOn: Map<string, number>
  /** Webhooks that are being sent, by wallet. */
  readonly webhooks: Map<WalletId, number>
  /** Callers who wait for an answer that only this process can give. */
  staying: number
  /** The process is ending: it takes up no more jobs, and goes on with its own only as long as they need it. */
  stopped: boolean
  /** Its jobs are left to others. */
  left: boolean
  /** Responses in the background, by id. */
  readonly responses: Map<string, OpenResponse>
  /** They are being written: two writers at once would write the same events twice. */
  tending: boolean
  /** They are left to others. */
  responsesLeft: boolean
  /** Batches whose lines are being read here. */
  readonly newBatches: Set<string>
}

export const newJobs = (): Jobs => ({
  open: new Map(),
  submitting: new Map(),
  busy: 0,
  waiting: new Map(),
  passedOn: new Map(),
  webhooks: new Map(),
  staying: 0,
  stopped: false,
  left: false,
  responses: new Map(),
  tending: false,
  responsesLeft: false,
  newBatches: new Set(),
})

/** What the jobs of this process hold, on leases of their own, and how many they are. */
export const heldByJobs = ({ open, submitting }: Jobs): { readonly count: number; readonly held: Nano } => {
  const holds = new Map(submitting)
  for (const [id, { run }] of open) holds.set(id, run.hold)
  return { count: holds.size, held: [...holds.values()].reduce((sum, hold) => sum + hold, 0n) }
}

/** Whether something would be lost if the process ended now: a submission, or the answer to a caller who stays. */
export const needsProcess = ({ submitting, staying }: Jobs): boolean => submitting.size > 0 || staying > 0

type JobTimes = { readonly nowMs: number; readonly everyMs: number }

export const newJob = (run: Run, facts: RunFacts, { nowMs, everyMs }: JobTimes, begunAt?: JobPlace): Job => ({
  run,
  facts,
  begunAt,
  dueMs: nowMs + everyMs,
  askedMs: nowMs,
  busy: false,
  cancel: run.cancel,
  tooDear: false,
  cancelSent: false,
  missing: 0,
  fetches: 0,
  fetchingMs: undefined,
  progress: run.progress,
  storedProgress: run.progress,
})

/** Wakes everyone who waits for the job, so that they look at it. */
export const wakeWaiting = ({ waiting }: Jobs, id: string): void => {
  for (const wake of waiting.get(id) ?? []) wake()
  waiting.delete(id)
}

/** Resolves when the job has ended in this process, or the process ends. */
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

/** A response that this process makes in the background. Its events and its end are written by keep-background.ts. */
export type OpenResponse = {
  readonly form: KeptForm
  readonly ref: ResponseRef
  /** The response as it is until it has ended. */
  readonly head: JsonObject
  readonly stop: AbortController
  readonly streams: boolean
  /** How many events are written, and those that are to be written next. */
  written: number
  pending: string[]
  /** How it ended, until that is written. */
  ended: { readonly response: JsonObject; readonly continues: boolean } | undefined
  /** Resolves at the next write. */
  changed: PromiseWithResolvers<void>
}
