/**
 * The router of cells on a port: each request goes to a gateway of the cell that its key names. It looks nothing up, and
 * has no database.
 */
import type { Directory } from '../../cells/directory.ts'
import { pass } from '../../cells/pass.ts'
import { BEHIND_MAX, openFar, type SocketRelay } from '../../cells/pass-socket.ts'
import type { Places } from '../../cells/places.ts'
import type { AddressBlock } from '../../core/address.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import { CELL_HEADER } from '../../settings/cells.ts'
import { bind } from '../listen/bind.ts'
import { isAllowed, notAllowed, type Tls, tlsOptions } from '../listen/edge.ts'
import { refusedAnswer } from '../refused.ts'
import { splitUrl } from '../route/router.ts'
import { newGathering } from './gathered.ts'
import { RouterFigures } from './router-figures.ts'
import { whose } from './whose.ts'

type RouterPlace = {
  readonly hostname: string
  readonly port: number
  readonly tls: Tls | undefined
  /** From which addresses; empty takes all. */
  readonly allowed: readonly AddressBlock[]
  readonly trusted: readonly AddressBlock[]
  readonly connectionSeconds: number
  readonly socketBytesMax: number
  readonly socketIdleSeconds: number
}

type Router = {
  readonly port: number
  readonly figures: RouterFigures
  /** From now on new connections get this certificate; those that are open go on. */
  renew(tls: Tls): void
  /** Takes no new connections, and resolves when all that is open has ended, within this time. */
  drain(ms: number): Promise<void>
}

type Cells = { readonly directory: { readonly now: () => Directory }; readonly places: Places }

type Server = Bun.Server<SocketRelay>

const NEVER = 0

/** Listens until it is drained. */
export const listenAsRouter = ({ directory, places }: Cells, at: RouterPlace): Router => {
  const figures = new RouterFigures()
  const gathered = newGathering()
  let draining = false
  const own = (path: string): Response | undefined => {
    if (path === '/livez') return Response.json({ status: 'ok' })
    if (path !== '/readyz') return undefined
    const { cells } = directory.now()
    const away = [...cells.values()].filter((cell) => !places.has(cell)).map(({ name }) => name)
    const status = draining || away.length === cells.size ? 503 : 200
    return Response.json({ status: draining ? 'draining' : 'ok', cells_away: away }, { status })
  }
  const route = async (request: Request, server: Server): Promise<Response | undefined> => {
    const { path } = splitUrl(request.url)
    const peer = server.requestIP(request)?.address
    const now = directory.now()
    const answered = own(path) ?? gathered(path, request, { directory: now, places, peer })
    if (answered !== undefined) return answered
    const cell = must(whose(request, now, { peer, trusted: at.trusted }))
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
      return figures.count(
        cell.name,
        await pass(request, { cell, places, peer, onSend: () => server.timeout(request, NEVER) }),
      )
    let far = await openFar(request, { cell, places, peer })
    // The organisation has moved, and its keys still name the cell it came from.
    const moved = far instanceof Response && far.status === 421 ? far.headers.get(CELL_HEADER) : null
    const there = moved === null ? undefined : now.cells.get(moved)
    if (there !== undefined && there !== cell)
      far = await openFar(request, { cell: there, places, peer, by: cell.name })
    if (far instanceof Response) return figures.count(cell.name, far)
    const headers = far.protocol === '' ? {} : { 'sec-websocket-protocol': far.protocol }
    if (server.upgrade(request, { data: far, headers })) return undefined
    far.closed(1001, '')
    throw refuse('invalid_parameter', 'The request is not a valid WebSocket upgrade.')
  }
  const refused = (request: Request, thrown: unknown): Response => {
    if (!(thrown instanceof Refusal)) throw thrown
    return figures.refused(refusedAnswer(request, thrown), thrown)
  }
  const open = (port: number, tls: Tls | undefined): Server =>
    bind({ hostname: at.hostname, port, settings: 'HOST, PORT' }, () =>
      Bun.serve<SocketRelay>({
        hostname: at.hostname,
        port,
        // A certificate is renewed by a second listener on the port.
        reusePort: tls !== undefined,
        ...tlsOptions(tls),
        idleTimeout: at.connectionSeconds,
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        fetch: (request, self) =>
          at.allowed.length > 0 && !isAllowed(at.allowed, self.requestIP(request)?.address)
            ? notAllowed()
            : route(request, self).catch((thrown: unknown) => refused(request, thrown)),
        // Only a caller who has gone is no refusal.
        error: () => new Response(null, { status: 499 }),
        websocket: {
          open: (near) => near.data.open(near),
          message: (near, message) => near.data.toFar(message),
          close: (near, code, reason) => near.data.closed(code, reason),
          maxPayloadLength: at.socketBytesMax,
          // Beyond this the runtime drops what is sent, and says so to nobody.
          backpressureLimit: BEHIND_MAX,
          idleTimeout: at.socketIdleSeconds,
          sendPings: true,
        },
      }),
    )
  let server = open(at.port, at.tls)
  const servers = new Set([server])
  return {
    port: server.port ?? at.port,
    figures,
    renew: (tls) => {
      const before = server
      server = open(before.port ?? at.port, tls)
      servers.add(server)
      void before.stop().finally(() => servers.delete(before))
    },
    drain: async (ms) => {
      draining = true
      const all = [...servers]
      await Promise.race([Promise.all(all.map((one) => one.stop())), Bun.sleep(ms)])
      await Promise.all(all.map((one) => one.stop(true)))
    },
  }
}
