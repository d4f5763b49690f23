/**
 * WebSocket /v1/stream: chat requests as messages, answers as frames, several at once on one socket. Each request is an
 * ordinary call: admitted, held, metered and settled like one over HTTP.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { must, type Refusal, refusalBody, refuse } from '../../core/refusal.ts'
import { decodeChatCall } from '../../dialects/chat/call.ts'
import { refusalFor } from '../../gateway/answer/refusal-for.ts'
import { CallerGone } from '../../gateway/ask/attempt.ts'
import { runCall } from '../../gateway/call/run-call.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { enter, letGo } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import { afterTurn } from '../answer/after-turn.ts'
import { endCall, endRefused } from '../app.ts'
import { termsOfMessage } from '../request/socket-terms.ts'
import {
  asIncoming,
  closeWhenIdle,
  LEAVING,
  newMessageTrace,
  type Protocol,
  REQUESTS_MAX,
  readMessage,
  type Socket,
  send,
  sendTexts,
  tooMany,
} from './socket-frames.ts'

type SocketId = string | number | null

const take = async (gateway: Gateway, socket: Socket, bytes: Uint8Array): Promise<void> => {
  const trace = newMessageTrace(gateway, socket)
  try {
    await answerFrame(gateway, socket, readMessage(gateway, trace, bytes), trace)
  } catch (refusal) {
    await tellRefused(gateway, socket, null, { trace, refusal: refusalFor(gateway, trace, refusal) })
  } finally {
    letGo(gateway.capacity, trace.taken)
  }
}

type Refused = { readonly trace: Trace; readonly refusal: Refusal }

const tellRefused = async (
  gateway: Gateway,
  socket: Socket,
  id: SocketId,
  { trace, refusal }: Refused,
): Promise<void> => {
  endRefused(gateway, trace, refusal)
  await send(gateway, socket, { id, type: 'error', ...refusalBody(refusal, trace.callId) })
}

const answerFrame = async (
  gateway: Gateway,
  socket: Socket,
  value: JsonObject,
  trace: Trace,
): Promise<void> => {
  const { running } = socket.data
  const given = value.id
  const id: SocketId = typeof given === 'string' || typeof given === 'number' ? given : null
  const name = JSON.stringify(id)
  if (value.type === 'cancel') {
    running.get(name)?.abort()
    return
  }
  const refused = (refusal: Refusal) => tellRefused(gateway, socket, id, { trace, refusal })
  if (running.has(name))
    return refused(
      refuse('invalid_parameter', "A request with this 'id' is running on this socket.", {
        members: { param: 'id' },
      }),
    )
  if (running.size >= REQUESTS_MAX) return refused(tooMany())
  const controller = new AbortController()
  running.set(name, controller)
  try {
    const answer = await answerMessage(gateway, socket, value, { trace, signal: controller.signal })
    await relay(gateway, socket, { id, answer, controller })
    trace.ended ??= 'ok'
    endCall(gateway, trace, answer.status)
  } catch (thrown) {
    if (thrown instanceof CallerGone) await send(gateway, socket, { id, type: 'done', canceled: true })
    else await refused(refusalFor(gateway, trace, await afterTurn(gateway, trace, thrown)))
  } finally {
    running.delete(name)
    closeWhenIdle(socket)
  }
}

type MessageRun = { readonly trace: Trace; readonly signal: AbortSignal }

/** Runs the message as a streamed call that shows its usage; members of the frame itself are removed. */
const answerMessage = async (
  gateway: Gateway,
  socket: Socket,
  message: JsonObject,
  { trace, signal }: MessageRun,
): Promise<Answer> => {
  const { terms, request } = must(termsOfMessage(message, must(socket.data.terms)))
  const { id: _id, type: _type, ...rest } = request
  const body = { ...rest, stream: true, stream_options: { include_usage: true } }
  enter(gateway.capacity, gateway.options.openCallsMax, socket.data.authorization ?? '', trace.taken)
  const way = { endpoint: 'stream', decode: decodeChatCall }
  return runCall(gateway, asIncoming(gateway, socket.data, { terms, body, trace, signal }, way), trace)
}

/** Turns the events of an answer into frames; a client that does not read slows the vendor down. */
const relay = async (
  gateway: Gateway,
  socket: Socket,
  {
    id,
    answer,
    controller,
  }: { readonly id: SocketId; readonly answer: Answer; readonly controller: AbortController },
): Promise<void> => {
  const splitter = eventSplitter()
  const pieces = answer.body instanceof Uint8Array ? [answer.body] : answer.body
  let ended = false
  for await (const piece of pieces) {
    const texts: string[] = []
    for (const { data } of splitter.feed(piece)) {
      const frame = frameOf(id, data)
      if (frame === undefined) continue
      ended ||= frame.type !== 'chunk'
      texts.push(JSON.stringify(frame))
    }
    if (texts.length > 0 && !(await sendTexts(gateway, socket, texts))) controller.abort()
  }
  if (!ended)
    await send(gateway, socket, {
      id,
      type: 'done',
      ...(controller.signal.aborted ? { canceled: true } : {}),
    })
}

const frameOf = (id: SocketId, data: string) => {
  if (data === '') return undefined
  if (data === '[DONE]') return { id, type: 'done' as const }
  const value = parseJson(data)
  // Nonsense from a vendor is not a chunk: clients read members of every chunk.
  if (!isObject(value)) return undefined
  return isObject(value.error)
    ? { id, type: 'error' as const, error: value.error }
    : { id, type: 'chunk' as const, chunk: value }
}

/** What is spoken on /v1/stream. */
export const streamProtocol: Protocol = {
  path: '/v1/stream',
  take,
  refused: (refusal, requestId) => ({ id: null, type: 'error', ...refusalBody(refusal, requestId) }),
  goAway: { id: null, type: 'goaway', reason: LEAVING },
}
