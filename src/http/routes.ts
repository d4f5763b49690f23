/** The route table: every address this server answers, on one page. The API reference is generated from it. */

import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Trace } from '../gateway/trace.ts'
import { getKeyUsage, putKeyLimits } from './key-limits.ts'
import { chatCompletions, embeddings, idempotentRun, run } from './model-calls.ts'
import { getModel, listModels } from './models.ts'
import { getStatus } from './status.ts'
import { getUsage } from './usage.ts'

/** One request on its way through a handler. */
export type HttpCall = {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly trace: Trace
}

export type Handler = (gateway: Gateway, call: HttpCall) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Segments that begin with a colon are parameters; a last segment `*name` takes the rest of the path. */
  readonly path: string
  readonly summary: string
  readonly auth: 'bearer' | 'none'
  /** Names of the schemas in docs of the request body and the answer. */
  readonly body?: string
  readonly answer: string
  /** Headers the request may carry beside the credential. */
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  readonly handler: Handler
}

const callHeaders = ['X-Max-Cost-Usd', 'Idempotency-Key', 'X-Payment-Protocol'] as const

export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'A chat completion, whole or as a stream.',
    auth: 'bearer',
    body: 'ChatRequest',
    answer: 'ChatCompletion',
    headers: callHeaders,
    handler: chatCompletions,
  },
  {
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'Embeddings of one or more inputs.',
    auth: 'bearer',
    body: 'EmbeddingsRequest',
    answer: 'Embeddings',
    headers: callHeaders,
    handler: embeddings,
  },
  {
    method: 'POST',
    path: '/v1/run',
    summary: 'Runs any model: its name and its inputs.',
    auth: 'bearer',
    body: 'RunRequest',
    answer: 'RunAnswer',
    headers: callHeaders,
    handler: run,
  },
  {
    method: 'POST',
    path: '/api/idempotent-run',
    summary: 'The same as /v1/run, with an Idempotency-Key that must be there.',
    auth: 'bearer',
    body: 'RunRequest',
    answer: 'RunAnswer',
    headers: callHeaders,
    handler: idempotentRun,
  },
  {
    method: 'GET',
    path: '/v1/models',
    summary: 'The models this key can use, with their prices.',
    auth: 'bearer',
    answer: 'ModelList',
    handler: listModels,
  },
  {
    method: 'GET',
    path: '/v1/models/*id',
    summary: 'One model.',
    auth: 'bearer',
    answer: 'Model',
    handler: getModel,
  },
  {
    method: 'GET',
    path: '/v1/usage',
    summary: 'What this key used: totals and rows.',
    auth: 'bearer',
    answer: 'Usage',
    query: ['from', 'to', 'group_by'],
    handler: getUsage,
  },
  {
    method: 'PUT',
    path: '/v1/key/wholesale/:token/limits',
    summary: 'Changes the limits of a key: `me`, or a child by its id or its token.',
    auth: 'bearer',
    body: 'Limits',
    answer: 'LimitsAnswer',
    handler: putKeyLimits,
  },
  {
    method: 'GET',
    path: '/v1/key/wholesale/:token/usage',
    summary: 'Limits and spending of a key: `me`, or a child by its id or its token.',
    auth: 'bearer',
    answer: 'KeyUsage',
    handler: getKeyUsage,
  },
  {
    method: 'GET',
    path: '/api/status',
    summary: 'Health of the service and its parts; always 200.',
    auth: 'none',
    answer: 'Status',
    handler: getStatus,
  },
]
