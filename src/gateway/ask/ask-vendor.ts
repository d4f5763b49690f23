/** Asking the vendor: tries the deployments until one begins to answer. */

import type { Soon } from '../../book/contract.ts'
import type { Model } from '../../core/model.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import { whenKnown } from '../../core/soon.ts'
import { codecFor } from '../../dialects/call-codec.ts'
import type { CallCodec } from '../../dialects/codec.ts'
import { conversationOf } from '../../routing/conversation.ts'
import { ATTEMPTS_MAX, type Deployment, noteAttempt, orderOf, takeRetry } from '../../routing/deployments.ts'
import { isLast, requestedRestOf, rulesOut } from '../../routing/failed-attempt.ts'
import { comeBackIn, vendorDown } from '../../routing/vendor-errors.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { allowsModel } from '../../tenancy/model-patterns.ts'
import { houseMayAsk } from '../../tenancy/own-keys.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { meetsAll } from '../../vendors/handled-at.ts'
import { sealSummary } from '../enter/compaction.ts'
import { unmet } from '../enter/conditions.ts'
import { deploymentsFor } from '../enter/deployments-for.ts'
import { isFor } from '../enter/rules.ts'
import { takeVendor } from '../parts/capacity.ts'
import type { Gateway, Offering } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import type { Trace } from '../parts/trace.ts'
import { type AttemptSteps, attempt, CallerGone, type Opened, type VendorRequest } from './attempt.ts'
import { estimateFor } from './bill.ts'

/** How to ask for a call in a dialect. */
export const inDialect = <T>(open: AttemptSteps<CallCodec, T>['open']): AttemptSteps<CallCodec, T> => ({
  request: codecOf,
  open,
})

const RETRY_PAUSE_MS = 100

/**
 * Sends the call and hands a successful exchange to `open`. A request is sent again only if a vendor refused it or was
 * never reached: what may be billed is not requested twice. Throws the Refusal of the last attempt, or CallerGone.
 */
export const askVendor = async <R extends VendorRequest, T>(
  gateway: Gateway,
  task: Task,
  steps: AttemptSteps<R, T>,
): Promise<Opened<T>> => {
  const { clock, random } = gateway
  const { traffic } = gateway.offering
  const { trace, model } = task
  const found = placesFor(gateway, task)
  const all = found instanceof Promise ? await found : found
  const places = trace.conditions === NO_CONDITIONS ? all : meeting(gateway, task, all)
  const order = orderOf(places, traffic, {
    nowMs: clock.monotonicMs(),
    random,
    conversation: places.length === 1 ? undefined : conversationIn(task),
  })
  let next = order[0]
  if (next === undefined) throw refuse('internal_error', `The vendor ${model.vendor} is not set up.`)
  let last: Refusal | undefined
  let soonest: number | undefined
  let before: Deployment | undefined
  const hopeless: Deployment[] = []
  while (next !== undefined) {
    const deployment = next
    const full = fullAt(gateway, trace, deployment.setup.vendor.id)
    if (full !== undefined) {
      last ??= full
      for (const one of order) if (one.setup === deployment.setup) hopeless.push(one)
      next = following(order, deployment, hopeless)
      continue
    }
    if (before !== undefined && !takeRetry(deployment.own ?? traffic)) break
    if (before === deployment) await clock.sleep(random() * RETRY_PAUSE_MS * 2 ** trace.attempts)
    if (task.signal.aborted) throw new CallerGone(false)
    trace.attempts++
    trace.vendor = deployment.setup.vendor.id
    trace.vendorKey = deployment.place
    if (trace.span !== undefined) trace.span.askedAt = deployment.setup.baseUrl
    if (model.own !== undefined)
      trace.headers['x-vendor-key'] = deployment.own === undefined ? 'house' : 'own'
    noteAttempt(traffic, deployment, before === undefined)
    const tried = await attempt(gateway, task, deployment, steps)
    if ('exchange' in tried) return tried
    last = tried.refusal
    const restMs = requestedRestOf(tried)
    if (restMs !== undefined) soonest = Math.min(restMs, soonest ?? restMs)
    if (isLast(tried) || trace.attempts === ATTEMPTS_MAX) break
    for (const one of order) if (rulesOut(tried, deployment, one)) hopeless.push(one)
    before = deployment
    next = following(order, deployment, hopeless)
  }
  throw comeBackIn(last ?? vendorDown(model.vendor, undefined), soonest)
}

const conversationIn = ({ call, key, trace }: Task): string | undefined =>
  conversationOf(call, { keyId: key.id, session: trace.from?.request.headers.get('x-session-id') })

/** The refusal when as many calls wait for the vendor as may; else the call is counted among them. */
export const fullAt = (
  { offering, capacity }: Pick<Gateway, 'offering' | 'capacity'>,
  trace: Trace,
  vendor: string,
): Refusal | undefined => (manyVendors(offering) ? takeVendor(capacity, trace.taken, vendor) : undefined)

/**
 * Whether one vendor's calls can take another's places. The `local` vendor, which this process plays itself, does not
 * count.
 */
const manyVendors = ({ vendors }: Offering): boolean => vendors.size > (vendors.has('local') ? 2 : 1)

/** The next deployment, in their order and round again, without those that turned out to be hopeless. */
const following = (
  order: readonly Deployment[],
  after: Deployment,
  hopeless: readonly Deployment[],
): Deployment | undefined => {
  const from = order.indexOf(after) + 1
  return [...order.slice(from), ...order.slice(0, from)].find((one) => !hopeless.includes(one))
}

type Encoded = Pick<Task, 'call' | 'key' | 'trace' | 'model' | 'outputBound'>

/** How a call is asked of a deployment, and its answer read; a Refusal if its vendor cannot serve it. */
export const codecOf = (
  { setup, model }: Deployment,
  gateway: Gateway,
  task: Encoded,
): CallCodec | Refusal => {
  const { call, key, trace } = task
  return codecFor({
    call,
    target: {
      model,
      quirks: setup.vendor,
      outputBound: boundFor(task, model.maxOutputTokens),
      stream: call.stream,
    },
    traits: setup.vendor,
    context: () => ({
      requestId: trace.callId,
      created: Math.floor(gateway.clock.now() / 1000),
      modelName: call.modelName,
      estimatedInput: () => estimateFor(task, { letters: 0, events: 0 }).input ?? 0,
      request: call.body.value,
      seal: (summary) => sealSummary(gateway, { key, modelName: call.modelName }, summary),
    }),
  })
}

/** An equal model at another vendor may have a lower output limit. */
const boundFor = ({ outputBound, call }: Encoded, most: number): number | undefined => {
  const bound = outputBound ?? call.maxOutput
  return bound !== undefined && bound > most ? most : call.boundRaised === true ? bound : outputBound
}

/** Where a call may be sent: to equals only if the rules of its wallet allow them too. */
const placesFor = (
  { offering, book }: Gateway,
  { key, model }: Pick<Task, 'key' | 'model'>,
): Soon<readonly Deployment[]> => {
  const all = offering.deployments.get(model) ?? deploymentsFor(offering, model)
  if (all.length === 1 || !offering.failover.has(model.id)) return all
  const fit = key.models === undefined ? all : all.filter((one) => isFor(key, one.model))
  return whenKnown(book.rules(key.walletId), allowedAmong, fit, model)
}

/** Those of the places that meet the call's conditions. */
const meeting = (
  gateway: Gateway,
  { key, model, trace: { conditions } }: Task,
  all: readonly Deployment[],
): readonly Deployment[] => {
  if (conditions === undefined) throw new Error('the conditions of the call were not read')
  const found = all.filter((at) => meetsAll(at.setup, at.model, conditions))
  if (found.length === 0) throw unmet(gateway, model, { key, conditions })
  return found
}

/**
 * The model itself was allowed when the call came; equals of which nothing is known now are not asked, and none with a key of
 * the house whose vendor the organisation reaches by its own.
 */
const allowedAmong = (
  rules: WalletRules | Refusal,
  all: readonly Deployment[],
  own: Model,
): readonly Deployment[] =>
  all.filter(
    ({ model, own: isOwn }) =>
      model === own ||
      (!(rules instanceof Refusal) &&
        allowsModel(rules, model) &&
        (isOwn !== undefined || houseMayAsk(rules.ownKeys, model.vendor))),
  )
