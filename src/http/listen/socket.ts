/**
 * Sockets: who may open one, and what becomes of it. What is spoken on it is the protocol of its address: chat requests
 * on /v1/stream, responses on /v1/responses.
 */
import { unknownSubWallet } from '../../admission/caller.ts'
import { PASSED_BY } from '../../cells/pass.ts'
import { Refusal, refusalBody } from '../../core/refusal.ts'
import { refusalFor } from '../../gateway/answer/refusal-for.ts'
import { whoCalls } from '../../gateway/enter/incoming.ts'
import { takeSocket } from '../../gateway/parts/capacity.ts'
import type { Gateway, Present } from '../../gateway/parts/gateway.ts'
import type { From } from '../../gateway/parts/trace.ts'
import { endRefused } from '../app.ts'
import { openSockets } from '../request/open-sockets.ts'
import { termsOfUpgrade } from '../request/socket-terms.ts'
import { checkHost, readHeaders } from '../route/headers.ts'
import { splitUrl } from '../route/router.ts'
import { responsesProtocol } from './responses-messages.ts'
import {
  closeWhenIdle,
  newSocketData,
  newTraceOf,
  type Protocol,
  type Socket,
  type SocketData,
} from './socket-frames.ts'
import { streamProtocol } from './stream-messages.ts'

const protocols: readonly Protocol[] = [streamProtocol, responsesProtocol]
const KEY_PROTOCOL = 'turnpike.key.'
/** The close code of a socket whose terms cannot be honoured (RFC 6455, 7.4.1). */
const POLICY_VIOLATION = 1008

/** What a request wants to speak that asks to become a socket; undefined for all others. */
export const protocolFor = ({ headers, method, url }: Request): Protocol | undefined =>
  method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket'
    ? protocols.find(({ path }) => path === splitUrl(url).path)
    : undefined

/** What the calls on a socket ask of the headers of its upgrade. */
const fromUpgrade = ['x-forwarded-for', 'x-session-id', PASSED_BY]

/**
 * Checks the key before the protocol changes. The key comes in `Authorization` or, from browsers, in
 * `Sec-WebSocket-Protocol: turnpike.key.<key>`. Throws the Refusal.
 */
export const admitSocket = async (
  gateway: Gateway,
  request: Request,
  protocol: Protocol,
  peer: string | undefined,
): Promise<SocketData> => {
  const wrong = checkHost(request.headers)
  if (wrong) throw wrong
  const offered = (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((one) => one.trim())
  const token = offered.find((one) => one.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length)
  const authorization =
    request.headers.get('authorization') ?? (token === undefined ? null : `Bearer ${token}`)
  // The request itself is gone once the protocol has changed.
  const kept = new Headers()
  for (const name of fromUpgrade) {
    const value = request.headers.get(name)
    if (value !== null) kept.set(name, value)
  }
  const from: From = { request: { headers: kept }, peer: () => peer }
  const key = await whoCalls(gateway, authorization, newTraceOf(gateway, protocol, from))
  const read = readHeaders(request.headers)
  const terms = read instanceof Refusal ? read : termsOfUpgrade(request.headers)
  const sub = terms instanceof Refusal ? undefined : terms.subWallet
  const known = sub === undefined || (await gateway.store.subWallets.serving(key, sub)) !== undefined
  takeSocket(gateway.capacity, key.id)
  return newSocketData(gateway, {
    protocol,
    authorization,
    from,
    terms: known ? terms : unknownSubWallet(),
    keyId: key.id,
  })
}

/** The answer to a refused upgrade. */
export const refusedSocket = (gateway: Gateway, protocol: Protocol, thrown: unknown): Response => {
  const trace = newTraceOf(gateway, protocol)
  const refusal = refusalFor(gateway, trace, thrown)
  endRefused(gateway, trace, refusal)
  return Response.json(refusalBody(refusal, trace.callId), {
    status: refusal.status,
    headers: { ...refusal.headers, 'x-request-id': trace.callId },
  })
}

/** Asks the client to open its next socket elsewhere, and closes this one once its requests have ended. */
export const goAway = (socket: Socket): void => {
  socket.data.leaving = true
  const { protocol } = socket.data
  if (protocol.goAway !== undefined) socket.send(JSON.stringify(protocol.goAway))
  closeWhenIdle(socket)
}

/** The handlers of the runtime's socket server; they keep the open sockets in `all`. */
export const socketHandlers = (present: Present, all = new Set<Socket>()) => {
  const { gateway } = present
  const sockets = openSockets(gateway)
  return {
    open: (socket: Socket) => {
      all.add(socket)
      if (gateway.capacity.draining) goAway(socket)
      const { terms, protocol } = socket.data
      if (!(terms instanceof Refusal)) return sockets.opened(socket)
      const trace = newTraceOf(gateway, protocol)
      endRefused(gateway, trace, terms)
      socket.send(JSON.stringify(protocol.refused(terms, trace.callId)))
      socket.close(POLICY_VIOLATION, terms.code)
    },
    message: (socket: Socket, message: string | Uint8Array) => {
      const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message
      void socket.data.protocol.take(present.gateway, socket, bytes)
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
      gateway.memory.vendorSockets.leave(socket.data.memory)
      socket.data.memory.clear()
      socket.data.steering.clear()
      socket.data.drained?.resolve()
    },
  }
}
