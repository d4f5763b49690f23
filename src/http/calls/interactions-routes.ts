/** The addresses of Google's interactions: one is made, read, stopped and deleted. */
import { decodeInteractionsCall } from '../../dialects/interactions/call.ts'
import { interactionForm } from '../../dialects/interactions/kept.ts'
import { callHeaders } from '../request/call-headers.ts'
import type { Handler, Route } from '../route/route.ts'
import { interaction, interactionEvent, interactionsRequest, nothing } from '../schema/calls.ts'
import { paymentRequired } from '../schema/errors.ts'
import { cancellingKept, forgettingKept, readingKept } from './kept-responses.ts'
import { answerCall } from './model-calls.ts'

const interactions: Handler = (gateway, call) =>
  answerCall(gateway, call, {
    name: 'interactions',
    decode: (body) => decodeInteractionsCall(body),
    credential: 'gemini',
    recalls: interactionForm,
  })

const readingQuery = ['stream', 'last_event_id', 'include_input', 'key'] as const

const shelf = { form: interactionForm, credential: 'gemini', query: readingQuery } as const

const shared = { auth: 'bearer', dialect: 'interactions', answer: interaction } as const

/** Clients name one of these versions; both are the same. */
export const interactionsRoutes: readonly Route[] = ['/v1beta/interactions', '/v1/interactions'].flatMap(
  (path): readonly Route[] => [
    {
      ...shared,
      method: 'POST',
      path,
      summary: "An answer in the style of Google's interactions, whole, as a stream or in the background.",
      body: interactionsRequest,
      event: interactionEvent,
      instead: paymentRequired,
      headers: [...callHeaders, 'x-goog-api-key'],
      query: ['key'],
      runs: true,
      handler: interactions,
    },
    {
      ...shared,
      method: 'GET',
      path: `${path}/:id`,
      summary:
        'An interaction that this key asked to keep; with `stream=true` the events of one in the background, after `last_event_id`.',
      event: interactionEvent,
      headers: ['x-goog-api-key'],
      query: readingQuery,
      handler: readingKept(shelf),
    },
    {
      ...shared,
      method: 'POST',
      path: `${path}/:id/cancel`,
      summary: 'Stops an interaction that is made in the background.',
      headers: ['x-goog-api-key'],
      query: ['key'],
      handler: cancellingKept(shelf),
    },
    {
      ...shared,
      method: 'DELETE',
      path: `${path}/:id`,
      summary: 'Forgets an interaction that this key asked to keep.',
      answer: nothing,
      headers: ['x-goog-api-key'],
      query: ['key'],
      handler: forgettingKept(shelf),
    },
  ],
)
