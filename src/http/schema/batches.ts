/** Bodies and answers of batches, in the shapes of their forms. Sources: as in forms.ts of the gateway. */
import { z } from 'zod'
import { publicHttpsUrl } from '../../core/address.ts'
import { namedObject, namedStrict, readBy, text } from '../../core/body.ts'
import { isObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { openaiEndpoints } from '../../gateway/batches/forms.ts'
import { onCaps } from '../../store/batches/batch-port.ts'

const METADATA_MAX = 16

/** What every form takes beside its own members. */
export const ownMembers = {
  on_cap: z
    .enum(onCaps, `must be one of ${onCaps.join(', ')}`)
    .optional()
    .describe(
      'If not all lines fit what the key may spend: nothing runs (refuse, the default), or as many as fit',
    ),
  webhook: readBy(
    (value) =>
      isObject(value) && Object.keys(value).length === 1 && 'url' in value
        ? publicHttpsUrl('webhook.url', value.url)
        : invalid('webhook', `'webhook' must be {"url": "https://…"}.`),
    { type: 'object', properties: { url: { type: 'string' } } },
  ).optional(),
}

const endpoint = `must be one of ${openaiEndpoints.join(', ')}`

export const newBatch = namedStrict('NewBatch', {
  input_file_id: z.string().describe('A file of POST /v1/files with the purpose batch'),
  endpoint: z.string().refine((one) => openaiEndpoints.includes(one), endpoint),
  completion_window: z.literal('24h', 'must be 24h'),
  metadata: z
    .record(z.string(), text(0, METADATA_MAX * 32, 'must be a text of at most 512 characters'))
    .refine((of) => Object.keys(of).length <= METADATA_MAX, `may have at most ${METADATA_MAX} members`)
    .nullish(),
  ...ownMembers,
})
export type NewBatchBody = z.output<typeof newBatch>

const seconds = z.int().nullable().describe('Seconds since 1970')
const batch = z.looseObject({
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.string(),
  errors: z.null(),
  input_file_id: z.string(),
  completion_window: z.literal('24h'),
  status: z.enum(['in_progress', 'cancelling', 'finalizing', 'completed', 'cancelled', 'expired']),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: z.int(),
  in_progress_at: seconds,
  expires_at: seconds,
  completed_at: seconds,
  expired_at: seconds,
  cancelling_at: seconds,
  cancelled_at: seconds,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  metadata: z.record(z.string(), z.string()).nullable(),
  usage: z.looseObject({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
  cost_usd: z.number().optional().describe('What its lines were charged so far'),
  on_cap: z.enum(onCaps),
})
export const batchAnswer = batch.meta({ id: 'Batch' })
export const batchList = namedObject('BatchList', {
  object: z.literal('list'),
  data: z.array(batch),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

export const newMessageBatch = namedStrict('NewMessageBatch', {
  requests: z
    .array(z.record(z.string(), z.json()), 'must be a list of requests')
    .min(1, 'must have at least one request')
    .describe('Each with its `custom_id` and, in `params`, the body of POST /v1/messages'),
  ...ownMembers,
})
export type NewMessageBatchBody = z.output<typeof newMessageBatch>

const time = z.string().nullable().describe('ISO 8601')
const messageBatch = z.object({
  id: z.string(),
  type: z.literal('message_batch'),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: z.object({
    processing: z.int(),
    succeeded: z.int(),
    errored: z.int(),
    canceled: z.int(),
    expired: z.int(),
  }),
  created_at: time,
  expires_at: time,
  ended_at: time,
  cancel_initiated_at: time,
  archived_at: z.null(),
  results_url: z.string().nullable(),
  cost_usd: z.number().optional().describe('What its requests were charged so far'),
  on_cap: z.enum(onCaps),
})
export const messageBatchAnswer = messageBatch.meta({ id: 'MessageBatch' })
export const messageBatchList = namedObject('MessageBatchList', {
  data: z.array(messageBatch),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})
export const messageBatchDeleted = namedObject('MessageBatchDeleted', {
  id: z.string(),
  type: z.literal('message_batch_deleted'),
})
export const messageBatchLines = z.string().meta({
  id: 'MessageBatchResults',
  description: 'JSON lines, each with the `custom_id` and the `result` of a request.',
})
