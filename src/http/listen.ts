/** The server on a port: HTTP and WebSocket on one address, with a deadline for every connection. */
import { refuse } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { createApp } from './app.ts'
import {
  admitSocket,
  asksForSocket,
  goAway,
  refusedSocket,
  type Socket,
  type SocketData,
  socketHandlers,
} from './socket.ts'

type Place = {
  readonly hostname: string
  /** 0 takes a free one. */
  readonly port: number
  /** Several processes listen on the port. */
  readonly shared: boolean
}

type Listening = {
  readonly port: number
  /** Tells callers to go elsewhere: answers close their connections, sockets end when their requests have. */
  goAway(): void
  /** Ends every connection at once. */
  stop(): void
}

/** A socket whose client answers no ping for so long is closed. */
const SOCKET_IDLE_SECONDS = 120
const NEVER = 0
const RESTARTING = 1012

/** Listens until it is stopped. */
export const listen = (gateway: Gateway, place: Place): Listening => {
  const app = createApp(gateway)
  const { bodyBytesMax, connectionSeconds } = gateway.options
  const sockets = new Set<Socket>()
  const server = Bun.serve<SocketData>({
    hostname: place.hostname,
    port: place.port,
    reusePort: place.shared,
    idleTimeout: connectionSeconds,
    // The runtime's own refusal has no body, id or line of log; what is read is bounded where it is read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, server) => {
      if (asksForSocket(request))
        return admitSocket(gateway, request).then(
          (data) => (server.upgrade(request, { data }) ? undefined : refusedSocket(gateway, notASocket())),
          (thrown: unknown) => refusedSocket(gateway, thrown),
        )
      // While a call runs its own deadlines hold: its vendor may be silent for longer than connections may.
      server.timeout(request, NEVER)
      return app.fetch(
        request,
        () => server.requestIP(request)?.address,
        () => server.timeout(request, connectionSeconds),
      )
    },
    websocket: {
      ...socketHandlers(gateway, sockets),
      maxPayloadLength: bodyBytesMax,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPings: true,
    },
    error: () =>
      Response.json(
        { error: { message: 'The server failed.', type: 'server_error', code: 'internal_error' } },
        { status: 500 },
      ),
  })
  const stopWatching = watchTurns(gateway)
  return {
    port: server.port ?? place.port,
    goAway: () => {
      gateway.doors.leaving = true
      for (const socket of sockets) goAway(socket)
    },
    stop: () => {
      stopWatching()
      for (const socket of sockets) socket.close(RESTARTING, 'The server is shutting down.')
      void server.stop(true)
    },
  }
}

const TURN_MS = 50

/** Notes how late the process is: by how much a timer is, which waits behind all other work. */
const watchTurns = ({ doors, clock, book }: Gateway): (() => void) => {
  let beforeMs = clock.monotonicMs()
  const timer = setInterval(() => {
    const nowMs = clock.monotonicMs()
    const elapsedMs = nowMs - beforeMs
    beforeMs = nowMs
    doors.overload.note(elapsedMs, Math.max(elapsedMs - TURN_MS, book.health().oldestQueuedMs / 2))
  }, TURN_MS)
  return () => clearInterval(timer)
}

/** The 400 of an upgrade that the runtime could not make into a socket. */
const notASocket = () => refuse('invalid_parameter', 'The request is not a valid WebSocket upgrade.')
