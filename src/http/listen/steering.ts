/**
 * Steering: input of the user that comes while a response runs on a socket. It is queued and goes on from that response: by
 * itself once the response has ended, or with the results of the tools that the response asks its client for. Source:
 * `ResponseSteerEvent` and the events of its answers in OpenAI's client library.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { conversationNamed } from '../../gateway/enter/conversation.ts'
import {
  type Capacity,
  giveBackBytes,
  newTaken,
  type Taken,
  takeBytes,
} from '../../gateway/parts/capacity.ts'

/** Input that waits for the response that goes on from another one. */
type Steer = {
  readonly id: string
  readonly previous: string
  readonly input: Json
  readonly bytes: number
}

type Target = {
  /** The request, whose settings the next response inherits. */
  readonly message: JsonObject
  readonly steers: Steer[]
}

/** Why input is not taken. */
type Why = { readonly code: string; readonly message: string }

/** What waits on a socket in all. */
const STEERS_MAX = 32

/** What a client may steer with: messages of its user. */
const parts = ['input_text', 'input_image', 'input_file']
const isUserMessage = (item: Json): boolean => {
  if (!isObject(item) || item.role !== 'user' || (item.type ?? 'message') !== 'message') return false
  if (Object.keys(item).some((name) => !['type', 'role', 'content'].includes(name))) return false
  const { content } = item
  if (typeof content === 'string') return true
  return (
    Array.isArray(content) && content.every((part) => isObject(part) && parts.includes(String(part.type)))
  )
}
const isInput = (input: Json | undefined): input is Json =>
  typeof input === 'string' || (Array.isArray(input) && input.length > 0 && input.every(isUserMessage))

/** The result that a response asks its client for, by the type of the item that asks. */
const resultOf: Readonly<Record<string, (item: JsonObject) => JsonObject>> = {
  function_call: ({ call_id, name }) => ({ type: 'function_call_output', call_id, name }),
  custom_tool_call: ({ call_id }) => ({ type: 'custom_tool_call_output', call_id }),
  computer_call: ({ call_id }) => ({ type: 'computer_call_output', call_id }),
  shell_call: ({ call_id }) => ({ type: 'shell_call_output', call_id }),
  apply_patch_call: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id }),
  mcp_approval_request: ({ id }) => ({ type: 'mcp_approval_response', approval_request_id: id }),
}

const neededBy = ({ output }: JsonObject): readonly JsonObject[] =>
  (Array.isArray(output) ? output : []).flatMap((item: Json) => {
    const asked = isObject(item) ? resultOf[String(item.type)]?.(item) : undefined
    return asked === undefined ? [] : [asked]
  })

/** The conversation that a request names. */
const insideOf = ({ conversation }: JsonObject): string | undefined => {
  const named = conversationNamed(conversation)
  return typeof named === 'string' ? named : undefined
}

/** The lane of a request in its conversation, in which others may run too. */
const placeIn = ({ stream_id: lane }: JsonObject, inside: string | undefined): string | undefined =>
  inside === undefined ? undefined : JSON.stringify([inside, lane])

/** The steering of one socket. */
export class Steering {
  readonly #capacity: Capacity
  readonly #taken: Taken
  /** Responses that run, by their ids. */
  readonly #running = new Map<string, Target>()
  /** What waits for the request that goes on from a response, by its id or its lane in its conversation. */
  readonly #waiting = new Map<string, readonly Steer[]>()
  #events = 0
  #queued = 0

  constructor(capacity: Capacity, keyId: string) {
    this.#capacity = capacity
    this.#taken = newTaken(keyId)
  }

  /** A response has begun to run. */
  begins(responseId: string, message: JsonObject): void {
    this.#running.set(responseId, { message, steers: [] })
  }

  /** Queues input for a response that runs; returns the event that says so, or why not. */
  accept(steer: JsonObject, id: string): object {
    const { type: _type, previous_response_id: target, input, ...more } = steer
    const previous = String(target)
    const running = this.#running.get(previous)
    const refused = (code: string, message: string) => this.refuse(steer, { code, message })
    if (typeof target !== 'string' || !isInput(input) || Object.keys(more).length > 0)
      return refused(
        'invalid_input',
        "Send 'previous_response_id' and 'input', a text or messages of the user, and nothing else.",
      )
    if (running === undefined)
      return refused(
        'response_not_found',
        "No response with this id runs; send the input as 'response.create'.",
      )
    if (this.#queued >= STEERS_MAX)
      return refused('too_many_pending_steers', `A socket keeps ${STEERS_MAX} inputs at most.`)
    const bytes = JSON.stringify(input).length
    takeBytes(this.#capacity, this.#taken, bytes)
    this.#queued++
    running.steers.push({ id, previous, input, bytes })
    return this.#event(running.message, 'accepted', { steer: { id, previous_response_id: previous } })
  }

  /** The event for input that is not queued. */
  refuse({ previous_response_id: target, input = [] }: JsonObject, why: Why): object {
    return this.#failed({ previous: String(target), input }, why)
  }

  /**
   * A response has ended, or its vendor broke it off. Returns the request that goes on from it with what was queued, or the
   * events that say why there is none.
   */
  ends(responseId: string, lastEvent: string): { readonly next?: JsonObject; readonly events: object[] } {
    const target = this.#running.get(responseId)
    this.#running.delete(responseId)
    if (target === undefined || target.steers.length === 0) return { events: [] }
    const { message, steers } = target
    const event = parseJson(lastEvent)
    const response = isObject(event) ? event.response : undefined
    if (!isObject(response) || response.status === 'failed') return { events: this.#lost(target) }
    const inside = insideOf(message)
    const from = placeIn(message, inside) ?? responseId
    this.#waiting.set(from, [...(this.#waiting.get(from) ?? []), ...steers])
    const needed = neededBy(response)
    // An Idempotency-Key names one answer.
    const { idempotency_key: _key, ...inherited } = message
    // A conversation has the response already.
    const goesOn = inside === undefined ? { previous_response_id: responseId } : {}
    if (needed.length === 0) return { next: { ...inherited, input: [], ...goesOn }, events: [] }
    const because = { reason: 'waiting_for_required_input', required_input: needed }
    const told = ({ id }: Steer) => ({ ...because, steer: { id, previous_response_id: responseId } })
    return { events: steers.map((steer) => this.#event(message, 'pending', told(steer))) }
  }

  /** A request ended without the end of its response: the events that give back what was queued for that. */
  breaksOff(message: JsonObject): object[] {
    const [id, target] = [...this.#running].find(([, running]) => running.message === message) ?? []
    if (id === undefined || target === undefined) return []
    this.#running.delete(id)
    return this.#lost(target)
  }

  /** A request with what was queued for the response it goes on from, before its own input. */
  commit(message: JsonObject): { readonly message: JsonObject; readonly steers: readonly Steer[] } {
    const from = placeIn(message, insideOf(message)) ?? String(message.previous_response_id)
    const steers = this.#waiting.get(from) ?? []
    if (steers.length === 0) return { message, steers }
    this.#waiting.delete(from)
    this.#forget(steers)
    const input = [
      ...steers.flatMap((one) => responseForm.itemsOf(one.input)),
      ...responseForm.itemsOf(message.input),
    ]
    return { message: { ...message, input }, steers }
  }

  /** The events that give input back to the client. */
  giveBack(steers: readonly Steer[], why: Why, of: JsonObject): object[] {
    return steers.map((steer) => this.#failed(steer, why, of))
  }

  /** Gives back all memory. */
  clear(): void {
    giveBackBytes(this.#capacity, this.#taken, this.#taken.bytes)
    this.#running.clear()
    this.#waiting.clear()
  }

  #lost({ message, steers }: Target): object[] {
    this.#forget(steers)
    return this.giveBack(steers, { code: 'response_not_active', message: 'The response failed.' }, message)
  }

  #forget(steers: readonly Steer[]): void {
    for (const { bytes } of steers) giveBackBytes(this.#capacity, this.#taken, bytes)
    this.#queued -= steers.length
  }

  #failed(
    { id, previous, input }: Pick<Steer, 'previous' | 'input'> & { readonly id?: string },
    { code, message }: Why,
    of: JsonObject = {},
  ): object {
    const error = { type: 'invalid_request_error', code, message }
    return this.#event(of, 'failed', { error, steer: { id, previous_response_id: previous, input } })
  }

  #event({ stream_id: lane }: JsonObject, kind: string, members: object): object {
    const ofLane = lane === undefined || lane === null ? {} : { stream_id: lane }
    return { type: `response.steer.${kind}`, sequence_number: this.#events++, ...members, ...ofLane }
  }
}
