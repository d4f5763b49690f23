/** Asking the vendor: attempts over the deployments until one begins to answer. */
import type { Model } from '../core/model.ts'
import { Refusal, refuse } from '../core/refusal.ts'
import { type Form, formFor } from '../dialects/form.ts'
import { dearerThan, priceOf } from '../pricing/charge.ts'
import {
  ATTEMPTS_MAX,
  type Deployment,
  noteAttempt,
  noteFailure,
  noteNothing,
  noteSuccess,
  orderOf,
  takeRetry,
} from '../routing/deployments.ts'
import { comeBackIn, judgeVendorError, vendorDown } from '../routing/vendor-errors.ts'
import { type Exchange, exchange, VendorFault } from '../transport/exchange.ts'
import { authorized } from './authorize.ts'
import { estimateFor } from './bill.ts'
import { deploymentsFor } from './deployments-for.ts'
import { takeBytes } from './doors.ts'
import { endReadingOn, readsOnUnheard } from './drain-vendor.ts'
import type { Gateway } from './gateway.ts'
import { tellNotCarried } from './not-carried.ts'
import type { Task } from './task.ts'

/** Thrown when the caller has gone before anything was delivered. */
export class CallerGone extends Error {
  /** Whether a vendor had the request by then, and so bills its input. */
  readonly billed: boolean

  constructor(billed: boolean) {
    super('the caller has gone')
    this.billed = billed
  }
}

type Opened<T> = { readonly exchange: Exchange; readonly opened: T }

/** Reads as much of a successful exchange as must be seen before the caller gets a byte. */
type Open<T> = (exchange: Exchange, form: Form, deployment: Deployment) => Promise<T>

const RETRY_PAUSE_MS = 100

/**
 * Sends the call and hands a successful exchange to `open`. A request is sent again only after a vendor refused it or was
 * never reached: what may be billed is not asked for twice. Throws the Refusal of the last attempt, or CallerGone.
 */
export const askVendor = async <T>(gateway: Gateway, task: Task, open: Open<T>): Promise<Opened<T>> => {
  const { clock, random, traffic } = gateway
  const nowMs = clock.monotonicMs()
  const order = orderOf(deploymentsFor(gateway, task.model), traffic, { nowMs, random })
  if (order.length === 0) throw refuse('internal_error', `The vendor ${task.model.vendor} is not set up.`)
  const hopeless = new Set<Deployment>()
  let last: Refusal = vendorDown(task.model.vendor, undefined)
  let soonest: number | undefined
  let before: Deployment | undefined
  for (const deployment of inTurn(order, hopeless)) {
    if (before !== undefined && !takeRetry(traffic)) break
    if (before === deployment) await clock.sleep(random() * RETRY_PAUSE_MS * 2 ** task.trace.attempts)
    if (task.signal.aborted) throw new CallerGone(false)
    task.trace.attempts++
    task.trace.vendor = deployment.setup.vendor.id
    noteAttempt(traffic, deployment, before === undefined)
    const tried = await attempt(gateway, task, { deployment, open })
    if ('exchange' in tried) return tried
    last = tried.refusal
    if (tried.restMs !== undefined) soonest = Math.min(tried.restMs, soonest ?? tried.restMs)
    if (tried.next === 'nobody' || task.trace.attempts === ATTEMPTS_MAX) break
    for (const one of order) if (isOut(one, deployment, tried.next)) hopeless.add(one)
    before = deployment
  }
  throw comeBackIn(last, soonest)
}

/** Deployments in their order, again and again, without those that turned out to be hopeless. */
function* inTurn(order: readonly Deployment[], hopeless: ReadonlySet<Deployment>): Generator<Deployment> {
  while (hopeless.size < order.length) for (const one of order) if (!hopeless.has(one)) yield one
}

/** Whether a deployment need not be asked after what another one said. */
const isOut = (one: Deployment, failed: Deployment, next: Failed['next']): boolean =>
  next === 'equals' ? one.model === failed.model : next === 'others' && one === failed

type Attempt<T> = { readonly deployment: Deployment; readonly open: Open<T> }
type Failed = Omit<ReturnType<typeof judgeVendorError>, 'rests'>

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
  const { setup, secret, model } = deployment
  const { traffic } = gateway
  const form = formOf(gateway, task, deployment)
  if (form instanceof Refusal) {
    noteNothing(traffic, deployment)
    // What one vendor's dialect cannot say, another's may.
    return { refusal: form, next: 'equals' }
  }
  let current: Exchange | undefined
  let sent = false
  const controller = new AbortController()
  const stop = () => (current === undefined ? controller.abort() : current.abort())
  const onGone = () =>
    readsOnUnheard(model, setup.vendor.cancel) ? void endReadingOn(gateway, stop) : stop()
  task.signal.addEventListener('abort', onGone, { once: true })
  try {
    const url = setup.baseUrl + (setup.vendor.path?.(model, form.path) ?? form.path)
    const headers = await authorized(setup, secret, { url, body: form.body })
    if (task.signal.aborted) throw new CallerGone(false)
    sent = true
    current = await exchange({
      fetch: setup.fetch ?? fetch,
      url,
      headers: { ...form.headers, ...headers },
      body: form.body,
      timeouts: gateway.options.timeouts,
      take: (bytes) => takeBytes(gateway.doors, task.trace, bytes),
      controller,
    })
    if (current.status >= 200 && current.status < 300) {
      const opened = await it.open(current, form, deployment)
      noteSuccess(traffic, deployment)
      tellNotCarried(task.trace, form.dropped)
      noteFailover(gateway, task, model)
      return { exchange: current, opened }
    }
    sent = false
    return await refused(gateway, task, deployment, current)
  } catch (fault) {
    current?.abort()
    const ofVendor = fault instanceof VendorFault
    const gone = task.signal.aborted
    if (gone || !ofVendor) noteNothing(traffic, deployment)
    if (gone) throw new CallerGone(sent && ofVendor && fault.mayBill)
    if (!ofVendor) throw fault
    return failed(gateway, task, deployment, fault)
  } finally {
    task.signal.removeEventListener('abort', onGone)
  }
}

const failed = (gateway: Gateway, { trace }: Task, deployment: Deployment, fault: VendorFault): Failed => {
  const { stage, mayBill } = fault
  const vendor = deployment.setup.vendor.id
  const nowMs = gateway.clock.monotonicMs()
  noteFailure(gateway.traffic, deployment, { scope: 'model', nowMs, askedMs: undefined })
  gateway.log.warn('vendor failed', { call: trace.callId, vendor, stage })
  return { refusal: vendorDown(vendor, undefined), next: mayBill ? 'nobody' : 'anyone' }
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
  const { rests: scope, ...verdict } = judgeVendorError(answer, vendor, deployment.secret?.reveal())
  const [nowMs, askedMs] = [gateway.clock.monotonicMs(), verdict.restMs]
  if (scope === undefined) noteNothing(gateway.traffic, deployment)
  else noteFailure(gateway.traffic, deployment, { scope, nowMs, askedMs })
  gateway.log.warn('vendor refused', { call: task.trace.callId, vendor, status: answer.status })
  return verdict
}

/** An equal that costs more is at the operator's cost, who allowed it: each such call is counted and told. */
const noteFailover = ({ log, traffic }: Gateway, { trace, model: asked }: Task, answered: Model): void => {
  if (answered === asked) return
  const dearer = dearerThan(answered.price, priceOf(asked))
  if (dearer) traffic.dearer++
  const fields = { call: trace.callId, model: asked.id, equal: answered.id }
  if (dearer) log.warn('a dearer equal answered', { ...fields, ops: traffic.dearer })
  else log.info('an equal answered', fields)
}
