/** The parts of the lists of models in the API reference. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

const some = z.looseObject({})

const pricing = z
  .looseObject({
    unit: z.string().describe('token, or the unit of a product'),
    tiers: z.array(some),
    version: z.string(),
  })
  .describe('USD for a million tokens of each class, as exact decimal texts')

const model = namedObject('Model', {
  id: z.string(),
  object: z.literal('model'),
  type: z.literal('model'),
  created: z.int(),
  created_at: z.string().describe('The epoch: vendors do not say when'),
  display_name: z.string(),
  owned_by: z.string(),
  kind: z.enum(['chat', 'embeddings', 'media']),
  category: z.string().describe('What it makes: chat, embeddings, image, speech, utility, …'),
  cost: z
    .number()
    .describe(
      'Credits for the unit in cost_unit; this, the unit and the pricing are missing where a reseller tells no money',
    )
    .optional(),
  cost_unit: z.string().describe('Such as `credits / image`').optional(),
  pricing: pricing.optional(),
  coming: z
    .object({ from: z.string(), pricing })
    .describe('Its next price, for calls that begin from then on')
    .optional(),
  context_length: z.int(),
  max_output_tokens: z.int(),
  max_input_tokens: z.int().nullable(),
  max_tokens: z.int().nullable(),
  capabilities: z
    .array(z.string())
    .nullable()
    .describe('As in the descriptor; null for clients of messages, whose member means something else'),
  lifecycle: z.string().describe('This and the next three: for clients of messages').optional(),
  line: z.null().optional(),
  deprecated_at: z.null().optional(),
  retires_at: z.string().nullable().optional(),
  handling: z
    .object({
      zdr: z
        .enum(['yes', 'on_request', 'no', 'unknown'])
        .describe('Whether its vendor keeps nothing of calls'),
      no_training: z
        .enum(['yes', 'on_request', 'no', 'unknown'])
        .describe('Whether its vendor trains on no calls'),
      region: z.string().nullable().describe('Where its vendor processes calls; null if that is not known'),
    })
    .describe('How calls of it are handled, as conditions (X-Turnpike-Require) see it'),
  discounted: z.boolean(),
  aliases: z.array(z.string()).optional(),
  ends: z
    .string()
    .describe('The day on which the vendor ends the model; it is sold until that begins.')
    .optional(),
})

export const generateContentModel = namedObject('GenerateContentModel', {
  name: z.string(),
  version: z.string(),
  displayName: z.string(),
  inputTokenLimit: z.int(),
  outputTokenLimit: z.int(),
  supportedGenerationMethods: z.array(z.string()),
})

export const generateContentModels = namedObject('GenerateContentModels', {
  models: z.array(generateContentModel),
  nextPageToken: z.string().optional(),
})

export const cohereModel = namedObject('CohereModel', {
  name: z.string(),
  is_deprecated: z.boolean(),
  endpoints: z.array(z.enum(['chat', 'embed', 'rerank'])),
  finetuned: z.literal(false),
  context_length: z.int(),
  default_endpoints: z.array(z.string()),
})

export const cohereModels = namedObject('CohereModels', {
  models: z.array(cohereModel),
  next_page_token: z.string().optional(),
})

const list = namedObject('ModelList', {
  object: z.literal('list'),
  data: z.array(model),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})

/**
 * Clients of the generate-content style, recognised by x-goog-api-key, and those of Cohere, by X-Fern-SDK-Name, are answered in
 * their styles.
 */
export const anyModelList = z.union([list, generateContentModels, cohereModels]).meta({ id: 'AnyModelList' })
export const anyModel = z.union([model, generateContentModel, cohereModel]).meta({ id: 'AnyModel' })
