/**
 * WebSocket /v1/stream: chat requests as messages, answers as frames, several at once on one socket. Each request is an
 * ordinary call: admitted, held, metered and settled like one over HTTP.
 */
import { unknownSubWallet } from '../admission/caller.ts'
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'
import { must, Refusal, refusalBody, refuse } from '../core/refusal.ts'
import { decodeChatCall } from '../dialects/chat/call.ts'
import type { Answer } from '../gateway/answer.ts'
import { CallerGone } from '../gateway/ask-vendor.ts'
import { checkDoor, letGo, takeBytes } from '../gateway/doors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { whoCalls } from '../gateway/incoming.ts'
import { runCall } from '../gateway/run-call.ts'
import { newTrace } from '../gateway/trace.ts'
import type { KeyId } from '../tenancy/key.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import { logCall, refusalFor } from './app.ts'
import { checkHeaders, checkHost } from './headers.ts'
import { openSockets } from './open-sockets.ts'
import { splitUrl } from './path.ts'
import { type Terms, termsOfMessage, termsOfUpgrade } from './socket-terms.ts'

/** What the runtime's socket must be able to do. */
export type Socket = {
  readonly data: SocketData
  /** Bytes taken, 0 when dropped, -1 when they wait for the client to read. */
  send(text: string): number
  close(code: number, reason: string): void
}

export type SocketData = {
  readonly authorization: string | null
  /** What holds for every message that says nothing else; a Refusal closes the socket with its name. */
  readonly terms: Terms | Refusal
  readonly keyId: KeyId
  /** Running requests by the id the client gave. */
  readonly running: Map<string, AbortController>
  /** Resolves when the client has read what waits. */
  drained: PromiseWithResolvers<void> | undefined
  /** The server goes away: the socket is closed when nothing runs on it. */
  leaving: boolean
}

const REQUESTS_MAX = 32
const PATH = '/v1/stream'
const PROTOCOL = 'turnpike.key.'
/** The close code of a socket whose terms cannot be kept (RFC 6455, 7.4.1). */
const POLICY_VIOLATION = 1008

/** Whether a request asks to become a socket. */
export const asksForSocket = ({ headers, method, url }: Request): boolean =>
  headers.get('upgrade')?.toLowerCase() === 'websocket' && method === 'GET' && splitUrl(url).path === PATH

/**
 * Checks the key before the protocol changes. The key stands in `Authorization`, or, for browsers, in
 * `Sec-WebSocket-Protocol: turnpike.key.<key>`. Throws the Refusal.
 */
export const admitSocket = async (gateway: Gateway, request: Request): Promise<SocketData> => {
  const wrong = checkHost(request.headers)
  if (wrong) throw wrong
  const offered = (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((one) => one.trim())
  const token = offered.find((one) => one.startsWith(PROTOCOL))?.slice(PROTOCOL.length)
  const authorization =
    request.headers.get('authorization') ?? (token === undefined ? null : `Bearer ${token}`)
  const key = await whoCalls(gateway, authorization, newTraceOf(gateway))
  const terms = checkHeaders(request.headers) ?? termsOfUpgrade(request.headers)
  const sub = terms instanceof Refusal ? undefined : terms.subWallet
  const known = sub === undefined || (await gateway.store.subWallet(key, sub)) !== undefined
  return {
    authorization,
    keyId: key.id,
    terms: known ? terms : unknownSubWallet(),
    running: new Map(),
    drained: undefined,
    leaving: false,
  }
}

const newTraceOf = (gateway: Gateway) => newTrace(gateway.newCallId(), gateway.clock.monotonicMs())

/** The answer to a refused upgrade. */
export const refusedSocket = (gateway: Gateway, thrown: unknown): Response => {
  const trace = newTraceOf(gateway)
  const refusal = refusalFor(gateway, trace, thrown)
  trace.ended = refusal.code
  logCall(gateway, trace, refusal.status)
  return Response.json(refusalBody(refusal, trace.callId), {
    status: refusal.status,
    headers: { ...refusal.headers, 'x-request-id': trace.callId },
  })
}

const GOING_AWAY = 1001
const NOT_READ = POLICY_VIOLATION
const LEAVING = 'The server is shutting down; open another socket for new requests.'

/** Tells the client to open its next socket elsewhere, and closes this one when its requests have ended. */
export const goAway = (socket: Socket): void => {
  socket.data.leaving = true
  socket.send(JSON.stringify({ id: null, type: 'goaway', reason: LEAVING }))
  if (socket.data.running.size === 0) sayGoodbye(socket)
}

const sayGoodbye = (socket: Socket): void => socket.close(GOING_AWAY, LEAVING)

/** The handlers of the runtime's socket server; they note in `all` which are open. */
export const socketHandlers = (gateway: Gateway, all = new Set<Socket>()) => {
  const sockets = openSockets(gateway)
  return {
    open: (socket: Socket) => {
      all.add(socket)
      if (gateway.doors.leaving) goAway(socket)
      const { terms } = socket.data
      if (!(terms instanceof Refusal)) return sockets.opened(socket)
      const trace = newTraceOf(gateway)
      trace.ended = terms.code
      logCall(gateway, trace, terms.status)
      socket.send(JSON.stringify({ id: null, type: 'error', ...refusalBody(terms, trace.callId) }))
      socket.close(POLICY_VIOLATION, terms.code)
    },
    message: (socket: Socket, message: string | Uint8Array) => {
      void take(gateway, socket, typeof message === 'string' ? message : new TextDecoder().decode(message))
    },
    drain: (socket: Socket) => {
      socket.data.drained?.resolve()
      socket.data.drained = undefined
    },
    close: (socket: Socket) => {
      all.delete(socket)
      sockets.closed(socket)
      for (const controller of socket.data.running.values()) controller.abort()
      socket.data.drained?.resolve()
    },
  }
}

const take = async (gateway: Gateway, socket: Socket, text: string): Promise<void> => {
  const { running } = socket.data
  const value = parseJson(text)
  const given = isObject(value) ? value.id : undefined
  const id: SocketId = typeof given === 'string' || typeof given === 'number' ? given : null
  const name = JSON.stringify(id)
  if (isObject(value) && value.type === 'cancel') {
    running.get(name)?.abort()
    return
  }
  const trace = newTraceOf(gateway)
  const refused = async (refusal: Refusal): Promise<void> => {
    trace.ended = refusal.code
    logCall(gateway, trace, refusal.status)
    await send(gateway, socket, { id, type: 'error', ...refusalBody(refusal, trace.callId) })
  }
  if (!isObject(value)) return refused(refuse('invalid_json', 'A message must be a JSON object.'))
  if (running.has(name))
    return refused(
      refuse('invalid_parameter', "A request with this 'id' is running on this socket.", {
        members: { param: 'id' },
      }),
    )
  if (running.size >= REQUESTS_MAX)
    return refused(
      refuse('rate_limit_exceeded', `A socket may run ${REQUESTS_MAX} requests at once.`, {
        members: { retry_after: 1 },
      }),
    )
  const controller = new AbortController()
  running.set(name, controller)
  try {
    const answer = await answerMessage(gateway, socket, value, { trace, signal: controller.signal })
    await relay(gateway, socket, { id, answer, controller })
    trace.ended ??= 'ok'
    logCall(gateway, trace, answer.status)
  } catch (thrown) {
    if (thrown instanceof CallerGone) await send(gateway, socket, { id, type: 'done', canceled: true })
    else await refused(refusalFor(gateway, trace, thrown))
  } finally {
    letGo(gateway.doors, trace)
    running.delete(name)
    if (socket.data.leaving && running.size === 0) sayGoodbye(socket)
  }
}

type Run = { readonly trace: ReturnType<typeof newTrace>; readonly signal: AbortSignal }

/** Runs the message as a streamed call that shows its usage; members of the frame itself are taken off. */
const answerMessage = async (
  gateway: Gateway,
  socket: Socket,
  message: JsonObject,
  { trace, signal }: Run,
): Promise<Answer> => {
  const { terms, request } = must(termsOfMessage(message, must(socket.data.terms)))
  const { id: _id, type: _type, ...rest } = request
  const body = { ...rest, stream: true, stream_options: { include_usage: true } }
  checkDoor(gateway)
  return runCall(
    gateway,
    {
      ...terms,
      endpoint: 'stream',
      decode: decodeChatCall,
      authorization: socket.data.authorization,
      payment: undefined,
      readBody: async () => {
        const bytes = new TextEncoder().encode(JSON.stringify(body))
        takeBytes(gateway.doors, trace, bytes.length)
        return bytes
      },
      signal,
    },
    trace,
  )
}

/** Turns the events of an answer into frames; a client that does not read holds the vendor back. */
const relay = async (
  gateway: Gateway,
  socket: Socket,
  {
    id,
    answer,
    controller,
  }: { readonly id: SocketId; readonly answer: Answer; readonly controller: AbortController },
): Promise<void> => {
  const splitter = eventSplitter()
  const pieces = answer.body instanceof Uint8Array ? [answer.body] : answer.body
  let ended = false
  for await (const piece of pieces)
    for (const { data } of splitter.feed(piece)) {
      const frame = frameOf(id, data)
      if (frame === undefined) continue
      ended ||= frame.type !== 'chunk'
      if (!(await send(gateway, socket, frame))) controller.abort()
    }
  if (!ended)
    await send(gateway, socket, {
      id,
      type: 'done',
      ...(controller.signal.aborted ? { canceled: true } : {}),
    })
}

type SocketId = string | number | null

const frameOf = (id: SocketId, data: string) => {
  if (data === '') return undefined
  if (data === '[DONE]') return { id, type: 'done' as const }
  const value = parseJson(data)
  return isObject(value) && isObject(value.error)
    ? { id, type: 'error' as const, error: value.error }
    : { id, type: 'chunk' as const, chunk: value ?? null }
}

/** Sends one frame and waits while the client is behind, though not for ever; false when the socket is gone. */
const send = async (gateway: Gateway, socket: Socket, frame: object): Promise<boolean> => {
  const taken = socket.send(JSON.stringify(frame))
  if (taken === 0) return false
  if (taken > 0) return true
  socket.data.drained ??= Promise.withResolvers<void>()
  const { promise } = socket.data.drained
  const { readerMs } = gateway.options
  const late = setTimeout(() => socket.close(NOT_READ, 'The socket was not read.'), readerMs)
  // Whatever waits here goes on when the socket is closed.
  await promise
  clearTimeout(late)
  return true
}
