/**
 * One step of a job: cancel it if that was asked, ask its vendor for its state, and end it here when it has ended
 * there.
 */

import { AssetFault } from '../../assets/take.ts'
import { messageOf } from '../../core/message-of.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import type { JobShape, Outgoing, VendorAnswer, Verdict } from '../../media/shape.ts'
import { withoutSecrets } from '../../routing/vendor-errors.ts'
import { StoreFault } from '../../store/faults.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { promptBlocked } from '../answer/answer-whole.ts'
import { ownDeployments } from '../ask/own-places.ts'
import { deploymentsFor } from '../enter/deployments-for.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import { countedFor, type Taken } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { type Job, type JobPlace, wakeWaiting } from '../parts/jobs.ts'
import { deliver, endCancelled, endFailed } from './end-job.ts'
import { STEPS_MAX } from './submit-job.ts'
import { askStep } from './vendor-step.ts'

/** A young job is polled more often than an old one: after a tenth of its age, from one second to ten. */
const PAUSE_LEAST_MS = 1_000
const PAUSE_MOST_MS = 10_000
const AGE_SHARE = 10
/** How many times in a row a vendor may not know a job. */
const MISSING_MAX = 3
const FETCHES_MAX = 10
const FETCHING_MS = 600_000

/** Runs one step. Throws what is to be tried again. */
export const stepJob = (gateway: Gateway, job: Job): Promise<void> =>
  countedFor(gateway.capacity, job.run.keyId, (taken) => stepFor(gateway, job, taken))

const stepFor = async (gateway: Gateway, job: Job, taken: Taken): Promise<void> => {
  const { clock } = gateway
  job.askedMs = clock.monotonicMs()
  job.dueMs = job.askedMs + pauseOf(gateway, job, jobShapeOf(gateway.offering, job.run.model)?.everyMs ?? 0)
  const overdue = clock.now() >= job.run.deadline
  const found = await whereIs(gateway, job).catch((thrown: unknown) => {
    if (!overdue || !(thrown instanceof Refusal)) throw thrown
    return undefined
  })
  if (found === 'gone')
    return fail(gateway, job, "The organisation's own key that the job began with is gone or off.")
  if (found === undefined) return overdue ? giveUp(gateway, job, undefined) : passOn(gateway, job)
  if (job.cancel && !job.cancelSent) await cancel(gateway, job, { ...found, taken })
  const read = await poll(gateway, job, { ...found, taken }).catch((fault: unknown) => {
    // A poll that fails, or whose answer finds no room, never ends a job; its deadline does.
    if (!(fault instanceof VendorFault || fault instanceof Refusal) || !overdue) throw fault
    return undefined
  })
  if (read !== undefined && 'verdict' in read) return conclude(gateway, job, found, read)
  if (read !== undefined) {
    job.missing = 0
    if (read.progress !== undefined) job.progress = Math.round(Math.min(1, Math.max(0, read.progress)) * 1000)
  }
  if (overdue) {
    // Not before it was asked: some vendors delete what they have made when they are told to stop.
    if (!job.cancelSent) await cancel(gateway, job, { ...found, taken })
    return giveUp(gateway, job, found.shape)
  }
  if (job.missing < MISSING_MAX) return
  if (job.cancelSent) return endCancelled(gateway, job, { shape: found.shape, measured: undefined })
  return fail(gateway, job, 'The vendor no longer knows the job.')
}

const pauseOf = ({ clock, random }: Gateway, { run }: Job, everyMs: number): number => {
  const age = (clock.now() - run.createdAt) / AGE_SHARE
  const pause = Math.max(everyMs, Math.min(PAUSE_MOST_MS, Math.max(PAUSE_LEAST_MS, age)))
  return pause * (1 + 0.2 * random())
}

/**
 * Its shape, and the deployment it was submitted with; if that is gone, another of the same vendor. A job whose model
 * is no longer sold is polled as it was submitted.
 */
const whereIs = async (gateway: Gateway, job: Job): Promise<JobPlace | 'gone' | undefined> =>
  job.facts.vendorKey === 'own' ? whereOwn(gateway, job) : (whereSold(gateway, job) ?? job.begunAt)

/** A job that began by an organisation's own key is asked for by the same key, as long as that is there and on. */
const whereOwn = async (gateway: Gateway, { run, facts }: Job): Promise<JobPlace | 'gone' | undefined> => {
  const shape = jobShapeOf(gateway.offering, run.model)
  const model = gateway.offering.catalogue.find(run.model)
  const own = must(await gateway.book.rules(run.walletId)).ownKeys
  const orgId = (await gateway.store.wallets.wallet(run.walletId))?.orgId
  if (shape === undefined || model === undefined || orgId === undefined) return undefined
  const id = facts.deployment.split('#')[1] ?? ''
  if (own?.[facts.vendor]?.keys.includes(id) !== true) return 'gone'
  const at = (await ownDeployments(gateway, { orgId, own }, model)).find(
    ({ key }) => key === facts.deployment,
  )
  return at === undefined ? 'gone' : { shape, at }
}

const whereSold = (gateway: Gateway, { run, facts }: Job): JobPlace | undefined => {
  const shape = jobShapeOf(gateway.offering, run.model)
  const model = gateway.offering.catalogue.find(run.model)
  if (shape === undefined || model === undefined) return undefined
  const all = deploymentsFor(gateway.offering, model).filter(({ setup }) => setup.vendor.id === facts.vendor)
  const at = all.find(({ key }) => key === facts.deployment) ?? all[0]
  return at === undefined ? undefined : { shape, at }
}

/** Where a step asks, and who the bytes that it reads are counted for. */
type StepPlace = JobPlace & { readonly taken: Taken }

const cancel = async (gateway: Gateway, job: Job, { shape, at, taken }: StepPlace): Promise<void> => {
  const outgoing = shape.cancel?.(job.facts.ref)
  job.cancelSent = outgoing !== undefined
  if (outgoing === undefined) return
  const step = { deployment: at, shape, id: job.run.id, taken, under: NO_CONDITIONS }
  try {
    const { status } = await askStep(gateway, step, outgoing)
    // Other statuses say that it is stopped, or cannot be any more.
    if (status === 429 || status >= 500) throw new VendorFault('body', `the vendor answered ${status}`)
  } catch (error) {
    job.cancelSent = false
    gateway.log.warn('a job could not be cancelled', {
      call: job.run.id,
      vendor: job.facts.vendor,
      error: messageOf(error),
    })
  }
}

type Polled = Exclude<ReturnType<JobShape['readPoll']>, { next: Outgoing } | undefined>

const poll = async (
  gateway: Gateway,
  job: Job,
  { shape, at, taken }: StepPlace,
): Promise<Polled | undefined> => {
  const { ref } = job.facts
  const request = { deployment: at, shape, id: job.run.id, taken, under: NO_CONDITIONS }
  let outgoing = shape.poll(ref)
  for (let step = 0; step <= STEPS_MAX; step++) {
    const answer: VendorAnswer = await askStep(gateway, request, outgoing)
    const read = shape.readPoll(answer, { ref, step })
    if (read === undefined) {
      job.missing = answer.status === 404 ? job.missing + 1 : 0
      return undefined
    }
    if (!('next' in read)) return read
    outgoing = read.next
  }
  return undefined
}

const conclude = async (
  gateway: Gateway,
  job: Job,
  { shape, at }: JobPlace,
  read: Verdict | Extract<Polled, { verdict: 'cancelled' }>,
): Promise<void> => {
  switch (read.verdict) {
    case 'done':
      return deliver(gateway, job, { done: read, shape, at }).catch((thrown: unknown) =>
        notStored(gateway, job, thrown),
      )
    case 'blocked':
      return endFailed(gateway, job, promptBlocked())
    case 'cancelled':
      return endCancelled(gateway, job, { shape, measured: read.measured })
    case 'failed': {
      if (read.fault !== 'inputs') return fail(gateway, job, 'The vendor could not do the job.')
      const text = withoutSecrets(read.message, at.secret?.reveal())
      return endFailed(gateway, job, refuse('invalid_parameter', text, { members: { param: 'inputs' } }))
    }
  }
}

/** Ends the job because of its vendor. */
const fail = (gateway: Gateway, job: Job, why: string): Promise<void> => {
  const members = { provider: job.facts.vendor }
  return endFailed(gateway, job, refuse('upstream_error', `${why} Nothing was charged.`, { members }))
}

/** Its model is not sold here, but may be at a process with other settings. */
const passOn = async ({ clock, memory, store, instance }: Gateway, { run }: Job): Promise<void> => {
  memory.jobs.open.delete(run.id)
  memory.jobs.passedOn.set(run.id, clock.monotonicMs())
  wakeWaiting(memory.jobs, run.id)
  await store.runs.leave(instance, run.id)
}

/** The deadline has come: the job's money is freed. */
const giveUp = (gateway: Gateway, job: Job, shape: JobShape | undefined): Promise<void> => {
  if (shape?.onCancel !== 'free')
    gateway.log.warn('a job did not end in time; what its vendor bills is a loss', {
      call: job.run.id,
      vendor: job.facts.vendor,
    })
  return fail(gateway, job, 'The job did not end in time.')
}

/** A result that cannot be fetched is tried again a few times; while the ledger is away, we wait for it. */
const notStored = async (gateway: Gateway, job: Job, thrown: unknown): Promise<void> => {
  const { run, facts } = job
  const nowMs = gateway.clock.monotonicMs()
  if (thrown instanceof StoreFault) throw thrown
  // No caller hears of it, but /api/status tells.
  if (thrown instanceof AssetFault && thrown.side === 'storage')
    gateway.memory.faults.note(nowMs, 'results of jobs could not be stored within the last minute')
  job.fetchingMs ??= nowMs
  job.fetches++
  const again = !(thrown instanceof Refusal) && (!(thrown instanceof AssetFault) || thrown.again)
  if (again && job.fetches < FETCHES_MAX && nowMs < job.fetchingMs + FETCHING_MS) throw thrown
  const error = messageOf(thrown)
  gateway.log.warn('a result could not be fetched; what its vendor bills is a loss', {
    call: run.id,
    vendor: facts.vendor,
    error,
  })
  if (thrown instanceof Refusal) return endFailed(gateway, job, thrown)
  return fail(gateway, job, "The vendor's result could not be fetched.")
}
