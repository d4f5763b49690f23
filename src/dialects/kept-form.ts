/**
 * How a dialect whose requests name earlier answers writes those that are kept: their names, their members, and the
 * events of those that are made in the background.
 */
import type { Json, JsonObject } from '../core/json-body.ts'
import type { KeptAnswer } from './bill-members.ts'

/** What a queued answer is made from. */
type Queued = {
  readonly callId: string
  /** Seconds since 1970. */
  readonly created: number
  readonly modelName: string
  readonly request: JsonObject
  readonly kept: KeptAnswer
}

export type KeptForm = {
  /** The member of a request that names the answer before it. */
  readonly previous: 'previous_response_id' | 'previous_interaction_id'
  /** Whether requests may name conversations too. */
  readonly conversations: boolean
  /** The member with what the model said. */
  readonly output: 'output' | 'steps'
  /** The query of a read that names the event after which a stream goes on. */
  readonly after: 'starting_after' | 'last_event_id'
  /** What its callers call it. */
  readonly noun: 'response' | 'interaction'
  /** Whether an id is that of an answer of this form. */
  names(id: string): boolean
  /** The id of the answer to a call. */
  idOf(callId: string): string
  /** The input of a request, one by one. */
  itemsOf(input: Json | undefined): readonly Json[]
  queued(asked: Queued): JsonObject
  /** An answer under the name that its caller knows; `head` is how it began. */
  named(answer: JsonObject, head: JsonObject): JsonObject
  /** Whether it was made in the background, so that it may be stopped. */
  isLater(answer: JsonObject): boolean
  /** What is said of one that was deleted. */
  forgotten(id: string): JsonObject
  /** The events with which its stream begins. */
  begun(queued: JsonObject): readonly JsonObject[]
  begins(event: JsonObject): boolean
  /** The answer in an event that says that it failed. */
  failedIn(event: JsonObject): JsonObject | undefined
  /** What became of one that has no answer. */
  unmade(head: JsonObject, status: 'failed' | 'cancelled', error: JsonObject | null): JsonObject
  /** The event that ends a stream without an answer. */
  ended(unmade: JsonObject): JsonObject
  /** An event with its number. */
  numbered(event: JsonObject, number: number): JsonObject
  eventName(event: JsonObject): string
}
