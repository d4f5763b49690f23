/** Bodies and answers of batches in Gemini's form. Source: Gemini API reference, "Batch API". */
import { z } from 'zod'
import { namedObject, namedStrict, readBy, text } from '../../core/body.ts'
import { isObject } from '../../core/json-body.ts'
import { refuse } from '../../core/refusal.ts'
import { camelCase } from '../../dialects/request/spelling.ts'
import { ownMembers } from './batches.ts'

/** Members may be spelled with underscores too. */
const spelled = <T extends z.ZodType>(shape: T) =>
  z.preprocess(
    (value) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, one]) => [camelCase(name), one]))
        : value,
    shape,
  )

const fileName = readBy(
  () =>
    refuse(
      'not_offered',
      "Google's upload of files ('batch.inputConfig.fileName') is not offered here: send the requests in 'batch.inputConfig.requests', or upload lines to POST /v1/files for POST /v1/batches.",
    ),
  { type: 'string', description: 'Not offered' },
)

export const newGeminiBatch = namedStrict('NewGenerateContentBatch', {
  batch: spelled(
    z.strictObject({
      displayName: text(0, 512, 'must be a text of at most 512 characters').optional(),
      inputConfig: spelled(
        z.strictObject({
          fileName: fileName.optional(),
          requests: z.strictObject({
            requests: z
              .array(z.record(z.string(), z.json()), 'must be a list of requests')
              .min(1, 'must have at least one request')
              .describe('Each with the body of a generateContent in `request`, and its `metadata`'),
          }),
        }),
      ),
    }),
  ),
  ...ownMembers,
})

const inlined = z.object({
  inlinedResponses: z.object({
    inlinedResponses: z.array(
      z.looseObject({
        response: z.looseObject({}).optional(),
        error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
        metadata: z.looseObject({}).optional(),
      }),
    ),
  }),
})
const operation = z.object({
  name: z.string().describe('batches/…'),
  metadata: z.looseObject({
    model: z.string(),
    displayName: z.string().optional(),
    state: z.string().describe('BATCH_STATE_RUNNING, _SUCCEEDED, _CANCELLED or _EXPIRED'),
    createTime: z.string(),
    updateTime: z.string(),
    endTime: z.string().optional(),
    batchStats: z.looseObject({ requestCount: z.string() }),
    output: inlined.optional(),
    cost_usd: z.number().optional().describe('What its requests were charged so far'),
  }),
  done: z.boolean(),
  response: inlined.loose().optional(),
})
export const geminiBatchAnswer = operation.meta({ id: 'GenerateContentBatch' })
export const geminiBatchList = namedObject('GenerateContentBatchList', {
  operations: z.array(operation),
  nextPageToken: z.string().optional(),
})
export const geminiBatchDone = namedObject('GenerateContentBatchDone', {})
