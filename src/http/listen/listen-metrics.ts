/** Metrics on a port of their own, which callers of models cannot reach. */
import type { AddressBlock } from '../../core/address.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Present } from '../../gateway/parts/gateway.ts'
import { metricsAnswer } from '../operate/metrics.ts'
import { splitUrl } from '../route/router.ts'
import { bind } from './bind.ts'
import { isAllowed, notAllowed } from './edge.ts'

type MetricsAddress = {
  readonly hostname: string
  readonly port: number
  readonly shared: boolean
  /** Empty: from everywhere. */
  readonly allowed: readonly AddressBlock[]
}

/** The metrics of a gateway, until the returned function is called. Throws if the port is taken. */
export const listenForMetrics = (present: Present, place: MetricsAddress): (() => void) =>
  listenForFigures((accept) => metricsAnswer(present.gateway, accept), place)

/** The same with figures of any kind, by what a request accepts. */
export const listenForFigures = (
  figures: (accept: string | null) => Promise<Pick<Answer, 'body' | 'headers'>>,
  { hostname, port, shared, allowed }: MetricsAddress,
): (() => void) => {
  const server = bind({ hostname, port, settings: 'METRICS' }, () =>
    Bun.serve({
      hostname,
      port,
      reusePort: shared,
      fetch: async (request, own) => {
        if (allowed.length > 0 && !isAllowed(allowed, own.requestIP(request)?.address)) return notAllowed()
        if (request.method !== 'GET' || splitUrl(request.url).path !== '/metrics')
          return new Response('There is GET /metrics here.\n', { status: 404 })
        const { body, headers } = await figures(request.headers.get('accept'))
        return new Response(body, { headers })
      },
      error: () => new Response('The metrics cannot be had now; try again.\n', { status: 503 }),
    }),
  )
  return () => void server.stop(true)
}
