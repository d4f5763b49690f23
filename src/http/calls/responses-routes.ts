/** The addresses of the responses style: a response over HTTP or a socket, its tokens counted, and what is kept. */
import { needsUpgrade } from '../request/needs-upgrade.ts'
import { byKey, type Route } from '../route/route.ts'
import {
  compactedResponse,
  deletedResponse,
  inputTokens,
  itemList,
  response,
  responseEvent,
  responsesRequest,
} from '../schema/calls.ts'
import { callRoute } from './call-route.ts'
import { countResponsesTokens } from './count-tokens.ts'
import { listQuery } from './item-lists.ts'
import {
  cancelKeptResponse,
  forgetKeptResponse,
  getKeptResponse,
  listInputItems,
  readingQuery,
} from './kept-responses.ts'
import { compaction, responses } from './model-calls.ts'

export const responsesRoutes: readonly Route[] = [
  {
    ...callRoute,
    path: '/v1/responses',
    summary: 'A response in the responses style, whole or as a stream; kept only if RESPONSES_STORE says so.',
    body: responsesRequest,
    answer: response,
    event: responseEvent,
    handler: responses,
  },
  {
    ...callRoute,
    path: '/v1/responses/compact',
    summary: 'Replaces a conversation by what its user said and a sealed summary; charged as a call.',
    body: responsesRequest,
    answer: compactedResponse,
    handler: compaction,
  },
  {
    ...byKey('POST /v1/responses/input_tokens'),
    summary: 'How many tokens an input in the responses style has; free.',
    body: responsesRequest,
    answer: inputTokens,
    handler: countResponsesTokens,
  },
  {
    ...byKey('GET /v1/responses'),
    summary:
      'A WebSocket: `response.create` as messages, events of the responses style as frames; 426 without an upgrade.',
    answer: responseEvent,
    statuses: [101],
    headers: ['X-Max-Cost-Usd', 'X-Sub-Wallet', 'X-Payment-Protocol'],
    handler: needsUpgrade,
  },
  {
    ...byKey('GET /v1/responses/:id'),
    summary:
      'A response that this key asked to keep; with `stream=true` the events of one in the background, after number `starting_after`.',
    answer: response,
    event: responseEvent,
    query: readingQuery,
    handler: getKeptResponse,
  },
  {
    ...byKey('GET /v1/responses/:id/input_items'),
    summary: 'The items that were sent for a response, the last first unless `order=asc`.',
    answer: itemList,
    query: listQuery,
    handler: listInputItems,
  },
  {
    ...byKey('POST /v1/responses/:id/cancel'),
    summary: 'Stops a response that is made in the background.',
    answer: response,
    handler: cancelKeptResponse,
  },
  {
    ...byKey('DELETE /v1/responses/:id'),
    summary: 'Forgets a response that this key asked to keep.',
    answer: deletedResponse,
    handler: forgetKeptResponse,
  },
]
