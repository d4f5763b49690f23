/**
 * Bodies and answers of the addresses that call models. Dialects read the bodies; these schemas only describe them in
 * the reference.
 */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'
import { chatRequest as chatForm } from '../../dialects/chat/request.ts'
import { geminiRequest as geminiForm } from '../../dialects/gemini/request.ts'
import { interactionsRequest as interactionsForm } from '../../dialects/interactions/request.ts'
import { messagesRequest as messagesForm } from '../../dialects/messages/request.ts'
import { embeddingsRequest as embeddingsForm } from '../../dialects/request/embeddings.ts'
import { responsesRequest as responsesForm } from '../../dialects/responses/request.ts'
import { runForms } from '../../dialects/run-inputs.ts'
import { mediaRun, runShown } from './media.ts'

const some = z.looseObject({})

/** A body that its dialect describes and reads. */
export const readByDialect = (id: string, { schema }: { readonly schema?: object }) =>
  z.unknown().meta({ ...schema, id })

/** What Turnpike adds to an answer's usage. */
export const bill = {
  cost: z.number().describe('USD').optional(),
  cost_details: z
    .record(z.string(), z.number())
    .describe('USD by usage class; `not_charged`, negative, is what a vendor reported beyond the hold')
    .optional(),
  estimated: z.boolean().describe('Turnpike counted, because the vendor did not').optional(),
  max_tokens_lowered: z.int().describe('The bound that was affordable, in place of a larger one').optional(),
}
/** The last members of a whole answer, present if they are known. */
export const balance = {
  _balance_warning: z.boolean().optional(),
  _remaining_credits: z.number().optional(),
}
const usage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int().optional(),
  total_tokens: z.int().optional(),
  ...bill,
})

export const chatRequest = readByDialect('ChatRequest', chatForm)

const finish = z.string().nullable()

/** Members that only the vendor knows are passed on unchanged. */
export const chatCompletion = namedLoose('ChatCompletion', {
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().describe('Seconds since 1970'),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable().optional() }),
      finish_reason: finish,
    }),
  ),
  usage,
  ...balance,
})

export const chatChunk = namedLoose('ChatCompletionChunk', {
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), delta: some, finish_reason: finish.optional() })),
  usage: usage.nullable().optional(),
  ...balance,
  receipt: z.string().optional(),
})

export const messagesRequest = readByDialect('MessagesRequest', messagesForm)

export const message = namedLoose('Message', {
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullable(),
  stop_sequence: z.string().nullable().optional(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), ...bill }),
  ...balance,
})

/** Events of a stream: `message_start`, `content_block_delta`, … */
export const messageEvent = namedLoose('MessageEvent', { type: z.string() })

export const tokenCount = namedObject('TokenCount', { input_tokens: z.int() })

export const inputTokens = namedObject('InputTokens', {
  object: z.literal('response.input_tokens'),
  input_tokens: z.int(),
})

export const responsesRequest = readByDialect('ResponsesRequest', responsesForm)

export const response = namedLoose('Response', {
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  model: z.string(),
  status: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), ...bill }).nullable(),
  ...balance,
})

export const compactedResponse = namedObject('CompactedResponse', {
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: z.number(),
  output: z.array(z.looseObject({ type: z.string() })).describe("The user's messages, then one `compaction`"),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), ...bill }),
  ...balance,
})

/** Events of a stream: `response.created`, `response.output_text.delta`, … */
export const responseEvent = namedLoose('ResponseEvent', {
  type: z.string(),
  sequence_number: z.int().optional(),
})

export const deletedResponse = namedObject('DeletedResponse', {
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
})

export const item = namedLoose('Item', { id: z.string(), type: z.string() })

export const itemList = namedObject('ItemList', {
  object: z.literal('list'),
  data: z.array(item),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

export const generateContentRequest = readByDialect('GenerateContentRequest', geminiForm)

export const generateContentResponse = namedLoose('GenerateContentResponse', {
  candidates: z.array(some).optional(),
  usageMetadata: z.looseObject(bill).optional(),
  modelVersion: z.string().optional(),
  responseId: z.string().optional(),
  ...balance,
})

const generateContentCount = namedObject('GenerateContentCount', {
  totalTokens: z.int(),
  promptTokensDetails: z.array(z.object({ modality: z.string(), tokenCount: z.int() })),
})

const predictions = namedObject('Predictions', {
  predictions: z.array(z.object({ mimeType: z.string(), bytesBase64Encoded: z.string() })),
  usage: z.looseObject(bill),
  ...balance,
})

const operation = namedLoose('PredictOperation', {
  name: z.string(),
  done: z.boolean(),
  error: z.object({ code: z.int(), message: z.string() }).optional(),
  response: z
    .object({ videos: z.array(z.object({ gcsUri: z.string(), mimeType: z.string() })) })
    .describe('Addresses of films, which are signed and need no key')
    .optional(),
})

const embedded = z.object({ values: z.array(z.number()) })
const embeddedUsage = z.looseObject({ promptTokenCount: z.int(), totalTokenCount: z.int(), ...bill })

export const contentEmbedding = namedObject('ContentEmbedding', {
  embedding: embedded,
  usageMetadata: embeddedUsage,
  ...balance,
})

export const contentEmbeddings = namedObject('ContentEmbeddings', {
  embeddings: z.array(embedded),
  usageMetadata: embeddedUsage,
  ...balance,
})

/** By the method in the path; a stream without `alt=sse` is one list. */
export const generateContentAnswer = z
  .union([
    generateContentCount,
    z.array(generateContentResponse),
    predictions,
    operation,
    contentEmbedding,
    contentEmbeddings,
    generateContentResponse,
  ])
  .meta({ id: 'GenerateContentAnswer' })

export const interactionsRequest = readByDialect('InteractionsRequest', interactionsForm)

export const interaction = namedLoose('Interaction', {
  id: z.string(),
  object: z.literal('interaction').optional(),
  status: z.string(),
  model: z.string().optional(),
  steps: z.array(z.looseObject({ type: z.string() })),
  usage: z
    .looseObject({ total_input_tokens: z.int(), total_output_tokens: z.int().optional(), ...bill })
    .optional(),
  ...balance,
})

export const interactionEvent = namedLoose('InteractionEvent', { event_type: z.string(), ...balance })

export const nothing = namedObject('Nothing', {})

export const embeddingsRequest = readByDialect('EmbeddingsRequest', embeddingsForm)

export const embeddingsAnswer = namedLoose('Embeddings', {
  object: z.literal('list'),
  data: z.array(
    z.looseObject({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage,
  ...balance,
})

export const streamFrame = namedObject('StreamFrame', {
  id: z.union([z.string(), z.number()]).nullable().describe('Of the message it answers'),
  type: z.enum(['chunk', 'done', 'error', 'goaway']),
  chunk: some.describe('An event of a streamed chat completion').optional(),
  error: some.optional(),
  canceled: z.boolean().optional(),
})

export const runRequest = namedObject('RunRequest', {
  model: z.string(),
  inputs: some.describe('What the model takes: the body of an endpoint of its kind without the model.'),
  form: z
    .enum([...new Set([...runForms.chat, ...runForms.embeddings])])
    .describe(
      'For chat and embeddings models: the form of the inputs and of the answer. Without it `contents`, `content` or `requests` state generate_content, and all other inputs chat_completions or embeddings',
    )
    .optional(),
  webhook: z
    .object({ url: z.string().describe('https') })
    .describe('For a job: where its end is reported, signed like alerts of wallets')
    .optional(),
})

export const runAnswer = z
  .union([
    chatCompletion,
    message,
    generateContentResponse,
    embeddingsAnswer,
    contentEmbedding,
    contentEmbeddings,
    mediaRun,
    runShown,
  ])
  .meta({
    id: 'RunAnswer',
    description: 'The body of the endpoint whose form the inputs have, or the results of a product.',
  })
