/** Routes of runs: a job's state, its cancellation, and the address that vendors call to wake it. */
import type { Route } from './route.ts'
import { deleteRun, getRun, listRuns, vendorHook } from './runs.ts'
import { noContent, runList, runShown } from './schema/media.ts'

export const runRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/run',
    summary: 'The jobs of the key, the newest first, without their results.',
    auth: 'bearer',
    answer: runList,
    query: ['status', 'limit'],
    handler: listRuns,
  },
  {
    method: 'GET',
    path: '/v1/run/:id',
    summary:
      'A job of the key, or of a key below it, as it stands; free. When it has delivered, its results have new addresses each time.',
    auth: 'bearer',
    answer: runShown,
    query: ['token'],
    handler: getRun,
  },
  {
    method: 'DELETE',
    path: '/v1/run/:id',
    summary: 'Asks to cancel a job. How it ends decides what it costs; one that has ended stays as it is.',
    auth: 'bearer',
    answer: runShown,
    query: ['token'],
    handler: deleteRun,
  },
  {
    method: 'POST',
    path: '/hooks/:vendor/:token',
    summary:
      'Where vendors say that a job has ended. Nothing of it is believed: the job is asked for sooner.',
    auth: 'none',
    answer: noContent,
    statuses: [204],
    handler: vendorHook,
  },
]
