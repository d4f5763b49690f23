/** Routes of runs: a job's state, its cancellation, and the address that vendors call to wake it. */
import { at, byKey, type Route } from '../route/route.ts'
import { noContent, runList, runShown } from '../schema/media.ts'
import { deleteRun, getRun, listRuns, vendorHook } from './runs.ts'

export const runRoutes: readonly Route[] = [
  {
    ...byKey('GET /v1/run'),
    summary:
      'The jobs of the key, the newest first, without their results; those after the run that `after` names.',
    answer: runList,
    query: ['status', 'limit', 'after'],
    handler: listRuns,
  },
  {
    ...byKey('GET /v1/run/:id'),
    summary:
      'The state of a job of the key, or of a key below it; free. Once it has delivered, its results get new addresses each time.',
    answer: runShown,
    query: ['token'],
    handler: getRun,
  },
  {
    ...byKey('DELETE /v1/run/:id'),
    summary: 'Asks to cancel a job. Its cost depends on how it ends; a job that has ended stays as it is.',
    answer: runShown,
    query: ['token'],
    handler: deleteRun,
  },
  {
    ...at('POST /hooks/:vendor/:token'),
    summary:
      'Where vendors report that a job has ended. The report is not trusted: it only makes the server poll the job sooner.',
    auth: 'none',
    answer: noContent,
    statuses: [204],
    handler: vendorHook,
  },
]
