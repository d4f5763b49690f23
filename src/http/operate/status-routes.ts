/** Addresses for operators: the server's health, and its metrics. */

import { at, byKey, type Route } from '../route/route.ts'
import { cellMoves, cellPeople, cellPeopleBody, health, metricsText, status } from '../schema/status.ts'
import { getCellMoves } from './cell-moves.ts'
import { postCellPeople } from './cell-people.ts'
import { getMetrics } from './metrics.ts'
import { getLive, getReady, getStatus } from './status.ts'

export const statusRoutes: readonly Route[] = [
  {
    ...at('GET /api/status'),
    summary: 'Health of the service and its parts; always 200.',
    auth: 'none',
    answer: status,
    handler: getStatus,
  },
  {
    ...at('GET /readyz'),
    summary:
      'Whether to send new calls here: 503 while the process shuts down or is out of touch with the ledger.',
    auth: 'none',
    answer: health,
    instead: health,
    handler: getReady,
  },
  {
    ...at('GET /livez'),
    summary: 'That the process answers.',
    auth: 'none',
    answer: health,
    handler: getLive,
  },
  {
    ...byKey('GET /api/cells/moves'),
    summary: 'Where organisations went by their last moves, for other cells with the same TURNPIKE_SECRET.',
    answer: cellMoves,
    handler: getCellMoves,
  },
  {
    ...byKey('POST /api/cells/people'),
    summary: 'Of which organisations somebody is a member, for other cells with the same TURNPIKE_SECRET.',
    body: cellPeopleBody,
    answer: cellPeople,
    handler: postCellPeople,
  },
  {
    ...byKey('GET /metrics'),
    summary: 'Metrics for the operator; needs METRICS_TOKEN.',
    answer: metricsText,
    answerType: 'text/plain',
    handler: getMetrics,
  },
]
