/** The health of the service in the API reference. */
import { z } from 'zod'

export const health = z
  .object({ status: z.enum(['ok', 'draining', 'out_of_touch']), error: z.string().optional() })
  .meta({ id: 'Health' })

export const metricsText = z
  .string()
  .meta({ id: 'Metrics', description: 'The Prometheus text format, or OpenMetrics to who accepts it.' })

const check = z.object({
  status: z.enum(['ok', 'degraded']),
  latency_ms: z.number().optional(),
  error: z.string().optional(),
})

export const status = z
  .object({
    status: z.enum(['ok', 'degraded']),
    services: z.record(z.string(), check).describe('By part: api, database, ledger, vendors.<id>, …'),
  })
  .meta({ id: 'Status' })
