/** The server on a port: HTTP and WebSocket on one address. */
import { refuse } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { createApp } from './app.ts'
import { admitSocket, asksForSocket, refusedSocket, type SocketData, socketHandlers } from './socket.ts'

type Place = {
  readonly hostname: string
  /** 0 takes a free one. */
  readonly port: number
  /** Several processes listen on the port. */
  readonly shared: boolean
}

/** Listens until it is stopped. */
export const listen = (gateway: Gateway, place: Place) => {
  const app = createApp(gateway)
  const { bodyBytesMax } = gateway.options
  return Bun.serve<SocketData>({
    hostname: place.hostname,
    port: place.port,
    reusePort: place.shared,
    // Streams may be silent for long; the deadlines of a call are its own.
    idleTimeout: 0,
    // The runtime's own refusal has no body, id or line of log; what is read is bounded where it is read.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, server) =>
      asksForSocket(request)
        ? admitSocket(gateway, request).then(
            (data) => (server.upgrade(request, { data }) ? undefined : refusedSocket(gateway, notASocket())),
            (thrown: unknown) => refusedSocket(gateway, thrown),
          )
        : app.fetch(request, () => server.requestIP(request)?.address),
    websocket: { ...socketHandlers(gateway), maxPayloadLength: bodyBytesMax },
    error: () =>
      Response.json(
        { error: { message: 'The server failed.', type: 'server_error', code: 'internal_error' } },
        { status: 500 },
      ),
  })
}

/** The 400 of an upgrade that the runtime could not make into a socket. */
const notASocket = () => refuse('invalid_parameter', 'The request is not a valid WebSocket upgrade.')
