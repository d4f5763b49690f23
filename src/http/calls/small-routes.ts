/** The addresses of two small dialects: completions of a text, and Cohere's. */
import { decodeCohereCall } from '../../dialects/cohere/call.ts'
import { decodeCompletionsCall } from '../../dialects/completions/call.ts'
import { decodeCohereEmbed } from '../../dialects/small-embeddings.ts'
import type { Route } from '../route/route.ts'
import {
  cohereAnswer,
  cohereEmbeddings,
  cohereEmbedRequest,
  cohereEvent,
  cohereRequest,
  completion,
  completionChunk,
  completionsRequest,
} from '../schema/small-calls.ts'
import { callRoute } from './call-route.ts'
import { endpoint } from './model-calls.ts'

export const smallRoutes: readonly Route[] = [
  {
    ...callRoute,
    path: '/v1/completions',
    summary: 'Goes on from a text, whole or as a stream: the older form of chat completions.',
    body: completionsRequest,
    answer: completion,
    event: completionChunk,
    handler: endpoint({ name: 'completions', decode: decodeCompletionsCall }),
  },
  {
    ...callRoute,
    path: '/v2/chat',
    summary: "A chat in the style of Cohere's clients, whole or as a stream.",
    dialect: 'cohere',
    body: cohereRequest,
    answer: cohereAnswer,
    event: cohereEvent,
    handler: endpoint({ name: 'cohere', decode: decodeCohereCall }),
  },
  {
    ...callRoute,
    path: '/v2/embed',
    summary: "Embeddings in the style of Cohere's clients.",
    dialect: 'cohere',
    body: cohereEmbedRequest,
    answer: cohereEmbeddings,
    handler: endpoint({ name: 'cohere embed', decode: decodeCohereEmbed }),
  },
]
