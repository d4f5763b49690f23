/** The addresses of Ollama's clients: calls, and what they read of models. */
import type { Model } from '../../core/model.ts'
import { decodeOllamaChat, decodeOllamaGenerate } from '../../dialects/ollama/call.ts'
import { decodeOllamaEmbed, decodeOllamaEmbeddings } from '../../dialects/small-embeddings.ts'
import { modelFor, modelsFor } from '../../gateway/enter/rules.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { withBody } from '../request/with-body.ts'
import { at, type Handler, type HttpCall, type Route } from '../route/route.ts'
import {
  ollamaAnswer,
  ollamaChatRequest,
  ollamaEmbeddings,
  ollamaEmbeddingsRequest,
  ollamaEmbedRequest,
  ollamaGenerateRequest,
  ollamaModel,
  ollamaModels,
  ollamaShowRequest,
  ollamaVersion,
} from '../schema/small-calls.ts'
import { callRoute } from './call-route.ts'
import { endpoint } from './model-calls.ts'

/** Models here are no files, and vendors do not say when they were made. */
const UNKNOWN_DATE = new Date(0).toISOString()

const detailsOf = ({ vendor }: Model) => ({
  parent_model: '',
  format: '',
  family: vendor,
  families: [vendor],
  parameter_size: '',
  quantization_level: '',
})

const listTags: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  const models = (await modelsFor(gateway, key)).filter(({ kind }) => kind !== 'media')
  return json({
    models: models.map((model) => ({
      name: model.id,
      model: model.id,
      modified_at: UNKNOWN_DATE,
      size: 0,
      digest: '',
      details: detailsOf(model),
    })),
  })
}

const WORDS = [
  ['function_calling', 'tools'],
  ['vision', 'vision'],
  ['reasoning', 'thinking'],
] as const

const showModel = async (
  gateway: Gateway,
  call: HttpCall,
  read: () => Promise<{ readonly model: string }>,
) => {
  const key = await callerOf(gateway, call)
  const { model: name } = await read()
  const model = await modelFor(gateway, key, { name, listing: '/api/tags' })
  const { id, kind, capabilities, contextTokens } = model
  return json({
    details: detailsOf(model),
    model_info: {
      'general.architecture': 'turnpike',
      'general.basename': id,
      'turnpike.context_length': contextTokens,
    },
    capabilities: [
      kind === 'embeddings' ? 'embedding' : 'completion',
      ...WORDS.flatMap(([ours, theirs]) => (capabilities.includes(ours) ? [theirs] : [])),
    ],
    modified_at: UNKNOWN_DATE,
  })
}

/** Clients compare it with the first version that has what they need; what is answered here is as of this one. */
const VERSION = '0.12.0'

const shared = { auth: 'bearer', dialect: 'ollama' } as const
const call = { ...callRoute, ...shared } as const

export const ollamaRoutes: readonly Route[] = [
  {
    ...call,
    path: '/api/chat',
    summary:
      "A chat in the style of Ollama's clients: a stream of lines, unless the request says `stream: false`.",
    body: ollamaChatRequest,
    answer: ollamaAnswer,
    event: ollamaAnswer,
    eventType: 'application/x-ndjson',
    handler: endpoint({ name: 'ollama chat', decode: decodeOllamaChat }),
  },
  {
    ...call,
    path: '/api/generate',
    summary: 'The same for one text.',
    body: ollamaGenerateRequest,
    answer: ollamaAnswer,
    event: ollamaAnswer,
    eventType: 'application/x-ndjson',
    handler: endpoint({ name: 'ollama generate', decode: decodeOllamaGenerate }),
  },
  {
    ...call,
    path: '/api/embed',
    summary: "Embeddings in the style of Ollama's clients.",
    body: ollamaEmbedRequest,
    answer: ollamaEmbeddings,
    handler: endpoint({ name: 'ollama embed', decode: decodeOllamaEmbed }),
  },
  {
    ...call,
    path: '/api/embeddings',
    summary: 'The same in its older form, for one text.',
    body: ollamaEmbeddingsRequest,
    answer: ollamaEmbeddings,
    handler: endpoint({ name: 'ollama embeddings', decode: decodeOllamaEmbeddings }),
  },
  {
    ...shared,
    ...at('GET /api/tags'),
    summary: "The chat and embeddings models this key can use, in the style of Ollama's clients.",
    answer: ollamaModels,
    handler: listTags,
  },
  {
    ...shared,
    ...at('GET /api/ps'),
    summary: 'The models that run on this machine: none.',
    answer: ollamaModels,
    handler: async (gateway, call) => {
      await callerOf(gateway, call)
      return json({ models: [] })
    },
  },
  withBody({
    ...shared,
    ...at('POST /api/show'),
    summary: "What a model can do, in the style of Ollama's clients.",
    body: ollamaShowRequest,
    answer: ollamaModel,
    handler: showModel,
  }),
  {
    ...shared,
    ...at('GET /api/version'),
    auth: 'none',
    summary: "The version of Ollama's interface that is answered here.",
    answer: ollamaVersion,
    handler: async () => json({ version: VERSION }),
  },
]
