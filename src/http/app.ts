/**
 * The server as a function: a Request in, a Response out. No port is needed to test it.
 * Everything an answer carries beside its body is added here: request id, rate-limit headers, the error body, the log line.
 */
import { Refusal, refuse, unavailable } from '../core/refusal.ts'
import { callerDialects } from '../dialects/index.ts'
import type { Answer } from '../gateway/answer.ts'
import { CallerGone } from '../gateway/ask-vendor.ts'
import { letGo } from '../gateway/doors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { newTrace, type Trace } from '../gateway/trace.ts'
import { StoreFault } from '../store/port.ts'
import { checkHeaders } from './headers.ts'
import { HelperRefusal, helperBody } from './helper-refusal.ts'
import { checkPath, splitUrl } from './path.ts'
import type { Route } from './route.ts'
import { createRouter } from './router.ts'
import { routes } from './routes.ts'

type App = {
  /** `peer` tells the address at the other end of the connection, for those who need it. */
  readonly fetch: (
    request: Request,
    peer?: () => string | undefined,
    /** Called when nothing but the rest of the answer is left to send. */
    ended?: () => void,
  ) => Promise<Response>
}

const nobody = (): undefined => undefined

export const createApp = (gateway: Gateway): App => {
  const match = createRouter(routes)
  return {
    fetch: async (request, peer = nobody, ended = nobody) => {
      const trace = newTrace(gateway.newCallId(), gateway.clock.monotonicMs())
      const { path, query } = splitUrl(request.url)
      let route: Route | undefined
      try {
        const refusal = checkPath(path) ?? checkHeaders(request.headers)
        if (refusal) throw refusal
        const matched = match(request.method, path)
        if (matched instanceof Refusal) throw matched
        route = matched.route
        const call = { request, params: matched.params, query, peer, trace }
        const answer = await route.handler(gateway, call)
        return respond(gateway, answer, { trace, dialect: route.dialect, ended })
      } catch (thrown) {
        letGo(gateway.doors, trace)
        ended()
        const response = respondRefusal(gateway, trace, thrown, route)
        // Who asked for leave to send its body need not send it any more (RFC 9110, 10.1.1).
        if (request.headers.has('expect')) response.headers.set('connection', 'close')
        return response
      }
    },
  }
}

/** The call's id, also by the name under which clients of messages look for it. */
const idHeaders = ({ callId }: Trace, dialect: Route['dialect']): Record<string, string> =>
  dialect === 'messages' ? { 'x-request-id': callId, 'request-id': callId } : { 'x-request-id': callId }

type Responding = {
  readonly trace: Trace
  readonly dialect: Route['dialect']
  readonly ended: () => void
}

const respond = (gateway: Gateway, answer: Answer, { trace, dialect, ended }: Responding): Response => {
  const { body, status } = answer
  const headers = {
    ...answer.headers,
    ...trace.headers,
    ...idHeaders(trace, dialect),
    ...lastOne(gateway),
  }
  const end = () => {
    letGo(gateway.doors, trace)
    logCall(gateway, trace, status)
    ended()
  }
  // A stream's line is written when it has ended, with what it cost.
  if (body instanceof Uint8Array || trace.ended !== undefined) end()
  else trace.onEnded = end
  return new Response(body, { status, headers })
}

const LAST_ONE = { connection: 'close' }

/** While the process drains, each answer ends its connection, so that the caller's next one goes elsewhere. */
const lastOne = ({ doors }: Gateway) => (doors.leaving ? LAST_ONE : undefined)

const respondRefusal = (
  gateway: Gateway,
  trace: Trace,
  thrown: unknown,
  route: Route | undefined,
): Response => {
  if (thrown instanceof CallerGone) {
    trace.ended = 'client_gone'
    logCall(gateway, trace, 499)
    return new Response(null, { status: 499 })
  }
  if (thrown instanceof HelperRefusal) return respondHelperRefusal(gateway, trace, thrown)
  const refusal = refusalFor(gateway, trace, thrown)
  trace.ended = refusal.code
  logCall(gateway, trace, refusal.status)
  const body =
    route?.helper === true
      ? helperBody(refusal, trace.callId)
      : callerDialects[route?.dialect ?? 'chat'].refusal(refusal, trace.callId)
  return new Response(JSON.stringify(body), {
    status: refusal.status,
    headers: {
      'content-type': 'application/json',
      ...refusal.headers,
      ...trace.headers,
      ...idHeaders(trace, route?.dialect),
      ...lastOne(gateway),
    },
  })
}

const respondHelperRefusal = (gateway: Gateway, trace: Trace, refusal: HelperRefusal): Response => {
  const { error, retryAfter, status } = refusal
  trace.ended = error
  logCall(gateway, trace, status)
  const headers = {
    'x-request-id': trace.callId,
    ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    ...lastOne(gateway),
  }
  return Response.json(refusal.body(trace.callId), { status, headers })
}

/** The refusal that stands for whatever was thrown; a fault of our own is logged. */
export const refusalFor = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof StoreFault) {
    gateway.log.warn('the store failed', { call: trace.callId, error: thrown.message })
    return unavailable('The ledger cannot be reached.')
  }
  return internalError(gateway, trace, thrown)
}

const internalError = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  gateway.faults.note(gateway.clock.monotonicMs())
  gateway.log.error('internal error', {
    call: trace.callId,
    error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
  })
  return refuse(
    'internal_error',
    'The server failed at this call; it was not charged. The request id helps the operator find out why.',
  )
}

/** The one line of log a call gets. */
export const logCall = (gateway: Gateway, trace: Trace, status: number): void => {
  gateway.log.call({
    call: trace.callId,
    key: trace.keyId,
    model: trace.model,
    vendor: trace.vendor,
    status,
    ended: trace.ended,
    attempts: trace.attempts,
    charged: trace.charged,
    first_byte_ms: trace.firstByteMs,
    took_ms: gateway.clock.monotonicMs() - trace.startedMs,
  })
}
