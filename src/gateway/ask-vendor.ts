/** Asking the vendor: attempts over the deployments until one begins to answer. */

import { messageOf } from '../core/message-of.ts'
import type { Model } from '../core/model.ts'
import { Refusal, refuse } from '../core/refusal.ts'
import { type CallCodec, codecFor } from '../dialects/call-codec.ts'
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
import { askedRestOf, type FailedAttempt, isLast, restsAfter, rulesOut } from '../routing/failed-attempt.ts'
import {
  comeBackIn,
  judgeVendorError,
  vendorDown,
  vendorText,
  withoutSecrets,
} from '../routing/vendor-errors.ts'
import { type Exchange, exchange, VendorFault } from '../transport/exchange.ts'
import { together } from '../transport/fetch-together.ts'
import { authorized } from './authorize.ts'
import { estimateFor } from './bill.ts'
import { deploymentsFor } from './deployments-for.ts'
import { takeBytes, weighAnswer } from './doors.ts'
import { endReadingOn, readsOnUnheard } from './drain-vendor.ts'
import type { Gateway } from './gateway.ts'
import { tellNotCarried } from './not-carried.ts'
import type { Task } from './task.ts'
import { timed } from './time-attempt.ts'

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

/** A request to a vendor, below its address. */
type VendorRequest = Pick<CallCodec, 'path' | 'body' | 'headers' | 'notCarried'> & {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
}

/** How a call is asked of a deployment, and how much of a successful exchange must be read before the caller gets a byte. */
type Asking<R extends VendorRequest, T> = {
  /** A Refusal where this deployment's vendor cannot be asked for it. */
  readonly request: (deployment: Deployment) => R | Refusal
  readonly open: (exchange: Exchange, request: R, deployment: Deployment) => Promise<T>
  /** Reads an answer that is no success, where the vendor's own way of it is known. */
  readonly refused?: (
    answer: { readonly status: number; readonly body: Uint8Array; readonly retryAfter: string | null },
    deployment: Deployment,
  ) => Refusal | undefined
}

/** Asks for a call in a dialect; see `askThrough`. */
export const askVendor = <T>(
  gateway: Gateway,
  task: Task,
  open: Asking<CallCodec, T>['open'],
): Promise<Opened<T>> =>
  askThrough(gateway, task, { request: (deployment) => codecOf(gateway, task, deployment), open })

const RETRY_PAUSE_MS = 100

const fetchTogether = together(fetch)

/**
 * Sends the call and hands a successful exchange to `open`. A request is sent again only after a vendor refused it or was
 * never reached: what may be billed is not asked for twice. Throws the Refusal of the last attempt, or CallerGone.
 */
export const askThrough = async <R extends VendorRequest, T>(
  gateway: Gateway,
  task: Task,
  asking: Asking<R, T>,
): Promise<Opened<T>> => {
  const { clock, random, traffic } = gateway
  const nowMs = clock.monotonicMs()
  const order = orderOf(gateway.deployments.get(task.model) ?? deploymentsFor(gateway, task.model), traffic, {
    nowMs,
    random,
  })
  if (order.length === 0) throw refuse('internal_error', `The vendor ${task.model.vendor} is not set up.`)
  const hopeless = new Set<Deployment>()
  let last: Refusal | undefined
  let soonest: number | undefined
  let before: Deployment | undefined
  for (const deployment of inTurn(order, hopeless)) {
    if (before !== undefined && !takeRetry(traffic)) break
    if (before === deployment) await clock.sleep(random() * RETRY_PAUSE_MS * 2 ** task.trace.attempts)
    if (task.signal.aborted) throw new CallerGone(false)
    task.trace.attempts++
    task.trace.vendor = deployment.setup.vendor.id
    noteAttempt(traffic, deployment, before === undefined)
    const tried = await timed(gateway, task.trace, () => attempt(gateway, task, deployment, asking))
    if ('exchange' in tried) return tried
    last = tried.refusal
    const restMs = askedRestOf(tried)
    if (restMs !== undefined) soonest = Math.min(restMs, soonest ?? restMs)
    if (isLast(tried) || task.trace.attempts === ATTEMPTS_MAX) break
    for (const one of order) if (rulesOut(tried, deployment, one)) hopeless.add(one)
    before = deployment
  }
  throw comeBackIn(last ?? vendorDown(task.model.vendor, undefined), soonest)
}

/** Deployments in their order, again and again, without those that turned out to be hopeless. */
function* inTurn(order: readonly Deployment[], hopeless: ReadonlySet<Deployment>): Generator<Deployment> {
  while (hopeless.size < order.length) for (const one of order) if (!hopeless.has(one)) yield one
}

const codecOf = (gateway: Gateway, task: Task, { setup, model }: Deployment): CallCodec | Refusal =>
  codecFor({
    call: task.call,
    target: {
      model,
      quirks: setup.vendor,
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

const attempt = async <R extends VendorRequest, T>(
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  asking: Asking<R, T>,
): Promise<Opened<T> | FailedAttempt> => {
  const { setup, secret, model } = deployment
  const { traffic } = gateway
  const request = asking.request(deployment)
  if (request instanceof Refusal) {
    // What one vendor's dialect cannot say, another's may.
    return noted(gateway, deployment, { outcome: 'unfit', refusal: request })
  }
  let current: Exchange | undefined
  let sent = false
  const controller = new AbortController()
  const stop = () => (current === undefined ? controller.abort() : current.abort())
  let over = false
  const onGone = () => {
    // An answer that has begun is looked after by who sends it on.
    const reads = over ? 'on' : readsOnUnheard(model, setup.vendor)
    if (reads === 'no') stop()
    else if (reads === 'a while') void endReadingOn(gateway, stop)
  }
  try {
    const path = setup.vendor.path?.(model, request.path) ?? request.path
    // Some vendors answer some things at another host of theirs, which only their shapes name.
    const url = path.startsWith('https://') ? path : setup.baseUrl + path
    const signed = authorized(setup, secret, { url, body: request.body })
    const headers = signed instanceof Promise ? await signed : signed
    if (task.signal.aborted) throw new CallerGone(false)
    sent = true
    task.trace.askedMs = gateway.clock.monotonicMs()
    current = await exchange({
      fetch: setup.fetch ?? fetchTogether,
      url,
      method: request.method ?? 'POST',
      headers: request.headers === undefined ? headers : { ...headers, ...request.headers },
      body: request.body,
      timeouts: gateway.options.timeouts,
      take: (bytes) => takeBytes(gateway.doors, task.trace, bytes),
      weigh: (body) => weighAnswer(gateway.doors, task.trace, body),
      controller,
      caller: { signal: task.signal, onGone },
    })
    if (current.status >= 200 && current.status < 300) {
      const opened = await asking.open(current, request, deployment)
      noteSuccess(traffic, deployment)
      if (request.notCarried.length > 0) tellNotCarried(task.trace, request.notCarried)
      if (model !== task.model) noteFailover(gateway, task, model)
      return { exchange: current, opened }
    }
    sent = false
    return await refused(gateway, task, deployment, current, asking.refused)
  } catch (fault) {
    current?.abort()
    const ofVendor = fault instanceof VendorFault
    const gone = task.signal.aborted
    if (gone || !ofVendor) noteNothing(traffic, deployment)
    if (gone) throw new CallerGone(sent && ofVendor && fault.mayBill)
    if (!ofVendor) throw fault
    return failed(gateway, task, deployment, fault)
  } finally {
    over = true
  }
}

/** The vendor could not be reached, or broke off before its answer began. */
const failed = (
  gateway: Gateway,
  { trace }: Task,
  deployment: Deployment,
  fault: VendorFault,
): FailedAttempt => {
  const { stage, mayBill } = fault
  const vendor = deployment.setup.vendor.id
  const error = withoutSecrets(messageOf(fault.cause ?? fault), deployment.secret?.reveal())
  gateway.log.warn('vendor failed', { call: trace.callId, vendor, stage, error })
  const refusal = vendorDown(vendor, undefined)
  return noted(gateway, deployment, { outcome: mayBill ? 'may_bill' : 'failed', refusal })
}

/** The vendor answered with an error status. */
const refused = async (
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  current: Exchange,
  ownReading: Asking<VendorRequest, unknown>['refused'],
): Promise<FailedAttempt> => {
  const vendor = deployment.setup.vendor.id
  const answer = {
    status: current.status,
    retryAfter: current.headers.get('retry-after'),
    body: await current.all(),
  }
  const own = ownReading?.(answer, deployment)
  if (own !== undefined) return noted(gateway, deployment, { outcome: 'refused', refusal: own })
  const secret = deployment.secret?.reveal()
  gateway.log.warn('vendor refused', {
    call: task.trace.callId,
    vendor,
    status: answer.status,
    error: vendorText(answer, secret),
  })
  return noted(gateway, deployment, judgeVendorError(answer, vendor, secret))
}

/** What was at fault rests, for as long as the vendor asked. */
const noted = ({ traffic, clock }: Gateway, deployment: Deployment, failed: FailedAttempt): FailedAttempt => {
  const scope = restsAfter(failed)
  const [nowMs, askedMs] = [clock.monotonicMs(), askedRestOf(failed)]
  if (scope === undefined) noteNothing(traffic, deployment)
  else noteFailure(traffic, deployment, { scope, nowMs, askedMs })
  return failed
}

/** An equal that costs more is at the operator's cost, who allowed it: each such call is counted and told. */
const noteFailover = ({ log, traffic }: Gateway, { trace, model: asked }: Task, answered: Model): void => {
  const dearer = dearerThan(answered.price, priceOf(asked))
  if (dearer) traffic.dearer++
  const fields = { call: trace.callId, model: asked.id, equal: answered.id }
  if (dearer) log.warn('a dearer equal answered', { ...fields, ops: traffic.dearer })
  else log.info('an equal answered', fields)
}
