/** The route table: every address this server answers, on one page. The API reference is generated from it. */
import { accountRoutes } from './account-routes.ts'
import { assetRoutes } from './asset-routes.ts'
import { callHeaders } from './call-headers.ts'
import { consoleRoutes } from './console-routes.ts'
import { countMessagesTokens } from './count-tokens.ts'
import { fileRoutes } from './file-routes.ts'
import { fundingRoutes } from './funding-routes.ts'
import { geminiCall, getGeminiModel, listGeminiModels, publisherCall } from './gemini-calls.ts'
import { forgetKeptResponse, getKeptResponse } from './kept-responses.ts'
import { keyRoutes } from './key-routes.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { mediaRoutes } from './media-routes.ts'
import { chatCompletions, embeddings, idempotentRun, messages, responses, run } from './model-calls.ts'
import { getModel, listModels } from './models.ts'
import { needsUpgrade } from './needs-upgrade.ts'
import { productRoutes } from './product-routes.ts'
import { getJwks, getReceipt, verifyReceipt } from './receipts.ts'
import { referenceRoutes } from './reference-routes.ts'
import type { Route } from './route.ts'
import { runRoutes } from './run-routes.ts'
import {
  chatChunk,
  chatCompletion,
  chatRequest,
  deletedResponse,
  embeddingsAnswer,
  embeddingsRequest,
  generateContentAnswer,
  generateContentRequest,
  generateContentResponse,
  message,
  messageEvent,
  messagesRequest,
  response,
  responseEvent,
  responsesRequest,
  runAnswer,
  runRequest,
  streamFrame,
  tokenCount,
} from './schema/calls.ts'
import { noKeyOrPayment, paymentRequired } from './schema/errors.ts'
import { usageReport } from './schema/keys.ts'
import { anyModel, anyModelList, generateContentModel, generateContentModels } from './schema/models.ts'
import { keySet, receipt, receiptToVerify, receiptVerdict, wrongReceipt } from './schema/receipts.ts'
import { statusRoutes } from './status-routes.ts'
import { getUsage, usageQuery } from './usage.ts'
import { withBody } from './with-body.ts'

export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'A chat completion, whole or as a stream.',
    auth: 'bearer',
    body: chatRequest,
    answer: chatCompletion,
    event: chatChunk,
    instead: paymentRequired,
    headers: callHeaders,
    runs: true,
    handler: chatCompletions,
  },
  {
    method: 'POST',
    path: '/v1/messages',
    summary: 'A message in the messages style, whole or as a stream.',
    auth: 'bearer',
    dialect: 'messages',
    body: messagesRequest,
    answer: message,
    event: messageEvent,
    instead: paymentRequired,
    headers: [...callHeaders, 'x-api-key', 'anthropic-beta'],
    runs: true,
    handler: messages,
  },
  {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'How many tokens an input has; free.',
    auth: 'bearer',
    dialect: 'messages',
    body: messagesRequest,
    answer: tokenCount,
    headers: ['x-api-key'],
    handler: countMessagesTokens,
  },
  {
    method: 'POST',
    path: '/v1/responses',
    summary: 'A response in the responses style, whole or as a stream; kept only if RESPONSES_STORE says so.',
    auth: 'bearer',
    body: responsesRequest,
    answer: response,
    event: responseEvent,
    instead: paymentRequired,
    headers: callHeaders,
    runs: true,
    handler: responses,
  },
  {
    method: 'GET',
    path: '/v1/responses/:id',
    summary: 'A response that this key asked to keep.',
    auth: 'bearer',
    answer: response,
    handler: getKeptResponse,
  },
  {
    method: 'DELETE',
    path: '/v1/responses/:id',
    summary: 'Forgets a response that this key asked to keep.',
    auth: 'bearer',
    answer: deletedResponse,
    handler: forgetKeptResponse,
  },
  ...[
    ...['/v1beta/models/*rest', '/v1beta/*rest', '/v1/models/*rest'].map(
      (path) => [path, geminiCall] as const,
    ),
    ...['/v1beta1/publishers/*rest', '/v1/publishers/*rest'].map((path) => [path, publisherCall] as const),
  ].map(
    ([path, handler]): Route => ({
      method: 'POST',
      path,
      summary:
        'The generate-content style: `<model>:generateContent`, `:streamGenerateContent`, `:countTokens`; for embeddings `:embedContent`, `:batchEmbedContents`; for models that make images and films also `:predict`, `:predictLongRunning`, `:fetchPredictOperation`.',
      auth: 'bearer',
      dialect: 'gemini',
      body: generateContentRequest,
      answer: generateContentAnswer,
      event: generateContentResponse,
      instead: paymentRequired,
      headers: [...callHeaders, 'x-goog-api-key'],
      query: ['alt', 'key'],
      handler,
    }),
  ),
  {
    method: 'GET',
    path: '/v1beta/models',
    summary: 'The chat and embeddings models this key can use, in the generate-content style.',
    auth: 'bearer',
    dialect: 'gemini',
    answer: generateContentModels,
    headers: ['x-goog-api-key'],
    query: ['key'],
    handler: listGeminiModels,
  },
  {
    method: 'GET',
    path: '/v1beta/models/*rest',
    summary: 'One model, in the generate-content style.',
    auth: 'bearer',
    dialect: 'gemini',
    answer: generateContentModel,
    headers: ['x-goog-api-key'],
    query: ['key'],
    handler: getGeminiModel,
  },
  {
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'Embeddings of one or more inputs.',
    auth: 'bearer',
    body: embeddingsRequest,
    answer: embeddingsAnswer,
    instead: paymentRequired,
    headers: callHeaders,
    runs: true,
    handler: embeddings,
  },
  {
    method: 'POST',
    path: '/v1/run',
    summary: 'Runs any model: its name and its inputs.',
    auth: 'bearer',
    body: runRequest,
    answer: runAnswer,
    event: chatChunk,
    instead: paymentRequired,
    statuses: [200, 202],
    headers: [...callHeaders, 'Prefer'],
    runs: true,
    handler: run,
  },
  ...runRoutes,
  ...mediaRoutes,
  ...assetRoutes,
  ...fileRoutes,
  ...productRoutes,
  {
    method: 'POST',
    path: '/api/idempotent-run',
    summary: 'The same as /v1/run, but an Idempotency-Key is required.',
    auth: 'bearer',
    body: runRequest,
    answer: runAnswer,
    event: chatChunk,
    instead: noKeyOrPayment,
    statuses: [200, 202],
    headers: [...callHeaders, 'Prefer'],
    runs: true,
    handler: idempotentRun,
  },
  {
    method: 'GET',
    path: '/v1/stream',
    summary: 'A WebSocket: chat requests as messages, answers as frames; 426 without an upgrade.',
    auth: 'bearer',
    answer: streamFrame,
    statuses: [101],
    headers: ['X-Max-Cost-Usd', 'Idempotency-Key', 'X-Sub-Wallet', 'X-Payment-Protocol'],
    handler: needsUpgrade,
  },
  {
    method: 'GET',
    path: '/v1/models',
    summary: 'The models this key can use, with their prices; needs no key if x402 is taken.',
    auth: 'bearer',
    answer: anyModelList,
    handler: listModels,
  },
  {
    method: 'GET',
    path: '/v1/models/*rest',
    summary: 'One model.',
    auth: 'bearer',
    answer: anyModel,
    handler: getModel,
  },
  {
    method: 'GET',
    path: '/v1/usage',
    summary:
      'What this key and all below it used: totals and rows; with `own=true` only its own calls. `from` is included and `to` is not; days are in UTC.',
    auth: 'bearer',
    answer: usageReport,
    query: usageQuery,
    handler: getUsage,
  },
  ...keyRoutes,
  ...fundingRoutes,
  {
    method: 'GET',
    path: '/v1/receipts/:id',
    summary: 'The receipt of a call by its request id, for its key or one above it; kept 90 days.',
    auth: 'bearer',
    answer: receipt,
    handler: getReceipt,
  },
  withBody({
    method: 'POST',
    path: '/api/receipts/verify',
    summary: 'Whether a receipt is valid; always 200.',
    auth: 'bearer',
    helper: true,
    body: receiptToVerify,
    otherwise: wrongReceipt,
    answer: receiptVerdict,
    handler: verifyReceipt,
  }),
  {
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'The public keys of receipts.',
    auth: 'none',
    answer: keySet,
    handler: getJwks,
  },
  ...statusRoutes,
  ...accountRoutes,
  ...mcpRoutes(() => routes),
  ...consoleRoutes,
  ...referenceRoutes(() => routes),
]
