/**
 * The port while a start waits for its database: probes learn that the process lives and takes no calls yet, so that
 * nobody ends it for its silence, and callers learn when to try again.
 */
import { unavailable } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import { callerDialects } from '../../dialects/index.ts'
import { helpFor } from '../answer/after-turn.ts'
import { splitUrl } from '../route/router.ts'
import { bind } from './bind.ts'
import { type Tls, tlsOptions } from './edge.ts'

type EarlyAddress = {
  readonly hostname: string
  readonly port: number
  readonly shared: boolean
  readonly tls: Tls | undefined
}

type Early = {
  /** Listens, if it does not yet. Throws if the port is taken. */
  begin(): void
  /** Frees the port for the server itself. */
  stop(): Promise<void>
}

/** Answers on the port from `begin` until `stop`. */
export const listenEarly = ({ hostname, port, shared, tls }: EarlyAddress): Early => {
  let server: Bun.Server<undefined> | undefined
  return {
    begin: () => {
      server ??= bind({ hostname, port, settings: 'HOST, PORT' }, () =>
        Bun.serve({
          hostname,
          port,
          reusePort: shared,
          ...tlsOptions(tls),
          // Else the runtime refuses a large one itself, with no body and another status.
          maxRequestBodySize: Number.MAX_SAFE_INTEGER,
          fetch: answerEarly,
        }),
      )
    },
    stop: async () => {
      await server?.stop(true)
      server = undefined
    },
  }
}

const WAITING = 'The server starts, and waits for its database.'

const answerEarly = (request: Request): Response => {
  const { path } = splitUrl(request.url)
  if (path === '/livez') return Response.json({ status: 'ok' })
  if (path === '/readyz') return Response.json({ status: 'out_of_touch', error: WAITING }, { status: 503 })
  const refusal = unavailable(WAITING)
  const id = newId()
  return Response.json(callerDialects.chat.refusal(refusal, id), {
    status: refusal.status,
    headers: { 'x-request-id': id, ...helpFor(refusal.code), ...refusal.headers },
  })
}
