/** Routes of batches in Gemini's form; POST <model>:batchGenerateContent, which makes one, is among those of models. */
import type { Route } from '../route/route.ts'
import { geminiBatchAnswer, geminiBatchDone, geminiBatchList } from '../schema/gemini-batches.ts'
import { cancelGeminiBatch, deleteGeminiBatch, getGeminiBatch, listGeminiBatches } from './gemini-batches.ts'

const common = { auth: 'bearer', dialect: 'gemini', headers: ['x-goog-api-key'] } as const

const listRoute = (path: string): Route => ({
  ...common,
  method: 'GET',
  path,
  summary: 'The batches that were made in the generate-content style, the newest first, without results.',
  answer: geminiBatchList,
  query: ['pageSize', 'pageToken', 'key'],
  handler: listGeminiBatches,
})

const getRoute = (path: string): Route => ({
  ...common,
  method: 'GET',
  path,
  summary: 'One batch in the generate-content style, with its results once it has ended; free.',
  answer: geminiBatchAnswer,
  query: ['key'],
  handler: getGeminiBatch,
})

/** Under /v1 these are addresses of OpenAI's form, so that only clients of Google get these. */
export const ofGoogle = { list: listRoute('/v1/batches'), get: getRoute('/v1/batches/:id') }

export const geminiBatchRoutes: readonly Route[] = [
  listRoute('/v1beta/batches'),
  getRoute('/v1beta/batches/:id'),
  ...['/v1beta/batches/:id', '/v1/batches/:id'].flatMap((path): readonly Route[] => [
    {
      ...common,
      method: 'POST',
      path,
      summary:
        '`<id>:cancel` cancels a batch of the generate-content style: requests that were sent end, others are not charged.',
      answer: geminiBatchDone,
      query: ['key'],
      handler: cancelGeminiBatch,
    },
    {
      ...common,
      method: 'DELETE',
      path,
      summary:
        'Deletes a batch of the generate-content style that has ended, with its results. Its charges stay.',
      answer: geminiBatchDone,
      query: ['key'],
      handler: deleteGeminiBatch,
    },
  ]),
]
