/** Responses that are kept. Source of the format: OpenAI API reference, "The response object", "Streaming events". */
import { isObject } from '../../core/json-body.ts'
import { isInteractionId } from '../interactions/names.ts'
import type { KeptForm } from '../kept-form.ts'
import { keptMembers, responseIdOf, responseObject } from './reply.ts'

export const responseForm: KeptForm = {
  previous: 'previous_response_id',
  conversations: true,
  output: 'output',
  after: 'starting_after',
  noun: 'response',
  // Vendors name responses as they like.
  names: (id) => !isInteractionId(id),
  idOf: responseIdOf,
  /** A plain text is a message of the user. */
  itemsOf: (input) =>
    typeof input === 'string'
      ? [{ type: 'message', role: 'user', content: input }]
      : Array.isArray(input)
        ? input
        : [],
  queued: ({ callId, created, modelName, request, kept }) => {
    const context = { requestId: callId, created, request }
    const state = { id: responseIdOf(callId), model: modelName, status: 'queued' } as const
    return { ...responseObject(context, state, []), ...keptMembers(kept) }
  },
  named: (response, { id, created_at }) => ({
    ...response,
    id: id ?? null,
    created_at: created_at ?? null,
    background: true,
  }),
  isLater: ({ background }) => background === true,
  forgotten: (id) => ({ id, object: 'response', deleted: true }),
  begun: (response) => ['response.created', 'response.queued'].map((type) => ({ type, response })),
  begins: ({ type }) => type === 'response.created',
  failedIn: ({ type, response }) => (type === 'response.failed' && isObject(response) ? response : undefined),
  unmade: (head, status, error) => ({ ...head, status, error }),
  ended: (response) => ({ type: 'response.failed', response }),
  numbered: (event, number) => ({ ...event, sequence_number: number }),
  eventName: ({ type }) => String(type),
}
