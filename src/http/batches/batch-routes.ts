/** Routes of batches, in each form of API. */
import { withBody } from '../request/with-body.ts'
import { at, byKey, type Route } from '../route/route.ts'
import {
  batchAnswer,
  batchList,
  messageBatchAnswer,
  messageBatchDeleted,
  messageBatchLines,
  messageBatchList,
  newBatch,
  newMessageBatch,
} from '../schema/batches.ts'
import {
  cancelMessageBatch,
  createMessageBatch,
  deleteMessageBatch,
  getMessageBatch,
  listMessageBatches,
  messageBatchResults,
} from './anthropic-batches.ts'
import { ofGoogle } from './gemini-batch-routes.ts'
import { cancelOpenaiBatch, createOpenaiBatch, getOpenaiBatch, listOpenaiBatches } from './openai-batches.ts'

const own = ['Idempotency-Key', 'X-Sub-Wallet', 'X-Payment-Protocol']
/** What all addresses of messages have in common. */
const ofMessages = { auth: 'bearer', dialect: 'messages', headers: ['x-api-key'] } as const

export const batchRoutes: readonly Route[] = [
  withBody({
    ...byKey('POST /v1/batches'),
    summary:
      'Runs the lines of a file, each as a call with its own charge, behind all other calls. Nothing begins unless all lines are right and their money can be held.',
    body: newBatch,
    answer: batchAnswer,
    headers: own,
    handler: createOpenaiBatch,
  }),
  {
    ...byKey('GET /v1/batches'),
    summary: 'The batches of the key and of the keys below it, the newest first.',
    answer: batchList,
    query: ['after', 'limit'],
    google: ofGoogle.list,
    handler: listOpenaiBatches,
  },
  {
    ...byKey('GET /v1/batches/:id'),
    summary: 'One batch; free.',
    answer: batchAnswer,
    google: ofGoogle.get,
    handler: getOpenaiBatch,
  },
  {
    ...byKey('POST /v1/batches/:id/cancel'),
    summary: 'Asks to cancel a batch: lines that were sent end, others are not charged.',
    answer: batchAnswer,
    handler: cancelOpenaiBatch,
  },
  withBody({
    ...ofMessages,
    ...at('POST /v1/messages/batches'),
    summary: 'The same in the messages style: runs requests of which each is a body of POST /v1/messages.',
    body: newMessageBatch,
    large: true,
    answer: messageBatchAnswer,
    headers: [...own, 'x-api-key', 'anthropic-beta'],
    handler: createMessageBatch,
  }),
  {
    ...ofMessages,
    ...at('GET /v1/messages/batches'),
    summary: 'The batches that were made in the messages style, the newest first.',
    answer: messageBatchList,
    query: ['after_id', 'limit'],
    handler: listMessageBatches,
  },
  {
    ...ofMessages,
    ...at('GET /v1/messages/batches/:id'),
    summary: 'One batch in the messages style; free.',
    answer: messageBatchAnswer,
    handler: getMessageBatch,
  },
  {
    ...ofMessages,
    ...at('GET /v1/messages/batches/:id/results'),
    summary: 'The results of a batch that has ended, as JSON lines.',
    answer: messageBatchLines,
    answerType: 'application/x-jsonl',
    handler: messageBatchResults,
  },
  {
    ...ofMessages,
    ...at('POST /v1/messages/batches/:id/cancel'),
    summary: 'Cancels a batch: requests that were sent end, others are not charged.',
    answer: messageBatchAnswer,
    handler: cancelMessageBatch,
  },
  {
    ...ofMessages,
    ...at('DELETE /v1/messages/batches/:id'),
    summary: 'Deletes a batch that has ended, with its requests and results. Its charges stay.',
    answer: messageBatchDeleted,
    handler: deleteMessageBatch,
  },
]
