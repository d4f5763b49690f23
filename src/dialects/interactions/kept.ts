/** Interactions that are kept. Source of the format: npm @google/genai 3.3.0, `Interaction`, `InteractionSSEEvent`. */
import { isObject, type Json } from '../../core/json-body.ts'
import type { KeptForm } from '../kept-form.ts'
import { listOf, objectsOf } from '../request/json-members.ts'
import { interactionIdOf, isInteractionId } from './names.ts'
import { interactionObject, keptMembers } from './reply.ts'
import { contentTypes } from './request.ts'

/** The input of a request as steps: a text, or contents, are what the user says. */
export const itemsOf = (input: Json | undefined): readonly Json[] => {
  const said = (content: readonly Json[]): readonly Json[] => [{ type: 'user_input', content }]
  if (typeof input === 'string') return said([{ type: 'text', text: input }])
  const items = isObject(input) ? [input] : listOf(input)
  return objectsOf([...items]).some(({ type }) => contentTypes.has(type)) ? said(items) : items
}

export const interactionForm: KeptForm = {
  previous: 'previous_interaction_id',
  conversations: false,
  output: 'steps',
  after: 'last_event_id',
  noun: 'interaction',
  names: isInteractionId,
  idOf: interactionIdOf,
  itemsOf,
  queued: ({ callId, created, modelName, kept }) => ({
    ...interactionObject({ requestId: callId, created }, { model: modelName, status: 'queued' }, []),
    ...keptMembers(kept),
  }),
  named: (interaction, { id, created }) => ({ ...interaction, id: id ?? null, created: created ?? null }),
  isLater: () => true,
  forgotten: () => ({}),
  begun: (interaction) => [{ event_type: 'interaction.created', interaction }],
  begins: ({ event_type }) => event_type === 'interaction.created',
  failedIn: ({ interaction }) =>
    isObject(interaction) && interaction.status === 'failed' ? interaction : undefined,
  unmade: (head, status, error) => ({ ...head, status, ...(error === null ? {} : { errors: [error] }) }),
  ended: (interaction) => ({ event_type: 'interaction.completed', interaction }),
  numbered: (event, number) => ({ ...event, event_id: String(number) }),
  eventName: ({ event_type }) => String(event_type),
}
