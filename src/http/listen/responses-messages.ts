/**
 * WebSocket /v1/responses: each `response.create` is a call in the responses style, and the events of its stream come as
 * messages. A turn names the one before by `previous_response_id` and brings only what is new: the socket remembers the
 * rest. Requests of one lane (`stream_id`) run one after the other, lanes run side by side. Source: OpenAI guide
 * "WebSocket Mode"; the events are those of `ResponsesClientEvent` and `ResponsesServerEvent` of its client library.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { invalid, must, type Refusal } from '../../core/refusal.ts'
import { decodeResponsesCall } from '../../dialects/responses/call.ts'
import { responseForm } from '../../dialects/responses/kept.ts'
import { keptMembers, responseId, responseObject } from '../../dialects/responses/reply.ts'
import { responsesUsage } from '../../dialects/responses/usage.ts'
import { CallerGone } from '../../gateway/ask/attempt.ts'
import { runCall } from '../../gateway/call/run-call.ts'
import { requiring, underConditions } from '../../gateway/enter/conditions.ts'
import { type Incoming, readRequest, whoCalls } from '../../gateway/enter/incoming.ts'
import { rulesFor } from '../../gateway/enter/rules.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { enter, letGo } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import { NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import { afterTurn } from '../answer/after-turn.ts'
import { endCall } from '../app.ts'
import { termsOfMessage } from '../request/socket-terms.ts'
import { endThrown, newSocket, refusedEvent, wrappedError } from './responses-errors.ts'
import {
  asIncoming,
  closeWhenIdle,
  newMessageTrace,
  type Protocol,
  REQUESTS_MAX,
  readMessage,
  type Socket,
  send,
  sendTexts,
  tooMany,
} from './socket-frames.ts'

/** Clients open a new socket once an hour, as they must elsewhere. */
const AGE_MAX_MS = 3_600_000
const LANE = /^[\x20-\x7e]{1,64}$/

type Turn = {
  readonly gateway: Gateway
  readonly socket: Socket
  readonly message: JsonObject
  readonly lane: string | undefined
  readonly trace: Trace
}

const laneOf = ({ stream_id: lane }: JsonObject): string | undefined => {
  if (lane === undefined || lane === null) return undefined
  if (typeof lane === 'string' && LANE.test(lane)) return lane
  throw invalid('stream_id', "'stream_id' must be a text of 1 to 64 printable characters.")
}

const take = async (gateway: Gateway, socket: Socket, bytes: Uint8Array): Promise<void> => {
  const trace = newMessageTrace(gateway, socket)
  try {
    const message = readMessage(gateway, trace, bytes)
    if (message.type === 'response.steer') await steer({ gateway, socket, message, lane: undefined, trace })
    else if (message.type !== 'response.create')
      throw invalid('type', "'type' must be 'response.create' or 'response.steer'.")
    else await inLane({ gateway, socket, message, lane: laneOf(message), trace })
  } catch (thrown) {
    await tellRefused({ gateway, socket, trace, lane: undefined }, thrown)
  } finally {
    letGo(gateway.capacity, trace.taken)
  }
}

/** Queues input for a response that runs. Whatever refuses it ends no turn: an error event would. */
const steer = async ({ gateway, socket, message, trace }: Turn): Promise<void> => {
  const { authorization, steering } = socket.data
  const accepted = async () => {
    const key = await whoCalls(gateway, authorization, trace)
    await takeSmallTurn(gateway, key, trace)
    return steering.accept(message, `steer_${trace.callId.replaceAll('-', '')}`)
  }
  const event = await accepted().catch((thrown: unknown) =>
    steering.refuse(message, endThrown(gateway, trace, thrown)),
  )
  await send(gateway, socket, event)
}

/** Waits for its lane, runs, and lets the next one of the lane begin. */
const inLane = async (turn: Turn): Promise<void> => {
  const { socket, lane } = turn
  const { running, lanes } = socket.data
  if (running.size >= REQUESTS_MAX) {
    await tellRefused(turn, tooMany())
    return
  }
  const name = turn.trace.callId
  const controller = new AbortController()
  running.set(name, controller)
  const before = lanes.get(lane ?? '')
  const done = Promise.withResolvers<void>()
  lanes.set(lane ?? '', done.promise)
  try {
    await before
    let next = controller.signal.aborted ? undefined : await answerTurn(turn, controller)
    while (next !== undefined) {
      // What follows is a call of its own, with a place of its own.
      letGo(turn.gateway.capacity, turn.trace.taken)
      next = await answerNext(turn, next, controller)
    }
  } finally {
    running.delete(name)
    if (lanes.get(lane ?? '') === done.promise) lanes.delete(lane ?? '')
    done.resolve()
    closeWhenIdle(socket)
  }
}

/** Answers a request that steering makes, as a call of its own. */
const answerNext = async (
  turn: Turn,
  message: JsonObject,
  controller: AbortController,
): Promise<JsonObject | undefined> => {
  const trace = newMessageTrace(turn.gateway, turn.socket)
  try {
    return await answerTurn({ ...turn, message, trace }, controller)
  } finally {
    letGo(turn.gateway.capacity, trace.taken)
  }
}

/** Answers a request; returns the one that goes on from its response with what was queued meanwhile. */
const answerTurn = async (asked: Turn, controller: AbortController): Promise<JsonObject | undefined> => {
  const { gateway, socket, lane, trace } = asked
  const { openedMs, leaving, steering } = socket.data
  const { message, steers } = steering.commit(asked.message)
  const turn = { ...asked, message }
  const giveBack = async (why: string): Promise<void> => {
    const events = steering.giveBack(steers, { code: 'successor_creation_failed', message: why }, message)
    for (const event of events) await send(gateway, socket, event)
  }
  if (leaving || gateway.clock.monotonicMs() - openedMs > AGE_MAX_MS) {
    await giveBack(newSocket.error.message)
    await send(gateway, socket, inLaneOf(lane, newSocket))
    return undefined
  }
  try {
    const incoming = incomingOf(turn, controller.signal)
    if (message.generate === false) await warmUp(turn, incoming)
    else {
      enter(gateway.capacity, gateway.options.openCallsMax, socket.data.authorization ?? '', trace.taken)
      const answer = await runCall(gateway, incoming, trace)
      const { id, last } = await relay(turn, answer, controller)
      trace.ended ??= 'ok'
      endCall(gateway, trace, answer.status)
      const { next, events } = steering.ends(id, last)
      for (const event of events) await send(gateway, socket, event)
      return next
    }
  } catch (thrown) {
    if (thrown instanceof CallerGone) return undefined
    const refusal = await tellRefused(turn, await afterTurn(gateway, trace, thrown))
    await giveBack(refusal.message)
    for (const event of steering.breaksOff(message)) await send(gateway, socket, event)
  }
  return undefined
}

/** The message as a call: members of the socket's own are removed, and it is always a stream. */
const incomingOf = ({ gateway, socket, message, lane, trace }: Turn, signal: AbortSignal): Incoming => {
  // An Idempotency-Key of the upgrade would make all turns one.
  const defaults = { ...must(socket.data.terms), idempotencyKey: undefined }
  const { terms, request } = must(termsOfMessage(message, defaults))
  const { type: _type, stream_id: _lane, generate: _generate, ...rest } = request
  return asIncoming(
    gateway,
    socket.data,
    { terms, body: { ...rest, stream: true }, trace, signal },
    {
      endpoint: 'responses',
      decode: decodeResponsesCall,
      recalls: responseForm,
      socket: { memory: socket.data.memory, lane: lane ?? '' },
    },
  )
}

/**
 * `generate: false`: the request is read, checked and remembered, so that the next turn can name it; no vendor is asked,
 * and nothing is charged. It counts as a small request of its key.
 */
const warmUp = async (turn: Turn, incoming: Incoming): Promise<void> => {
  const { gateway, socket, lane, trace } = turn
  const key = requiring(await whoCalls(gateway, incoming.authorization, trace), incoming.requires)
  await takeSmallTurn(gateway, key, trace)
  const request = await readRequest(gateway, incoming, { key, trace, keeps: true })
  const { model, body } = request
  must(await rulesFor(gateway, key, model, trace))
  const memory = trace.conditions === NO_CONDITIONS ? request.memory : underConditions(request, trace)
  const context = {
    requestId: trace.callId,
    created: Math.floor(gateway.clock.now() / 1000),
    request: body.value,
  }
  const state = { id: responseId(context), model: model.id }
  const kept = keptMembers(memory)
  const begun = { ...responseObject(context, { ...state, status: 'in_progress' }, []), ...kept }
  const completed = { ...begun, status: 'completed', usage: responsesUsage({}) }
  await memory?.keep(JSON.stringify(completed))
  for (const [at, response] of [begun, completed].entries()) {
    const type = response === begun ? 'response.created' : 'response.completed'
    await send(gateway, socket, inLaneOf(lane, { type, sequence_number: at, response }))
  }
  trace.ended = 'ok'
  endCall(gateway, trace, 200)
}

/**
 * Sends the events of an answer as they come; a client that does not read slows the vendor down. The first one has what
 * headers tell over HTTP, such as what the vendor did not get.
 */
const relay = async (turn: Turn, answer: Answer, controller: AbortController) => {
  const { gateway, socket, message, lane, trace } = turn
  let id = ''
  let last = ''
  const splitter = eventSplitter()
  const headers = JSON.stringify({ 'x-request-id': trace.callId, ...trace.headers })
  const ofLane = lane === undefined ? '' : `"stream_id":${JSON.stringify(lane)},`
  let more = `"headers":${headers},${ofLane}`
  const pieces = answer.body instanceof Uint8Array ? [answer.body] : answer.body
  for await (const piece of pieces) {
    const texts: string[] = []
    for (const { data } of splitter.feed(piece)) {
      if (!data.startsWith('{')) continue
      if (last === '') {
        id = idIn(data)
        socket.data.steering.begins(id, message)
      }
      last = data
      const text = data.includes('"type":"error"') ? wrappedError(data) : data
      texts.push(more === '' ? text : `{${more}${text.slice(1)}`)
      more = ofLane
    }
    if (texts.length > 0 && !(await sendTexts(gateway, socket, texts))) controller.abort()
  }
  return { id, last }
}

/** The id of the response in the first event of a stream, which repeats instructions and tools: most write the id first. */
const idIn = (event: string): string =>
  /"response":\s*\{\s*"id":\s*"([^"\\]+)"/.exec(event)?.[1] ?? idRead(parseJson(event))

const idRead = (event: Json | undefined): string =>
  isObject(event) && isObject(event.response) ? String(event.response.id) : ''

/** An event with the lane that its client named. */
const inLaneOf = (lane: string | undefined, event: object): object =>
  lane === undefined ? event : { ...event, stream_id: lane }

const tellRefused = async (
  { gateway, socket, lane, trace }: Pick<Turn, 'gateway' | 'socket' | 'lane' | 'trace'>,
  thrown: unknown,
): Promise<Refusal> => {
  const refusal = endThrown(gateway, trace, thrown)
  await send(gateway, socket, inLaneOf(lane, refusedEvent(refusal, trace.callId)))
  return refusal
}

/** What is spoken on /v1/responses. */
export const responsesProtocol: Protocol = {
  path: '/v1/responses',
  take,
  refused: refusedEvent,
}
