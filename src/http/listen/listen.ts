/** The server on a port: HTTP and WebSocket on one address, with a deadline for every connection. */

import type { Overload } from '../../admission/overload.ts'
import { type OtherCells, passedOn } from '../../cells/wrong-cell.ts'
import type { AddressBlock } from '../../core/address.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Present } from '../../gateway/parts/gateway.ts'
import { type Connection, createApp } from '../app.ts'
import { refusedAnswer } from '../refused.ts'
import { bind } from './bind.ts'
import { isAllowed, notAllowed, type Tls, tlsOptions } from './edge.ts'
import { admitSocket, goAway, protocolFor, refusedSocket, socketHandlers } from './socket.ts'
import type { Socket, SocketData } from './socket-frames.ts'

type ListenAddress = {
  readonly hostname: string
  /** 0 takes any free port. */
  readonly port: number
  /** Several processes listen on the port. */
  readonly shared: boolean
  readonly tls?: Tls | undefined
  /** From which addresses; undefined takes all. */
  readonly allowed?: readonly AddressBlock[] | undefined
  /** Where requests of other cells go; without it they are refused. */
  readonly others?: OtherCells | undefined
}

type Listening = {
  readonly port: number
  /** Sends callers elsewhere: answers close their connections, and sockets close once their requests have ended. */
  goAway(): void
  /** From now on new connections get this certificate; those that are open go on. */
  renew(tls: Tls): void
  /** Resolves when no request is open, within this time; what a stranger leaves half sent must not take longer. */
  answered(forMs: number): Promise<void>
  /** Ends every connection at once. */
  stop(): void
}

type Server = Pick<Bun.Server<SocketData>, 'requestIP' | 'timeout'>

const NEVER = 0
const RESTARTING = 1012
/** How long requests that are no calls of models may take to end, such as uploads, and how often we look. */
const REQUESTS_MS = 10_000
const LOOK_MS = 20

/** Listens until it is stopped. */
export const listen = (present: Present, place: ListenAddress): Listening => {
  // What is used of it here is the same in every later gateway.
  const { gateway } = present
  const app = createApp(present)
  const { socketBytesMax, socketIdleSeconds, connectionSeconds } = gateway.options
  const sockets = new Set<Socket>()
  const watch = watchTurns({
    clock: gateway.clock,
    overloadMs: gateway.options.overloadMs,
    queuedMs: () => gateway.book.health().oldestQueuedMs,
    overload: gateway.capacity.overload,
  })
  const { hostname, allowed, others } = place
  const open = (port: number, tls: Tls | undefined) =>
    bind({ hostname, port, settings: 'HOST, PORT' }, () =>
      Bun.serve<SocketData>({
        hostname,
        port,
        // A certificate is renewed by a second listener on the port.
        reusePort: place.shared || tls !== undefined,
        ...tlsOptions(tls),
        idleTimeout: connectionSeconds,
        // The runtime's own refusal has no body, id or log line, so we turn its limit off and limit bodies where they are
        // read.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        fetch: (request, server) => {
          if (allowed !== undefined && !isAllowed(allowed, server.requestIP(request)?.address))
            return notAllowed()
          const startedMs = gateway.clock.monotonicMs()
          watch(startedMs)
          const away = app.turnAway(request)
          if (away !== undefined) return away
          const protocol = protocolFor(request)
          if (protocol !== undefined)
            return admitSocket(present.gateway, request, protocol, server.requestIP(request)?.address).then(
              (data) => {
                if (server.upgrade(request, { data })) return undefined
                gateway.capacity.sockets.giveBack(data.keyId, 1)
                return refusedSocket(gateway, protocol, notASocket())
              },
              (thrown: unknown) => refusedSocket(gateway, protocol, thrown),
            )
          // While a call runs its own deadlines apply: its vendor may be silent for longer than idle connections may.
          server.timeout(request, NEVER)
          const connection = new Served(server, request, connectionSeconds)
          const answer = app.fetch(request, connection, startedMs)
          return others === undefined ? answer : answer.then(orOther(others, request, connection))
        },
        websocket: {
          ...socketHandlers(present, sockets),
          maxPayloadLength: socketBytesMax,
          idleTimeout: socketIdleSeconds,
          sendPings: true,
        },
        error: () =>
          Response.json(
            { error: { message: 'The server failed.', type: 'server_error', code: 'internal_error' } },
            { status: 500 },
          ),
      }),
    )
  let server = open(place.port, place.tls)
  const servers = new Set([server])
  return {
    port: server.port ?? place.port,
    renew: (tls) => {
      const before = server
      server = open(before.port ?? place.port, tls)
      servers.add(server)
      void before.stop().finally(() => servers.delete(before))
    },
    goAway: () => {
      gateway.capacity.draining = true
      for (const socket of sockets) goAway(socket)
    },
    answered: async (forMs) => {
      const { clock } = gateway
      const until = clock.monotonicMs() + Math.min(forMs, REQUESTS_MS)
      const pending = () => [...servers].some(({ pendingRequests }) => pendingRequests > 0)
      while (pending() && clock.monotonicMs() < until) await clock.sleep(LOOK_MS)
    },
    stop: () => {
      for (const socket of sockets) socket.close(RESTARTING, 'The server is shutting down.')
      for (const one of servers) void one.stop(true)
    },
  }
}

/** The answer of another cell, where the request is that one's. */
const orOther = (others: OtherCells, request: Request, connection: Connection) => (answer: Response) =>
  passedOn(others, { request, answer, peer: connection.peer() })?.catch((thrown: unknown) => {
    if (thrown instanceof Refusal) return refusedAnswer(request, thrown)
    throw thrown
  }) ?? answer

/** The connection of a request to this server. */
class Served implements Connection {
  readonly #server: Server
  readonly #request: Request
  readonly #seconds: number

  constructor(server: Server, request: Request, seconds: number) {
    this.#server = server
    this.#request = request
    this.#seconds = seconds
  }

  peer(): string | undefined {
    return this.#server.requestIP(this.#request)?.address
  }

  /** From now on the deadline of idle connections applies again. */
  ended(): void {
    this.#server.timeout(this.#request, this.#seconds)
  }
}

/** The 400 for an upgrade that the runtime could not turn into a socket. */
const notASocket = () => refuse('invalid_parameter', 'The request is not a valid WebSocket upgrade.')

/** Shorter turns are measured at most this often, longer ones every time. */
const PAUSE_MS = 10
/** The ledger is late when a write has waited this long. */
const QUEUED_MS = 200

type Watched = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'turn'>
  /** How long a turn may take; with 0 the process is never late. */
  readonly overloadMs: number
  /** How long the oldest write has been waiting for the ledger. */
  readonly queuedMs: () => number
  readonly overload: Pick<Overload, 'note'>
}

/**
 * Call it with the time when a request arrives: it measures the rest of this turn, or the next one if that is longer, and then every
 * turn for as long as they are long.
 */
export const watchTurns = ({ clock, overloadMs, queuedMs, overload }: Watched): ((nowMs: number) => void) => {
  let watching = false
  let notedMs = clock.monotonicMs()
  const turn = async (): Promise<number> => {
    const startedMs = clock.monotonicMs()
    await clock.turn()
    return clock.monotonicMs() - startedMs
  }
  const note = (turnMs: number): void => {
    const nowMs = clock.monotonicMs()
    overload.note(nowMs - notedMs, Math.max(turnMs / overloadMs, queuedMs() / QUEUED_MS))
    notedMs = nowMs
  }
  const watch = async (): Promise<void> => {
    const restMs = await turn()
    let turnMs = Math.max(restMs, await turn())
    note(turnMs)
    // Long turns are few, so sampling them would take many seconds to tell an overload from a burst.
    while (turnMs >= PAUSE_MS) {
      turnMs = await turn()
      note(turnMs)
    }
    watching = false
  }
  if (overloadMs === 0) return () => undefined
  return (nowMs) => {
    if (watching || nowMs - notedMs < PAUSE_MS) return
    watching = true
    void watch()
  }
}
