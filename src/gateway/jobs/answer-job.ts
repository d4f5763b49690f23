/**
 * A call whose product is a job. Its money is held on a lease of its own, created together with the row `submitting`.
 * The job is submitted once and then continues from its row (keep-jobs.ts). The caller waits for as long as it likes,
 * or asks later.
 */

import type { Call, Prefer } from '../../core/call.ts'
import { present } from '../../core/json-body.ts'
import { warning } from '../../core/log.ts'
import type { Priced } from '../../core/model.ts'
import { must, type Refusal, refuse, retryIn, unavailable } from '../../core/refusal.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import type { JobShape } from '../../media/shape.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { Run, RunFacts } from '../../store/calls/run-port.ts'
import { StoreFault } from '../../store/faults.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { giveUp } from '../answer/give-up.ts'
import { storageRefusal } from '../answer/store-outputs.ts'
import { priceByKey } from '../ask/own-call.ts'
import { bytesOf } from '../enter/once-only.ts'
import { jobShapeOf, RunExists } from '../hold/job-hold.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newJob } from '../parts/jobs.ts'
import type { Keep } from '../parts/recording.ts'
import type { Task } from '../parts/task.ts'
import type { Trace } from '../parts/trace.ts'
import { awaitRun, endedOrLeft, staying } from './await-run.ts'
import { cancelRun, isFreeToCancel } from './cancel-run.ts'
import { deliver } from './end-job.ts'
import { askNow } from './keep-jobs.ts'
import { shownOperation } from './shown-operation.ts'
import { deliveredAnswer, errorOf, shownRun } from './shown-run.ts'
import { type Submitted, submitJob } from './submit-job.ts'
import { askStep } from './vendor-step.ts'
import { hookAddress } from './wake-hook.ts'

const AGAIN_MS = 500

export const answerJob = async (
  gateway: Gateway,
  task: Task,
  it: { readonly shape: JobShape; readonly priced: Priced },
): Promise<Answer> => {
  const { trace, call, keep } = task
  const full = await storageRefusal(gateway, task)
  if (full !== undefined) {
    await giveUp(gateway, task)
    throw full
  }
  return staying(gateway, async () => {
    await endedOrLeft(gateway, trace.callId, submit(gateway, task, it))
    // How long a job takes says nothing about how long this server keeps calls waiting.
    trace.times.askedMs = undefined
    return answerRun(gateway, { id: trace.callId, call, trace, ref: keep?.ref })
  })
}

/** Submits the job and takes it up in this process. Throws when no job came of it. */
const submit = async (
  gateway: Gateway,
  task: Task,
  { shape, priced }: { readonly shape: JobShape; readonly priced: Priced },
): Promise<void> => {
  const { store, log } = gateway
  const { jobs } = gateway.memory
  const { callId } = task.trace
  const wakeAt = hookAddress(gateway, task.model.vendor, callId)
  const job = { id: callId, ...(wakeAt === undefined ? {} : { wakeAt }) }
  // Submission continues even if the caller leaves: a submission that is cut off may still have been taken.
  const staying = { ...task, signal: new AbortController().signal }
  jobs.submitting.set(callId, task.hold.amount())
  try {
    const submitted = await submitJob(gateway, staying, { shape, priced, job }).catch(
      async (thrown: unknown) => {
        await giveUp(gateway, task)
        throw thrown
      },
    )
    const { begun, at } = submitted
    const facts = factsOf(task, priced, submitted)
    const ref = task.keep?.ref
    const note = { facts, webhook: task.call.media?.webhook, ref }
    const began = await untilStored(gateway, () => store.runs.began(callId, note))
    const run = await untilStored(gateway, () => store.runs.run(callId))
    if (!began || run === undefined || run.endedAt !== undefined) {
      // This process was silent for so long that another one gave up the job.
      log.warn('a job was given up while it was submitted; what its vendor bills is a loss', { call: callId })
      const cancel = 'ref' in begun ? shape.cancel?.(begun.ref) : undefined
      if (cancel !== undefined)
        await askStep(
          gateway,
          { deployment: at, shape, id: callId, taken: task.trace.taken, under: NO_CONDITIONS },
          cancel,
        ).catch(nothing)
      throw unavailable('The job was given up while it was submitted.')
    }
    await goOn(gateway, { run, facts, submitted, shape })
  } finally {
    jobs.submitting.delete(callId)
  }
}

const nothing = (): void => undefined

/** The vendor has the job, so what is known of it must not be lost while the ledger is away. */
const untilStored = async <T>({ clock, memory: { jobs } }: Gateway, work: () => Promise<T>): Promise<T> => {
  for (;;)
    try {
      return await work()
    } catch (fault) {
      if (!(fault instanceof StoreFault) || jobs.left) throw fault
      await clock.sleep(AGAIN_MS)
    }
}

const goOn = async (
  gateway: Gateway,
  { run, facts, submitted, shape }: { run: Run; facts: RunFacts; submitted: Submitted; shape: JobShape },
): Promise<void> => {
  const { clock, log } = gateway
  const { jobs } = gateway.memory
  const { begun, at } = submitted
  const job = newJob(run, facts, { nowMs: clock.monotonicMs(), everyMs: shape.everyMs }, { shape, at })
  jobs.open.set(run.id, job)
  if ('verdict' in begun)
    return deliver(gateway, job, { done: begun, shape, at }).catch(
      warning(log, 'a step of a job failed', { call: run.id }),
    )
  // The vendor bills more than the call may be charged.
  job.tooDear = at.own === undefined && begun.vendorCost !== undefined && begun.vendorCost > run.hold
  if (job.tooDear) askNow(gateway, run.id, { cancel: true })
}

const factsOf = (task: Task, { price, most, asked }: Priced, { begun, at }: Submitted): RunFacts => ({
  ...{ price, ...priceByKey(task) },
  ref: 'ref' in begun ? begun.ref : {},
  vendor: at.setup.vendor.id,
  deployment: at.key,
  modelName: task.call.modelName,
  style: task.call.media?.results ?? 'run',
  most,
  ...(asked === undefined ? {} : { asked }),
  payment: task.payment,
  requestHash: task.requestHash(),
  ...(task.keep === undefined ? {} : { keep: task.keep.ref }),
  ...present({ met: task.trace.met, tags: task.trace.tags, guardrails: task.trace.guardrails }),
})

type Repeat = {
  readonly keep: Keep | undefined
  readonly trace: Trace
  readonly ofRun: (id: string, ref?: IdempotencyRef) => Promise<Answer>
}

/**
 * The answer of `work`. If an earlier attempt of this call began a job, the answer is that job's: it is never begun
 * again.
 */
export const orItsRun = async (
  { store, instance }: Gateway,
  { keep, trace, ofRun }: Repeat,
  work: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof RunExists)) throw thrown
    const answer = await ofRun(trace.callId, keep?.ref)
    if (keep !== undefined) await store.idempotency.release(keep.ref, instance)
    return answer
  }
}

type Waiting = {
  readonly id: string
  readonly call: Call
  readonly trace: Trace
  /** Where its answer is kept for repeats. */
  readonly ref: IdempotencyRef | undefined
}

/** Waits for a run and answers with its state at that time. Throws the refusal of a run that failed. */
export const answerRun = (gateway: Gateway, it: Waiting): Promise<Answer> => {
  const style = it.call.media?.results ?? 'run'
  const mayAnswerLater = style === 'run' || style === 'gemini_operation'
  const work = () => answerIn(gateway, it, mayAnswerLater)
  return mayAnswerLater ? work() : staying(gateway, work)
}

const answerIn = async (gateway: Gateway, it: Waiting, mayAnswerLater: boolean): Promise<Answer> => {
  const { id, call, trace, ref } = it
  const { results: style, prefer } = call.media ?? { results: 'run' }
  const { totalMs } = gateway.options.timeouts
  const waitMs = mayAnswerLater ? Math.min(prefer?.waitMs ?? gateway.options.runWaitMs, totalMs) : totalMs
  const run = await awaitRun(gateway, id, waitMs, mayAnswerLater ? 'stopped' : 'left')
  if (run === undefined) throw unavailable('The job is no longer known.')
  trace.waits = true
  trace.vendor = run.facts?.vendor ?? trace.vendor ?? ''
  const applied = prefer === undefined || !mayAnswerLater ? {} : { 'preference-applied': prefer.said }
  if (style === 'gemini_operation') {
    trace.ended = run.endedAt === undefined ? 'accepted' : 'ok'
    return shownOperation(gateway, run)
  }
  if (run.endedAt === undefined) {
    if (!mayAnswerLater) throw await tooLong(gateway, run)
    // No webhook follows a submission that is lost.
    if (call.media?.webhook !== undefined && isLeftWithVendor(gateway, run)) throw leftWithVendor(run)
    trace.ended = 'accepted'
    return accepted(gateway, run, applied)
  }
  const error = errorOf(run)
  if (error !== undefined) throw ref === undefined || ref.keyId === GUESTS_KEY ? error : staysEnded(error)
  trace.ended = 'ok'
  const kept = ref === undefined ? undefined : await keptAnswer(gateway, ref, id)
  const answer = kept ?? must((await deliveredAnswer(gateway, run)) ?? gone())
  if (run.result !== undefined && !('error' in run.result)) trace.charged = BigInt(run.result.charged)
  return { ...answer, headers: { ...answer.headers, ...applied } }
}

/** Repeats under its Idempotency-Key get the same refusal, so waiting and trying again is of no use. */
const staysEnded = ({ code, message, members }: Refusal): Refusal =>
  refuse(code, `${message} Another Idempotency-Key begins another run.`, { members })

const gone = (): Refusal => refuse('not_found', 'The job is no longer known.')

const accepted = async (gateway: Gateway, run: Run, headers: Record<string, string>): Promise<Answer> => {
  const everyMs = jobShapeOf(gateway.offering, run.model)?.everyMs ?? 1_000
  const shown = await shownRun(gateway, run)
  return {
    status: 202,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      location: String(shown.poll_url),
      'retry-after': String(Math.max(1, Math.ceil(everyMs / 1000))),
      ...headers,
    },
    body: new TextEncoder().encode(JSON.stringify(shown)),
  }
}

/** Whether the process ends before the vendor has said that it takes the job. */
const isLeftWithVendor = ({ memory: { jobs } }: Gateway, { state }: Run): boolean =>
  jobs.left && state === 'submitting'

const leftWithVendor = ({ id }: Run): Refusal =>
  refuse(
    'upstream_error',
    `This process ends, and the vendor has not said that it takes the job. GET /v1/run/${id} tells what becomes of it; a job that is lost is not charged.`,
    { members: { run_id: id } },
  )

/**
 * Clients of these styles cannot come back later. If the job can be cancelled, it is, and another process may take the
 * call where this one ends; if not, they are told where the result will be.
 */
const tooLong = async (gateway: Gateway, run: Run): Promise<Refusal> => {
  const { id } = run
  const ends = isFreeToCancel(gateway, run)
  if (ends) await cancelRun(gateway, id)
  else if (isLeftWithVendor(gateway, run)) return leftWithVendor(run)
  if (ends && gateway.memory.jobs.left)
    return refuse('upstream_error', 'This process ends, so the job is cancelled. Nothing was charged.', {
      ...retryIn(2),
      members: { run_id: id },
    })
  return refuse(
    'upstream_error',
    ends
      ? 'The vendor took too long, so the job is cancelled. What is cancelled is not charged.'
      : `The vendor takes longer than this address waits; the job goes on and is charged when it delivers. GET /v1/run/${id} gives its result.`,
    { members: { run_id: id } },
  )
}

/** The answer that was stored with the charge; everyone who repeats the call gets the same bytes. */
const keptAnswer = async (
  { store }: Gateway,
  ref: IdempotencyRef,
  callId: string,
): Promise<Answer | undefined> => {
  const kept = await store.idempotency.kept(ref, callId)
  if (kept === undefined) return undefined
  return { status: kept.status, headers: kept.headers, body: bytesOf(kept) }
}

/**
 * How long a caller wants to wait: `Prefer: respond-async` or `wait=<seconds>` of RFC 7240; other preferences are
 * ignored.
 */
export const readPrefer = (header: string | null): Prefer | undefined => {
  const said = (header ?? '').split(',').map((one) => one.trim().toLowerCase())
  const seconds = said
    .map((one) => /^wait\s*=\s*"?(\d{1,5})"?$/.exec(one)?.[1])
    .find((one) => one !== undefined)
  if (seconds !== undefined) return { waitMs: Number.parseInt(seconds, 10) * 1000, said: `wait=${seconds}` }
  return said.includes('respond-async') ? { waitMs: 0, said: 'respond-async' } : undefined
}
