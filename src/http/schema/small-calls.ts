/** Bodies and answers of the dialects that are read as chat completions: completions of a text, Cohere's, Ollama's. */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'
import { cohereRequest as cohereForm } from '../../dialects/cohere/request.ts'
import { completionsRequest as completionsForm } from '../../dialects/completions/call.ts'
import {
  ollamaChatRequest as chatForm,
  ollamaGenerateRequest as generateForm,
} from '../../dialects/ollama/request.ts'
import {
  cohereEmbedRequest as cohereEmbedForm,
  ollamaEmbeddingsRequest as olderEmbedForm,
  ollamaEmbedRequest as ollamaEmbedForm,
} from '../../dialects/small-embeddings.ts'
import { balance, bill, readByDialect } from './calls.ts'

export const completionsRequest = readByDialect('CompletionsRequest', completionsForm)

const completionChoices = z.array(
  z.looseObject({ index: z.int(), text: z.string(), finish_reason: z.string().nullable() }),
)
const head = { id: z.string(), object: z.literal('text_completion'), created: z.int(), model: z.string() }
const counts = z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int(), ...bill })

export const completion = namedObject('Completion', {
  ...head,
  choices: completionChoices,
  usage: counts,
  ...balance,
})

export const completionChunk = namedObject('CompletionChunk', {
  ...head,
  choices: completionChoices,
  usage: counts.optional(),
  ...balance,
  receipt: z.string().optional(),
})

export const cohereRequest = readByDialect('CohereChatRequest', cohereForm)

export const cohereAnswer = namedObject('CohereChatAnswer', {
  id: z.string(),
  finish_reason: z.string(),
  message: z.looseObject({ role: z.literal('assistant') }),
  usage: z.looseObject({ ...bill }),
  ...balance,
})

export const cohereEvent = namedLoose('CohereChatEvent', { type: z.string() })

export const cohereEmbedRequest = readByDialect('CohereEmbedRequest', cohereEmbedForm)

export const cohereEmbeddings = namedObject('CohereEmbeddings', {
  response_type: z.literal('embeddings_by_type'),
  id: z.string(),
  texts: z.union([z.string(), z.array(z.string())]),
  embeddings: z.record(z.string(), z.array(z.union([z.string(), z.array(z.number())]))),
  meta: z.looseObject({ ...bill }),
  ...balance,
})

export const ollamaChatRequest = readByDialect('OllamaChatRequest', chatForm)
export const ollamaGenerateRequest = readByDialect('OllamaGenerateRequest', generateForm)

export const ollamaAnswer = namedLoose('OllamaAnswer', {
  model: z.string(),
  created_at: z.string(),
  done: z.boolean(),
  done_reason: z.string().optional(),
  prompt_eval_count: z.int().optional(),
  eval_count: z.int().optional(),
  ...bill,
  ...balance,
})

export const ollamaEmbedRequest = readByDialect('OllamaEmbedRequest', ollamaEmbedForm)
export const ollamaEmbeddingsRequest = readByDialect('OllamaEmbeddingsRequest', olderEmbedForm)

export const ollamaEmbeddings = namedObject('OllamaEmbeddings', {
  model: z.string().optional(),
  embeddings: z.array(z.array(z.number())).optional(),
  embedding: z.array(z.number()).describe('In the older form').optional(),
  prompt_eval_count: z.int().optional(),
  ...bill,
  ...balance,
})

const details = z.object({
  parent_model: z.string(),
  format: z.string(),
  family: z.string(),
  families: z.array(z.string()),
  parameter_size: z.string(),
  quantization_level: z.string(),
})

export const ollamaModels = namedObject('OllamaModels', {
  models: z.array(
    z.object({
      name: z.string(),
      model: z.string(),
      modified_at: z.string().describe('The epoch: vendors do not say when'),
      size: z.int(),
      digest: z.string(),
      details,
    }),
  ),
})

export const ollamaShowRequest = namedObject('OllamaShowRequest', {
  model: z.string('is required: a model of GET /api/tags'),
})

export const ollamaModel = namedObject('OllamaModel', {
  details,
  model_info: z.record(z.string(), z.union([z.string(), z.int()])),
  capabilities: z.array(z.string()),
  modified_at: z.string(),
})

export const ollamaVersion = namedObject('OllamaVersion', { version: z.string() })
