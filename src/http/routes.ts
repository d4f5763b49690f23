/** The route table: every address this server answers, on one page. The API reference is generated from it. */

import { accountActRoutes } from './account/account-acts.ts'
import { accountRoutes } from './account/account-routes.ts'
import { adminRoutes } from './account/admin.ts'
import { configRoutes } from './account/config.ts'
import { controlRoutes } from './account/control.ts'
import { fundingRoutes } from './account/funding-routes.ts'
import { payerRoutes } from './account/payer.ts'
import { receiptLogRoutes } from './account/receipt-log.ts'
import { getJwks } from './account/receipts.ts'
import { scimRoutes } from './account/scim.ts'
import { agentRoutes } from './agents/agent-routes.ts'
import { batchRoutes } from './batches/batch-routes.ts'
import { geminiBatchRoutes } from './batches/gemini-batch-routes.ts'
import { callRoute } from './calls/call-route.ts'
import { conversationRoutes } from './calls/conversation-routes.ts'
import { countMessagesTokens } from './calls/count-tokens.ts'
import { geminiCall, getGeminiModel, listGeminiModels, publisherCall } from './calls/gemini-calls.ts'
import { interactionsRoutes } from './calls/interactions-routes.ts'
import { mediaRoutes } from './calls/media-routes.ts'
import { chatCompletions, embeddings, idempotentRun, messages, run } from './calls/model-calls.ts'
import { getCohereModel, getModel, listCohereModels, listModels } from './calls/models.ts'
import { ollamaRoutes } from './calls/ollama-routes.ts'
import { responsesRoutes } from './calls/responses-routes.ts'
import { runRoutes } from './calls/run-routes.ts'
import { smallRoutes } from './calls/small-routes.ts'
import { videoRoutes } from './calls/video-routes.ts'
import { assetRoutes } from './files/asset-routes.ts'
import { fileRoutes } from './files/file-routes.ts'
import { googleFileRoutes } from './files/google-file-routes.ts'
import { uploadRoutes } from './files/upload-routes.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import { statusRoutes } from './operate/status-routes.ts'
import { consoleRoutes } from './pages/console-routes.ts'
import { productRoutes } from './pages/product-routes.ts'
import { referenceRoutes } from './pages/reference-routes.ts'
import { callHeaders } from './request/call-headers.ts'
import { needsUpgrade } from './request/needs-upgrade.ts'
import { alsoOfMessages, at, byKey, type Route } from './route/route.ts'
import {
  chatChunk,
  chatCompletion,
  chatRequest,
  embeddingsAnswer,
  embeddingsRequest,
  generateContentAnswer,
  generateContentRequest,
  generateContentResponse,
  message,
  messageEvent,
  messagesRequest,
  runAnswer,
  runRequest,
  streamFrame,
  tokenCount,
} from './schema/calls.ts'
import { noKeyOrPayment, paymentRequired } from './schema/errors.ts'
import {
  anyModel,
  anyModelList,
  cohereModel,
  cohereModels,
  generateContentModel,
  generateContentModels,
} from './schema/models.ts'
import { keySet } from './schema/receipts.ts'

const geminiModels: Route = {
  ...byKey('GET /v1beta/models'),
  summary: 'The chat and embeddings models this key can use, in the generate-content style.',
  dialect: 'gemini',
  answer: generateContentModels,
  headers: ['x-goog-api-key'],
  query: ['key', 'pageSize', 'pageToken'],
  handler: listGeminiModels,
}
const geminiModel: Route = {
  ...byKey('GET /v1beta/models/*rest'),
  summary: 'One model, in the generate-content style.',
  dialect: 'gemini',
  answer: generateContentModel,
  headers: ['x-goog-api-key'],
  query: ['key'],
  handler: getGeminiModel,
}

const modelsOfCohere: Route = {
  ...byKey('GET /v1/models'),
  summary: "The models that Cohere's clients can call, in the style of those.",
  dialect: 'cohere',
  answer: cohereModels,
  query: ['page_size', 'page_token', 'endpoint', 'default_only'],
  handler: listCohereModels,
}
const modelOfCohere: Route = {
  ...byKey('GET /v1/models/*rest'),
  summary: "One model, in the style of Cohere's clients.",
  dialect: 'cohere',
  answer: cohereModel,
  handler: getCohereModel,
}

export const routes: readonly Route[] = [
  {
    ...callRoute,
    path: '/v1/chat/completions',
    summary: 'A chat completion, whole or as a stream.',
    body: chatRequest,
    answer: chatCompletion,
    event: chatChunk,
    handler: chatCompletions,
  },
  {
    ...callRoute,
    path: '/v1/messages',
    summary: 'A message in the messages style, whole or as a stream.',
    dialect: 'messages',
    body: messagesRequest,
    answer: message,
    event: messageEvent,
    headers: [...callHeaders, 'x-api-key', 'anthropic-beta'],
    handler: messages,
  },
  {
    ...byKey('POST /v1/messages/count_tokens'),
    summary: 'How many tokens an input has; free.',
    dialect: 'messages',
    body: messagesRequest,
    answer: tokenCount,
    headers: ['x-api-key'],
    handler: countMessagesTokens,
  },
  ...responsesRoutes,
  ...conversationRoutes,
  ...interactionsRoutes,
  ...geminiBatchRoutes,
  ...googleFileRoutes,
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
        'The generate-content style: `<model>:generateContent`, `:streamGenerateContent`, `:countTokens`, `:batchGenerateContent`; for embeddings `:embedContent`, `:batchEmbedContents`; for models that make images and films also `:predict`, `:predictLongRunning`, `:fetchPredictOperation`.',
      auth: 'bearer',
      dialect: 'gemini',
      body: generateContentRequest,
      answer: generateContentAnswer,
      event: generateContentResponse,
      instead: paymentRequired,
      headers: [...callHeaders, 'x-goog-api-key'],
      runs: true,
      query: ['alt', 'key'],
      handler,
    }),
  ),
  geminiModels,
  geminiModel,
  {
    ...callRoute,
    path: '/v1/embeddings',
    summary: 'Embeddings of one or more inputs.',
    body: embeddingsRequest,
    answer: embeddingsAnswer,
    handler: embeddings,
  },
  {
    ...callRoute,
    path: '/v1/run',
    summary: 'Runs any model: its name and its inputs.',
    body: runRequest,
    answer: runAnswer,
    event: chatChunk,
    statuses: [200, 202],
    headers: [...callHeaders, 'Prefer'],
    handler: run,
  },
  ...runRoutes,
  ...mediaRoutes,
  ...videoRoutes,
  ...smallRoutes,
  ...ollamaRoutes,
  ...assetRoutes,
  ...fileRoutes,
  ...uploadRoutes,
  ...batchRoutes,
  ...productRoutes,
  {
    ...byKey('POST /api/idempotent-run'),
    summary: 'The same as /v1/run, but an Idempotency-Key is required.',
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
    ...byKey('GET /v1/stream'),
    summary: 'A WebSocket: chat requests as messages, answers as frames; 426 without an upgrade.',
    answer: streamFrame,
    statuses: [101],
    headers: ['X-Max-Cost-Usd', 'Idempotency-Key', 'X-Sub-Wallet', 'X-Payment-Protocol'],
    handler: needsUpgrade,
  },
  alsoOfMessages({
    ...byKey('GET /v1/models'),
    summary: 'The models this key can use, with their prices; needs no key if x402 is taken.',
    answer: anyModelList,
    query: ['require'],
    google: geminiModels,
    cohere: modelsOfCohere,
    handler: listModels,
  }),
  alsoOfMessages({
    ...byKey('GET /v1/models/*rest'),
    summary: 'One model.',
    answer: anyModel,
    google: geminiModel,
    cohere: modelOfCohere,
    handler: getModel,
  }),
  ...controlRoutes,
  ...adminRoutes,
  ...scimRoutes,
  ...fundingRoutes,
  {
    ...at('GET /.well-known/jwks.json'),
    summary: 'The public keys of receipts.',
    auth: 'none',
    answer: keySet,
    handler: getJwks,
  },
  ...receiptLogRoutes,
  ...payerRoutes,
  ...statusRoutes,
  ...configRoutes,
  ...accountActRoutes,
  ...accountRoutes,
  ...agentRoutes,
  ...mcpRoutes(() => routes),
  ...consoleRoutes,
  ...referenceRoutes(() => routes),
]
