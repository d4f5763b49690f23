/**
 * The server as a function: a Request in, a Response out. No port is needed to test it.
 * Everything that an answer carries beside its body is added here: request id, rate-limit headers, the error body, the
 * log line.
 */
import { must, Refusal } from '../core/refusal.ts'
import { newId } from '../core/time.ts'
import { inputTokens, outputTokens } from '../core/usage.ts'
import { callerDialects } from '../dialects/index.ts'
import { refusalFor } from '../gateway/answer/refusal-for.ts'
import { CallerGone } from '../gateway/ask/attempt.ts'
import { tellRates } from '../gateway/enter/small-turn.ts'
import type { Answer } from '../gateway/parts/answer.ts'
import { letGo } from '../gateway/parts/capacity.ts'
import { endSpan } from '../gateway/parts/end-span.ts'
import { noteFailed } from '../gateway/parts/failures.ts'
import type { Gateway, Present, Watch } from '../gateway/parts/gateway.ts'
import { newSpan } from '../gateway/parts/spans.ts'
import { newTrace, type Trace } from '../gateway/parts/trace.ts'
import { afterTurn, helpFor } from './answer/after-turn.ts'
import { headOf } from './answer/head-of.ts'
import { HelperRefusal, helperBody } from './answer/helper-refusal.ts'
import { turnsAway } from './request/turn-away.ts'
import { type HeaderReader, isOfCohere, readHeaders } from './route/headers.ts'
import type { HttpCall, Route } from './route/route.ts'
import { createRouter, type Matched, routeFor, splitUrl } from './route/router.ts'
import { routes } from './routes.ts'

type App = {
  /** The answer to a call that an overloaded process turns away at once; undefined for requests that go to `fetch`. */
  readonly turnAway: (request: Request) => Response | undefined
  /** `startedMs` is when the request came, in monotonic time; now if it is left out. */
  readonly fetch: (request: Request, connection?: Connection, startedMs?: number) => Promise<Response>
}

/** The connection on which a request came. */
export type Connection = {
  /** The address of its other end. */
  peer(): string | undefined
  /** Called when only the rest of the answer is left to send. */
  ended(): void
}

const nowhere: Connection = { peer: () => undefined, ended: () => undefined }

export const createApp = (present: Present): App => {
  const match = createRouter(routes)
  return {
    turnAway: turnsAway(present.gateway, match),
    fetch: async (request, connection = nowhere, startedMs = present.gateway.clock.monotonicMs()) => {
      const { gateway } = present
      const trace = newTrace(newId(), startedMs)
      const { path, query } = splitUrl(request.url)
      let style: Style | undefined
      trace.method = request.method
      try {
        const matched = match(request.method, path)
        if (matched instanceof Refusal) {
          style = styleAround(match, path, request.headers, matched)
          throw matched
        }
        trace.path = matched.route.path
        const headers = must(readHeaders(request.headers))
        const route = routeFor(matched.route, headers)
        style = route
        if (route.runs === true) begin(gateway.watch, trace, route.path, request.headers)
        const call = new RoutedCall(request, headers, { matched, query, connection, trace })
        const answer = await route.handler(gateway, call)
        const shown = request.method === 'HEAD' ? await headOf(answer) : answer
        return respond(gateway, shown, call, route.dialect)
      } catch (caught) {
        const thrown = await afterTurn(gateway, trace, caught)
        letGo(gateway.capacity, trace.taken)
        connection.ended()
        trace.path ??= unknownPath(path)
        const response = respondRefusal(gateway, trace, thrown, style)
        // A client that asked (`Expect: 100-continue`) whether to send its body need not send it any more (RFC 9110,
        // 10.1.1).
        if (request.headers.has('expect')) response.headers.set('connection', 'close')
        return response
      }
    },
  }
}

type Style = Pick<Route, 'dialect' | 'helper'>

/** Addresses whose clients read no other style, also where nothing answers. */
const styles: readonly (readonly [path: RegExp, style: Style])[] = [
  [/^\/v1\/messages\//, { dialect: 'messages' }],
  [/^\/v1(?:beta)?\/interactions(?:\/|$)/, { dialect: 'interactions' }],
  [/^(?:\/upload)?\/v1(?:alpha|beta1?)\//, { dialect: 'gemini' }],
  [/^\/v2\//, { dialect: 'cohere' }],
  [/^\/api\/(?:pull|push|create|copy|delete|blobs)(?:\/|$)/, { dialect: 'ollama' }],
]

/** The style of whose client asks, by what no other client sends. */
const styleOfClient = (headers: Headers): Style | undefined => {
  if (headers.has('x-goog-api-key')) return { dialect: 'gemini' }
  if (headers.has('anthropic-version')) return { dialect: 'messages' }
  return isOfCohere(headers) ? { dialect: 'cohere' } : undefined
}

/** The style where no route answers: that of another method of the address, else of the addresses around it, or of the client. */
const styleAround = (
  match: ReturnType<typeof createRouter>,
  path: string,
  sent: Headers,
  { headers }: Refusal,
): Style | undefined => {
  const [method] = headers.allow?.split(', ') ?? []
  const other = method === undefined ? undefined : match(method, path)
  return other === undefined || other instanceof Refusal
    ? (styles.find(([around]) => around.test(path))?.[1] ?? styleOfClient(sent))
    : routeFor(other.route, sent)
}

type RoutedParts = {
  readonly matched: Matched
  readonly query: string
  readonly connection: Connection
  readonly trace: Trace
}

/** One request on its way through a handler. */
class RoutedCall implements HttpCall {
  readonly request: Request
  readonly headers: HeaderReader
  readonly params: HttpCall['params']
  readonly query: string
  readonly trace: Trace
  readonly connection: Connection

  constructor(request: Request, headers: HeaderReader, { matched, query, connection, trace }: RoutedParts) {
    this.request = request
    this.headers = headers
    this.params = matched.params
    this.query = query
    this.trace = trace
    this.connection = connection
    trace.from = this
  }

  peer(): string | undefined {
    return this.connection.peer()
  }
}

const begin = ({ traces }: Watch, trace: Trace, path: string, headers: Headers): void => {
  trace.endpoint = path
  const span = traces === undefined ? undefined : newSpan(traces, headers.get('traceparent'))
  if (span !== undefined) trace.span = span
}

/** An address that nobody serves, made safe for the log: people paste keys everywhere. */
const unknownPath = (path: string): string => path.slice(0, 100).replaceAll(/sk-[\w-]+/g, 'sk-…')

/**
 * Adds what every answer carries: the call's id, for clients of messages also under the name they look for. While the
 * process drains, it also closes the connection, so that the caller's next call goes elsewhere.
 */
const withOwn = (
  headers: Record<string, string>,
  { capacity }: Gateway,
  { callId }: Trace,
  dialect?: Route['dialect'],
): Record<string, string> => {
  headers['x-request-id'] = callId
  if (dialect === 'messages') headers['request-id'] = callId
  if (capacity.draining) headers.connection = 'close'
  return headers
}

const respond = (gateway: Gateway, answer: Answer, call: RoutedCall, dialect: Route['dialect']): Response => {
  const { body, cookies, status } = answer
  const { trace } = call
  if (trace.headers['x-ratelimit-limit'] === undefined) tellRates(gateway, trace)
  const headers = withOwn({ ...answer.headers, ...trace.headers }, gateway, trace, dialect)
  const response = new Response(body, { status, headers })
  if (cookies !== undefined) for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  // The log line of a stream is written when the stream has ended, with its cost.
  const isOver = trace.over === true || (body instanceof Uint8Array && trace.background !== true)
  if (isOver) endAnswered(gateway, call, status)
  else trace.onEnded = () => endAnswered(gateway, call, status)
  // In the background the request ends without its call.
  if (trace.background === true)
    if (body instanceof Uint8Array) call.connection.ended()
    else trace.onRead = () => call.connection.ended()
  return response
}

const endAnswered = (gateway: Gateway, { trace, connection }: RoutedCall, status: number): void => {
  letGo(gateway.capacity, trace.taken)
  endCall(gateway, trace, status)
  // In the background the request itself has its own end.
  if (trace.background !== true) connection.ended()
}

const respondRefusal = (
  gateway: Gateway,
  trace: Trace,
  thrown: unknown,
  style: Style | undefined,
): Response => {
  if (thrown instanceof CallerGone) {
    trace.ended = 'client_gone'
    endCall(gateway, trace, 499)
    return new Response(null, { status: 499 })
  }
  if (thrown instanceof HelperRefusal) return respondHelperRefusal(gateway, trace, thrown)
  const refusal = refusalFor(gateway, trace, thrown)
  endRefused(gateway, trace, refusal)
  const body =
    style?.helper === true
      ? helperBody(refusal, trace.callId)
      : callerDialects[style?.dialect ?? 'chat'].refusal(refusal, trace.callId)
  return new Response(JSON.stringify(body), {
    status: refusal.status,
    headers: withOwn(
      {
        'content-type': 'application/json',
        ...helpFor(refusal.code),
        ...refusal.headers,
        ...trace.headers,
      },
      gateway,
      trace,
      style?.dialect,
    ),
  })
}

const respondHelperRefusal = (gateway: Gateway, trace: Trace, refusal: HelperRefusal): Response => {
  const { error, retryAfter, status } = refusal
  trace.ended = error
  endCall(gateway, trace, status)
  const own = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const headers = withOwn({ ...helpFor('helpers'), ...own, ...trace.headers }, gateway, trace)
  return Response.json(refusal.body(trace.callId), { status, headers })
}

/** A request was refused. */
export const endRefused = (gateway: Gateway, trace: Trace, refusal: Refusal): void => {
  trace.ended = refusal.code
  trace.refusal = refusal
  endCall(gateway, trace, refusal.status)
}

/** A request has ended: it is counted and gets its log line. */
export const endCall = (gateway: Gateway, trace: Trace, status: number): void => {
  const { clock, watch } = gateway
  const nowMs = clock.monotonicMs()
  if (watch.traces !== undefined) endSpan(gateway, watch.traces, trace, { status, nowMs })
  const { usage } = trace
  gateway.log.call({
    call: trace.callId,
    method: trace.method,
    path: trace.path,
    key: trace.keyId,
    tags: trace.tags,
    guardrails: trace.guardrails,
    model: trace.model,
    vendor: trace.vendor,
    status,
    ended: trace.ended,
    attempts: trace.attempts,
    input_tokens: usage === undefined ? undefined : inputTokens(usage),
    output_tokens: usage === undefined ? undefined : outputTokens(usage),
    charged: trace.charged,
    first_byte_ms: trace.firstByteMs,
    took_ms: nowMs - trace.startedMs,
  })
  // Last, because the caller waits for the lines above too.
  watch.meters?.called(trace, status, clock.monotonicMs())
  if (usage === undefined) noteFailed(gateway, trace, status, nowMs)
}
