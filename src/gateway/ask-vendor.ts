/** Asking the vendor: attempts over the deployments until one begins to answer. After its first byte there is no retry. */
import { Refusal, refuse } from '../core/refusal.ts'
import { type Form, formFor } from '../dialects/form.ts'
import {
  type Deployment,
  noteAttempt,
  noteFailure,
  noteNothing,
  noteSuccess,
  planAttempts,
  takeRetry,
} from '../routing/deployments.ts'
import { judgeVendorError, vendorDown } from '../routing/vendor-errors.ts'
import { type Exchange, exchange, VendorFault } from '../transport/exchange.ts'
import { authorized } from './authorize.ts'
import { estimateFor } from './bill.ts'
import { deploymentsFor } from './deployments-for.ts'
import type { Gateway } from './gateway.ts'
import { tellNotCarried } from './not-carried.ts'
import type { Task } from './task.ts'

/** Thrown when the caller has gone before anything was delivered. */
export class CallerGone extends Error {}

type Opened<T> = { readonly exchange: Exchange; readonly opened: T }

/** Reads as much of a successful exchange as must be seen before the caller gets a byte. */
type Open<T> = (exchange: Exchange, form: Form, deployment: Deployment) => Promise<T>

const RETRY_PAUSE_MS = 100

/**
 * Sends the call and hands a successful exchange to `open`; a VendorFault from it counts as a failed attempt. Throws
 * the Refusal of the last attempt, or CallerGone.
 */
export const askVendor = async <T>(gateway: Gateway, task: Task, open: Open<T>): Promise<Opened<T>> => {
  const { clock, random, traffic } = gateway
  const attempts = planAttempts(deploymentsFor(gateway, task.model), traffic, {
    nowMs: clock.monotonicMs(),
    random,
  })
  if (attempts.length === 0) throw refuse('internal_error', `The vendor ${task.model.vendor} is not set up.`)
  const hopeless = new Set<Deployment>()
  let last: Refusal = vendorDown(task.model.vendor, undefined)
  for (const [index, deployment] of attempts.entries()) {
    if (hopeless.has(deployment)) continue
    if (index > 0 && !takeRetry(traffic)) break
    if (attempts[index - 1] === deployment) await clock.sleep(random() * RETRY_PAUSE_MS * 2 ** index)
    if (task.signal.aborted) throw new CallerGone()
    task.trace.attempts++
    task.trace.vendor = deployment.setup.vendor.id
    noteAttempt(traffic, deployment, index === 0)
    const tried = await attempt(gateway, task, { deployment, open })
    if ('exchange' in tried) return tried
    last = tried.refusal
    if (!tried.retry) {
      // What one vendor's dialect cannot say, another's may.
      if (!tried.elsewhere) throw last
      hopeless.add(deployment)
    }
    if (tried.restMs !== undefined) hopeless.add(deployment)
  }
  throw last
}

type Attempt<T> = { readonly deployment: Deployment; readonly open: Open<T> }
type Failed = {
  readonly retry: boolean
  /** Another vendor may be asked although this one need not be asked again. */
  readonly elsewhere: boolean
  readonly refusal: Refusal
  readonly restMs: number | undefined
}

const formOf = (gateway: Gateway, task: Task, { setup, model }: Deployment): Form | Refusal =>
  formFor({
    call: task.call,
    target: {
      model,
      taste: setup.vendor,
      outputBound: boundFor(task, model.maxOutputTokens),
      stream: task.call.stream,
    },
    speaker: setup.vendor,
    context: {
      requestId: task.trace.callId,
      created: Math.floor(gateway.clock.now() / 1000),
      modelName: task.call.modelName,
      estimatedInput: () => estimateFor(task, { letters: 0, events: 0 }).input ?? 0,
      request: task.call.body.value,
    },
  })

/** An equal model at another vendor may answer with less. */
const boundFor = (task: Task, most: number): number | undefined => {
  const bound = task.outputBound ?? task.call.maxOutput
  return bound !== undefined && bound > most ? most : task.outputBound
}

const attempt = async <T>(gateway: Gateway, task: Task, it: Attempt<T>): Promise<Opened<T> | Failed> => {
  const { deployment } = it
  const { setup, secret } = deployment
  const form = formOf(gateway, task, deployment)
  if (form instanceof Refusal) {
    noteNothing(gateway.traffic, deployment)
    return { retry: false, elsewhere: true, refusal: form, restMs: undefined }
  }
  let current: Exchange | undefined
  const controller = new AbortController()
  const abort = () => (current === undefined ? controller.abort() : current.abort())
  task.signal.addEventListener('abort', abort, { once: true })
  try {
    const url = setup.baseUrl + form.path
    const vendorUrl =
      setup.vendor.path === undefined ? url : setup.baseUrl + setup.vendor.path(deployment.model, form.path)
    current = await exchange({
      fetch: setup.fetch ?? fetch,
      url: vendorUrl,
      headers: await authorized(setup, secret, { url: vendorUrl, body: form.body }),
      body: form.body,
      timeouts: gateway.options.timeouts,
      controller,
    })
    if (current.status >= 200 && current.status < 300) {
      const opened = await it.open(current, form, deployment)
      noteSuccess(gateway.traffic, deployment)
      tellNotCarried(task.trace, form.dropped)
      return { exchange: current, opened }
    }
    return await refused(gateway, task, deployment, current)
  } catch (fault) {
    current?.abort()
    if (!(fault instanceof VendorFault)) noteNothing(gateway.traffic, deployment)
    if (task.signal.aborted) throw new CallerGone()
    if (!(fault instanceof VendorFault)) throw fault
    noteFailure(gateway.traffic, deployment, gateway.clock.monotonicMs(), undefined)
    gateway.log.warn('vendor failed', {
      call: task.trace.callId,
      vendor: setup.vendor.id,
      stage: fault.stage,
    })
    const again = fault.stage !== 'deadline'
    return {
      retry: again,
      elsewhere: false,
      refusal: vendorDown(setup.vendor.id, undefined),
      restMs: undefined,
    }
  } finally {
    task.signal.removeEventListener('abort', abort)
  }
}

const refused = async (
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  current: Exchange,
): Promise<Failed> => {
  const vendor = deployment.setup.vendor.id
  const answer = {
    status: current.status,
    retryAfter: current.headers.get('retry-after'),
    body: await current.all(),
  }
  const verdict = judgeVendorError(answer, vendor, deployment.secret?.reveal())
  if (verdict.retry) noteFailure(gateway.traffic, deployment, gateway.clock.monotonicMs(), verdict.restMs)
  else noteNothing(gateway.traffic, deployment)
  gateway.log.warn('vendor refused', { call: task.trace.callId, vendor, status: answer.status })
  return verdict.retry ? { ...verdict, elsewhere: true } : { ...verdict, elsewhere: false, restMs: undefined }
}
