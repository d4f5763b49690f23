/**
 * The store's port for what people and commands did: an append-only record, written together with the change itself.
 */
import type { Json } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'

/** `house` is the server itself, where nobody asked. */
export const actorKinds = ['key', 'person', 'machine', 'command', 'house'] as const
type ActorKind = (typeof actorKinds)[number]

/** Who does something. */
export type Actor = {
  readonly kind: ActorKind
  readonly id: string
  /** A label, an e-mail address, or the name of a command. */
  readonly name: string
  /** The network address that it came from. */
  readonly address?: string
  /** An operator who acts for an organisation that is not their own. */
  readonly operator?: boolean
}

/** The server, where nobody asked it to. */
export const theHouse: Actor = { kind: 'house', id: 'house', name: 'the server' }

export type NewEvent = {
  readonly actor: Actor
  readonly orgId: string
  /** Such as `key.created`. */
  readonly what: string
  /** The id of what was changed. */
  readonly subject: string
  /** Amounts are decimal texts of USD. */
  readonly before?: Json
  readonly after?: Json
}

export type Event = NewEvent & { readonly id: string; readonly at: Instant }

export type EventQuery = {
  /** All organisations if absent. */
  readonly orgId?: string
  /** Only events of this kind about this. */
  readonly about?: Pick<NewEvent, 'what' | 'subject'>
  /** Only events before this one. */
  readonly before?: string
  readonly most: number
}

export type EventStore = {
  /**
   * Records an act that changes nothing in the store, such as a sign-in; a change of the store records its own event.
   */
  record(event: NewEvent): Promise<void>
  /** Newest first. */
  list(query: EventQuery): Promise<readonly Event[]>
}
