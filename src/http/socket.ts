/**
 * WebSocket /v1/stream: chat requests as messages, answers as frames, several at once on one socket. Each request is an
 * ordinary call: admitted, held, metered and settled like one over HTTP.
 */
import { unknownSubWallet } from '../admission/caller.ts'
import { type JsonObject, readJsonBody } from '../core/json-body.ts'
import { must, Refusal, refusalBody, refuse } from '../core/refusal.ts'
import { scanJson } from '../core/scan-json.ts'
import { decodeChatCall } from '../dialects/chat/call.ts'
import type { Answer } from '../gateway/answer.ts'
import { CallerGone } from '../gateway/attempt.ts'
import { enter, letGo, takeBytes, takeSocket } from '../gateway/capacity.ts'
import type { Gateway, Present } from '../gateway/gateway.ts'
import { whoCalls } from '../gateway/incoming.ts'
import { runCall } from '../gateway/run-call.ts'
import { newTrace, type Trace } from '../gateway/trace.ts'
import { endCall } from './app.ts'
import { checkHost, readHeaders } from './headers.ts'
import { openSockets } from './open-sockets.ts'
import { refusalFor } from './refusal-for.ts'
import { splitUrl } from './router.ts'
import { relay, type Socket, type SocketData, type SocketId, send } from './socket-frames.ts'
import { termsOfMessage, termsOfUpgrade } from './socket-terms.ts'

const REQUESTS_MAX = 32
const PATH = '/v1/stream'
const PROTOCOL = 'turnpike.key.'
/** The close code of a socket whose terms cannot be honoured (RFC 6455, 7.4.1). */
const POLICY_VIOLATION = 1008

/** Whether a request asks to become a socket. */
export const asksForSocket = ({ headers, method, url }: Request): boolean =>
  method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket' && splitUrl(url).path === PATH

/**
 * Checks the key before the protocol changes. The key comes in `Authorization` or, from browsers, in
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
  const read = readHeaders(request.headers)
  const terms = read instanceof Refusal ? read : termsOfUpgrade(request.headers)
  const sub = terms instanceof Refusal ? undefined : terms.subWallet
  const known = sub === undefined || (await gateway.store.subWallets.subWallet(key, sub)) !== undefined
  takeSocket(gateway.capacity, key.id)
  return {
    authorization,
    keyId: key.id,
    terms: known ? terms : unknownSubWallet(),
    running: new Map(),
    drained: undefined,
    leaving: false,
  }
}

const newTraceOf = (gateway: Gateway) => {
  const trace = newTrace(gateway.newCallId(), gateway.clock.monotonicMs())
  trace.endpoint = '/v1/stream'
  return trace
}

/** The answer to a refused upgrade. */
export const refusedSocket = (gateway: Gateway, thrown: unknown): Response => {
  const trace = newTraceOf(gateway)
  const refusal = refusalFor(gateway, trace, thrown)
  trace.ended = refusal.code
  endCall(gateway, trace, refusal.status)
  return Response.json(refusalBody(refusal, trace.callId), {
    status: refusal.status,
    headers: { ...refusal.headers, 'x-request-id': trace.callId },
  })
}

const GOING_AWAY = 1001
const LEAVING = 'The server is shutting down; open another socket for new requests.'

/** Asks the client to open its next socket elsewhere, and closes this one once its requests have ended. */
export const goAway = (socket: Socket): void => {
  socket.data.leaving = true
  socket.send(JSON.stringify({ id: null, type: 'goaway', reason: LEAVING }))
  if (socket.data.running.size === 0) sayGoodbye(socket)
}

const sayGoodbye = (socket: Socket): void => socket.close(GOING_AWAY, LEAVING)

/** The handlers of the runtime's socket server; they keep the open sockets in `all`. */
export const socketHandlers = (present: Present, all = new Set<Socket>()) => {
  const { gateway } = present
  const sockets = openSockets(gateway)
  return {
    open: (socket: Socket) => {
      all.add(socket)
      if (gateway.capacity.draining) goAway(socket)
      const { terms } = socket.data
      if (!(terms instanceof Refusal)) return sockets.opened(socket)
      const trace = newTraceOf(gateway)
      trace.ended = terms.code
      endCall(gateway, trace, terms.status)
      socket.send(JSON.stringify({ id: null, type: 'error', ...refusalBody(terms, trace.callId) }))
      socket.close(POLICY_VIOLATION, terms.code)
    },
    message: (socket: Socket, message: string | Uint8Array) => {
      const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message
      void take(present.gateway, socket, bytes)
    },
    drain: (socket: Socket) => {
      socket.data.drained?.resolve()
      socket.data.drained = undefined
    },
    close: (socket: Socket) => {
      all.delete(socket)
      gateway.capacity.sockets.giveBack(socket.data.keyId, 1)
      sockets.closed(socket)
      for (const controller of socket.data.running.values()) controller.abort()
      socket.data.drained?.resolve()
    },
  }
}

/** The object in a message; it and its bytes are counted before it is parsed. Throws the Refusal. */
const readMessage = (gateway: Gateway, trace: Trace, bytes: Uint8Array): JsonObject => {
  const scan = scanJson(bytes)
  takeBytes(gateway.capacity, trace, bytes.length + scan.weight)
  const read = readJsonBody(bytes, scan)
  if (!(read instanceof Refusal)) return read.value
  throw scan.over === undefined ? refuse('invalid_json', 'A message must be a JSON object.') : read
}

const take = async (gateway: Gateway, socket: Socket, bytes: Uint8Array): Promise<void> => {
  const trace = newTraceOf(gateway)
  trace.owner = socket.data.keyId
  try {
    await answerFrame(gateway, socket, readMessage(gateway, trace, bytes), trace)
  } catch (refusal) {
    await tellRefused(gateway, socket, null, { trace, refusal: refusalFor(gateway, trace, refusal) })
  } finally {
    letGo(gateway.capacity, trace)
  }
}

type Refused = { readonly trace: Trace; readonly refusal: Refusal }

const tellRefused = async (
  gateway: Gateway,
  socket: Socket,
  id: SocketId,
  { trace, refusal }: Refused,
): Promise<void> => {
  trace.ended = refusal.code
  endCall(gateway, trace, refusal.status)
  await send(gateway, socket, { id, type: 'error', ...refusalBody(refusal, trace.callId) })
}

const answerFrame = async (
  gateway: Gateway,
  socket: Socket,
  value: JsonObject,
  trace: Trace,
): Promise<void> => {
  const { running } = socket.data
  const given = value.id
  const id: SocketId = typeof given === 'string' || typeof given === 'number' ? given : null
  const name = JSON.stringify(id)
  if (value.type === 'cancel') {
    running.get(name)?.abort()
    return
  }
  const refused = (refusal: Refusal) => tellRefused(gateway, socket, id, { trace, refusal })
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
    endCall(gateway, trace, answer.status)
  } catch (thrown) {
    if (thrown instanceof CallerGone) await send(gateway, socket, { id, type: 'done', canceled: true })
    else await refused(refusalFor(gateway, trace, thrown))
  } finally {
    running.delete(name)
    if (socket.data.leaving && running.size === 0) sayGoodbye(socket)
  }
}

type MessageRun = { readonly trace: ReturnType<typeof newTrace>; readonly signal: AbortSignal }

/** Runs the message as a streamed call that shows its usage; members of the frame itself are removed. */
const answerMessage = async (
  gateway: Gateway,
  socket: Socket,
  message: JsonObject,
  { trace, signal }: MessageRun,
): Promise<Answer> => {
  const { terms, request } = must(termsOfMessage(message, must(socket.data.terms)))
  const { id: _id, type: _type, ...rest } = request
  const body = { ...rest, stream: true, stream_options: { include_usage: true } }
  enter(gateway.capacity, gateway.options.openCallsMax, socket.data.authorization ?? '', trace)
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
        takeBytes(gateway.capacity, trace, bytes.length)
        return bytes
      },
      signal,
    },
    trace,
  )
}
