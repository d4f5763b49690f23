/** One attempt: a call is sent to one deployment, until its answer begins or the attempt fails. */
import type { JsonObject } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import type { Model } from '../../core/model.ts'
import { Refusal } from '../../core/refusal.ts'
import type { CallCodec } from '../../dialects/codec.ts'
import { dearerThan, priceOf } from '../../pricing/charge.ts'
import { type Deployment, noteFailure, noteNothing, noteSuccess } from '../../routing/deployments.ts'
import { statusInside } from '../../routing/error-inside.ts'
import { type FailedAttempt, requestedRestOf, restsAfter } from '../../routing/failed-attempt.ts'
import { judgeVendorError, loggedError, vendorDown, withoutSecrets } from '../../routing/vendor-errors.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { type Exchange, exchange } from '../../transport/exchange.ts'
import { together } from '../../transport/fetch-together.ts'
import type { Requester } from '../../transport/requester.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import { metThere } from '../../vendors/handled-at.ts'
import { urlOf } from '../../vendors/setup.ts'
import { CountedAnswer } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { addNotCarried } from '../parts/not-carried.ts'
import type { Task } from '../parts/task.ts'
import { authorized } from './authorize.ts'
import { endReadingOn, readsOnUnheard } from './drain-vendor.ts'
import { overSocket } from './over-socket.ts'
import { noteAnswered, noteLost } from './time-attempt.ts'

/** Thrown when the caller has gone before anything was delivered. */
export class CallerGone extends Error {
  /** Whether a vendor had the request by then, and therefore bills its input. */
  readonly billed: boolean

  constructor(billed: boolean) {
    super('the caller has gone')
    this.billed = billed
  }
}

export type Opened<T> = { readonly exchange: Exchange; readonly opened: T }

/** A request to a vendor, relative to its base address. */
export type VendorRequest = Pick<CallCodec, 'path' | 'body' | 'headers' | 'notCarried'> & {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
}

/** How to ask a deployment for a call, and how much of a successful exchange to read before the caller gets a byte. */
export type AttemptSteps<R extends VendorRequest, T> = {
  /** A Refusal when this deployment's vendor cannot serve the call. */
  readonly request: (deployment: Deployment, gateway: Gateway, task: Task) => R | Refusal
  readonly open: (exchange: Exchange, request: R, deployment: Deployment) => Promise<T>
  /** Reads an unsuccessful answer, for vendors with an error format of their own. */
  readonly refused?: (
    answer: { readonly status: number; readonly body: Uint8Array; readonly retryAfter: string | null },
    deployment: Deployment,
  ) => Refusal | undefined
}

const encoder = new TextEncoder()
const fetchTogether = together(fetch)

/** Who asks, as the exchange sees it. */
class Caller implements Requester {
  readonly controller = new AbortController()
  current: Exchange | undefined
  /** Once an answer has begun, whoever sends it on looks after it. */
  over = false
  /** When a whole answer was there. */
  wholeMs: number | undefined
  readonly #gateway: Gateway
  readonly #task: Task
  readonly #deployment: Deployment

  constructor(gateway: Gateway, task: Task, deployment: Deployment) {
    this.#gateway = gateway
    this.#task = task
    this.#deployment = deployment
  }

  get keyId(): string {
    return this.#task.key.id
  }

  hasGone(): boolean {
    return this.#task.signal.aborted
  }

  onGone(): void {
    const { model, setup } = this.#deployment
    const reads = this.over ? 'on' : readsOnUnheard({ model, call: this.#task.call }, setup.vendor)
    if (reads === 'no') this.#stop()
    else if (reads === 'a while') void endReadingOn(this.#gateway, () => this.#stop())
  }

  onSend(): void {
    this.#task.trace.times.askedMs = this.#gateway.clock.monotonicMs()
  }

  onWhole(): void {
    this.wholeMs = this.#gateway.clock.monotonicMs()
  }

  #stop(): void {
    if (this.current === undefined) this.controller.abort()
    else this.current.abort()
  }
}

/** Makes one attempt. Throws CallerGone, and any fault that is not the vendor's. */
export const attempt = async <R extends VendorRequest, T>(
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  steps: AttemptSteps<R, T>,
): Promise<Opened<T> | FailedAttempt> => {
  const { model } = deployment
  const { trace, signal } = task
  trace.times.askedMs = undefined
  const asker = new Caller(gateway, task, deployment)
  let refusing = false
  try {
    const request = steps.request(deployment, gateway, task)
    if (request instanceof Refusal)
      // Another vendor's dialect may be able to express what this one's cannot.
      return noted(gateway, deployment, { outcome: 'unfit', refusal: request })
    const current = await send(gateway, task, deployment, { request, asker })
    if (current.status < 200 || current.status >= 300) {
      refusing = true
      const failed = await refused(gateway, task, deployment, current, steps.refused)
      noteLost(gateway, trace, failed.outcome, current.status)
      return failed
    }
    const opened = await steps.open(current, request, deployment)
    noteSuccess(gateway.offering.traffic, deployment)
    if (request.notCarried.length > 0) addNotCarried(trace, request.notCarried)
    if (model !== task.model && deployment.own === undefined) noteFailover(gateway, task, model)
    if (trace.conditions !== NO_CONDITIONS) noteMet(trace, deployment)
    noteAnswered(gateway, trace, asker.wholeMs)
    return { exchange: current, opened }
  } catch (fault) {
    asker.current?.abort()
    const ofVendor = fault instanceof VendorFault
    if (ofVendor && !signal.aborted) {
      const failure = failed(gateway, task, deployment, fault)
      noteLost(gateway, trace, failure.outcome)
      return failure
    }
    noteNothing(gateway.offering.traffic, deployment)
    const billed = trace.times.askedMs !== undefined && !refusing && ofVendor && fault.mayBill
    noteLost(gateway, trace, fault instanceof Refusal && !signal.aborted ? 'refused' : 'gone')
    throw signal.aborted ? new CallerGone(billed) : fault
  } finally {
    asker.over = true
  }
}

/** A call with conditions tells with what they were met: its answer by a header, its receipt by a claim. */
const noteMet = (trace: Task['trace'], { setup, model }: Deployment): void => {
  const met = metThere(setup, model, trace.conditions ?? NO_CONDITIONS)
  trace.met = met
  trace.headers['x-turnpike-conditions'] = Object.entries(met)
    .map(([name, value]) => `${name}="${value}"`)
    .join('; ')
}

/** Sends the request. Throws VendorFault, or CallerGone when nobody waits for an answer any more. */
const send = async <R extends VendorRequest>(
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  { request, asker }: { readonly request: R; readonly asker: Caller },
): Promise<Exchange> => {
  const { setup, model } = deployment
  const on = task.memory?.socket
  const url = urlOf(setup, setup.vendor.path?.(model, request.path) ?? request.path)
  const signed = authorized(deployment, task.trace.conditions, { url, body: request.body })
  const headers = signed instanceof Promise ? await signed : signed
  if (task.signal.aborted) throw new CallerGone(false)
  asker.onSend()
  asker.current = await exchange({
    fetch:
      setup.fetch ??
      (on === undefined
        ? fetchTogether
        : overSocket(gateway, task, deployment, { bytes: request.body, on, http: fetchTogether })),
    url,
    method: request.method ?? 'POST',
    headers: request.headers === undefined ? headers : { ...headers, ...request.headers },
    body: request.body,
    timeouts: gateway.options.timeouts,
    asker,
    counting: new CountedAnswer(gateway.capacity, task.trace.taken),
    controller: asker.controller,
  })
  return asker.current
}

/** The vendor could not be reached, or broke off before its answer began. */
const failed = (gateway: Gateway, task: Task, deployment: Deployment, fault: VendorFault): FailedAttempt => {
  const { stage, mayBill, said } = fault
  const { trace } = task
  if (said !== undefined) {
    const body = encoder.encode(JSON.stringify(said))
    return judged(gateway, task, deployment, { status: statusInside(said), retryAfter: null, body })
  }
  const vendor = deployment.setup.vendor.id
  const error = withoutSecrets(messageOf(fault.cause ?? fault), deployment.secret?.reveal())
  gateway.log.warn('vendor failed', { call: trace.callId, vendor, stage, error })
  // What came and could not be read is an answer, if a wrong one.
  const status = stage === 'body' && fault.cause === undefined ? 200 : undefined
  const refusal = vendorDown(vendor, status, deployment.own !== undefined)
  return noted(gateway, deployment, { outcome: mayBill ? 'may_bill' : 'failed', refusal })
}

/** The vendor answered with an error status. */
const refused = async (
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  current: Exchange,
  ownReading: AttemptSteps<VendorRequest, unknown>['refused'],
): Promise<FailedAttempt> => {
  const answer = {
    status: current.status,
    retryAfter: current.headers.get('retry-after'),
    body: await current.all(),
  }
  const own = ownReading?.(answer, deployment)
  if (own !== undefined) return noted(gateway, deployment, { outcome: 'refused', refusal: own })
  return judged(gateway, task, deployment, answer)
}

/** What the vendor's error means for the call, whether it came with a status of its own or inside an answer. */
const judged = (
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  answer: { readonly status: number; readonly body: Uint8Array; readonly retryAfter: string | null },
): FailedAttempt => {
  const vendor = deployment.setup.vendor.id
  const secret = deployment.secret?.reveal()
  gateway.log.warn('vendor refused', {
    call: task.trace.callId,
    vendor,
    status: answer.status,
    error: loggedError(answer),
  })
  return noted(
    gateway,
    deployment,
    judgeVendorError(answer, vendor, {
      secret,
      sent: sentIn(task),
      own: deployment.own !== undefined,
      now: gateway.clock.now(),
    }),
  )
}

const OF_OPENAI: ReadonlySet<Task['call']['dialect']> = new Set(['chat', 'responses', 'embeddings'])

/** The request, if it has the names of OpenAI's errors. Input that was completed here has other places for its caller. */
const sentIn = ({ call, memory }: Task): JsonObject | undefined => {
  if (!OF_OPENAI.has(call.dialect)) return undefined
  const { outline } = call.body
  return memory === undefined ? outline : { ...outline, input: '' }
}

/** Whatever was at fault is left alone for as long as the vendor asked. */
const noted = (
  { offering: { traffic }, clock }: Gateway,
  deployment: Deployment,
  failed: FailedAttempt,
): FailedAttempt => {
  const scope = restsAfter(failed)
  const [nowMs, restMs] = [clock.monotonicMs(), requestedRestOf(failed)]
  if (scope === undefined) noteNothing(traffic, deployment)
  else noteFailure(traffic, deployment, { scope, nowMs, restMs })
  return failed
}

/**
 * An equal that costs more is used at the operator's expense, since the operator allowed it. Each such call is counted
 * and logged.
 */
const noteFailover = (
  { log, offering: { traffic } }: Gateway,
  { trace, model: requested }: Task,
  answered: Model,
): void => {
  const dearer = dearerThan(answered.price, priceOf(requested.own?.list ?? requested))
  if (dearer) traffic.dearer++
  const fields = { call: trace.callId, model: requested.id, equal: answered.id }
  if (dearer) log.warn('a dearer equal model answered', { ...fields, ops: traffic.dearer })
  else log.info('an equal model answered', fields)
}
