/** The health of the service in the API reference. */
import { z } from 'zod'
import { organisationsOf } from '../../console/schema/cells.ts'
import { email } from '../../control/read.ts'
import { namedObject, namedStrict } from '../../core/body.ts'

export const health = namedObject('Health', {
  status: z.enum(['ok', 'draining', 'out_of_touch']),
  error: z.string().optional(),
})

export const metricsText = z
  .string()
  .meta({ id: 'Metrics', description: 'The Prometheus text format, or OpenMetrics to who accepts it.' })

const check = z.object({
  status: z.enum(['ok', 'degraded']),
  latency_ms: z.number().optional(),
  error: z.string().optional(),
})

export const cellMoves = namedObject('CellMoves', {
  moves: z.array(
    z.object({
      organisation: z.string(),
      cell: z.string().optional().describe('Absent for the cell that answers'),
      number: z.int().describe('Which move of the organisation it was, counted over all cells'),
      move: z.string(),
    }),
  ),
})

export const cellPeopleBody = namedStrict('CellPeopleAsked', { email })
export const cellPeople = organisationsOf.meta({ id: 'CellPeople' })

export const status = namedObject('Status', {
  status: z.enum(['ok', 'degraded']),
  services: z.record(z.string(), check).describe('By part: api, database, ledger, vendors.<id>, …'),
})
