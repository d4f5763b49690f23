/** Asking the vendor: attempts over the deployments until one begins to answer. After its first byte there is no retry. */

import { type Refusal, refuse } from '../core/refusal.ts'
import { encodeChatCall } from '../dialects/chat-vendor.ts'
import { encodeEmbeddingsCall } from '../dialects/embeddings.ts'
import {
  type Deployment,
  deploymentsOf,
  noteFailure,
  noteSuccess,
  planAttempts,
} from '../routing/deployments.ts'
import { judgeVendorError, vendorDown } from '../routing/vendor-errors.ts'
import { type Exchange, exchange, VendorFault } from '../transport/exchange.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

/** Thrown when the caller has gone before anything was delivered. */
export class CallerGone extends Error {}

export type Opened<T> = { readonly exchange: Exchange; readonly opened: T }

const RETRY_PAUSE_MS = 100

/**
 * Sends the call and hands a successful exchange to `open`, which reads as much as must be seen before the caller gets
 * a byte; a VendorFault from it counts as a failed attempt. Throws the Refusal of the last attempt, or CallerGone.
 */
export const askVendor = async <T>(
  gateway: Gateway,
  task: Task,
  open: (exchange: Exchange) => Promise<T>,
): Promise<Opened<T>> => {
  const setup = gateway.vendors.get(task.model.vendor)
  if (setup === undefined) throw refuse('internal_error', `The vendor ${task.model.vendor} is not set up.`)
  const body = encode(task, setup)
  const attempts = planAttempts(deploymentsOf(setup), gateway.traffic, gateway.clock.monotonicMs())
  const tooBusy = new Set<Deployment>()
  let last: Refusal = vendorDown(setup.vendor.id, undefined)
  for (const [index, deployment] of attempts.entries()) {
    if (tooBusy.has(deployment)) continue
    if (attempts[index - 1] === deployment)
      await gateway.clock.sleep(gateway.random() * RETRY_PAUSE_MS * 2 ** index)
    if (task.signal.aborted) throw new CallerGone()
    task.trace.attempts++
    const tried = await attempt(gateway, task, { deployment, body, open })
    if ('exchange' in tried) return tried
    if (!tried.retry) throw tried.refusal
    if (tried.restMs !== undefined) tooBusy.add(deployment)
    last = tried.refusal
  }
  throw last
}

const encode = (task: Task, setup: VendorSetup): Uint8Array =>
  task.call.kind === 'chat'
    ? encodeChatCall(task.call, task.model, setup.vendor, task.outputBound)
    : encodeEmbeddingsCall(task.call, task.model)

const paths = { chat: '/chat/completions', embeddings: '/embeddings' } as const

type Attempt<T> = {
  readonly deployment: Deployment
  readonly body: Uint8Array
  readonly open: (exchange: Exchange) => Promise<T>
}
type Failed = { readonly retry: boolean; readonly refusal: Refusal; readonly restMs: number | undefined }

const attempt = async <T>(gateway: Gateway, task: Task, it: Attempt<T>): Promise<Opened<T> | Failed> => {
  const { setup, secret } = it.deployment
  const { vendor } = setup
  let current: Exchange | undefined
  const abort = () => current?.abort()
  task.signal.addEventListener('abort', abort, { once: true })
  try {
    current = await exchange({
      fetch: setup.fetch ?? fetch,
      url: setup.baseUrl + paths[task.call.kind],
      headers: requestHeaders(setup, secret?.reveal()),
      body: it.body,
      timeouts: gateway.options.timeouts,
    })
    if (current.status >= 200 && current.status < 300) {
      const opened = await it.open(current)
      noteSuccess(gateway.traffic, it.deployment)
      return { exchange: current, opened }
    }
    const answer = {
      status: current.status,
      retryAfter: current.headers.get('retry-after'),
      body: await current.all(),
    }
    const verdict = judgeVendorError(answer, vendor.id, secret?.reveal())
    if (verdict.retry)
      noteFailure(gateway.traffic, it.deployment, gateway.clock.monotonicMs(), verdict.restMs)
    gateway.log.warn('vendor refused', { call: task.trace.callId, vendor: vendor.id, status: answer.status })
    return verdict.retry ? verdict : { ...verdict, restMs: undefined }
  } catch (fault) {
    current?.abort()
    if (task.signal.aborted) throw new CallerGone()
    if (!(fault instanceof VendorFault)) throw fault
    noteFailure(gateway.traffic, it.deployment, gateway.clock.monotonicMs(), undefined)
    gateway.log.warn('vendor failed', { call: task.trace.callId, vendor: vendor.id, stage: fault.stage })
    return { retry: fault.stage !== 'deadline', refusal: vendorDown(vendor.id, undefined), restMs: undefined }
  } finally {
    task.signal.removeEventListener('abort', abort)
  }
}

/** Built from nothing: no header of the caller reaches a vendor. */
const requestHeaders = (setup: VendorSetup, secret: string | undefined): Record<string, string> => ({
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
  ...setup.vendor.headers,
})
