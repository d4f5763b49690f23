/** Addresses for operators: the server's health, and its metrics. */

import type { Route } from '../route/route.ts'
import { cellMoves, health, metricsText, status } from '../schema/status.ts'
import { getCellMoves } from './cell-moves.ts'
import { getMetrics } from './metrics.ts'
import { getLive, getReady, getStatus } from './status.ts'

export const statusRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/status',
    summary: 'Health of the service and its parts; always 200.',
    auth: 'none',
    answer: status,
    handler: getStatus,
  },
  {
    method: 'GET',
    path: '/readyz',
    summary:
      'Whether to send new calls here: 503 while the process shuts down or is out of touch with the ledger.',
    auth: 'none',
    answer: health,
    instead: health,
    handler: getReady,
  },
  {
    method: 'GET',
    path: '/livez',
    summary: 'That the process answers.',
    auth: 'none',
    answer: health,
    handler: getLive,
  },
  {
    method: 'GET',
    path: '/api/cells/moves',
    summary: 'Where organisations went by their last moves, for other cells with the same TURNPIKE_SECRET.',
    auth: 'bearer',
    answer: cellMoves,
    handler: getCellMoves,
  },
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics for the operator; needs METRICS_TOKEN.',
    auth: 'bearer',
    answer: metricsText,
    answerType: 'text/plain',
    handler: getMetrics,
  },
]
