/** A socket and its frames: its state, and how answers go out on it. */
import { isObject, parseJson } from '../core/json-body.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { KeyId } from '../tenancy/key.ts'
import { eventSplitter } from '../transport/event-stream.ts'
import type { Terms } from './socket-terms.ts'

/** The close code of a socket whose client does not read (RFC 6455, 7.4.1). */
const NOT_READ = 1008

/** What we need of the runtime's socket. */
export type Socket = {
  readonly data: SocketData
  /** The number of bytes taken; 0 when dropped, -1 when they wait for the client to read. */
  send(text: string): number
  close(code: number, reason: string): void
}

export type SocketData = {
  readonly authorization: string | null
  /** The terms of every message that sets none of its own; a Refusal closes the socket with its name. */
  readonly terms: Terms | Refusal
  readonly keyId: KeyId
  /** Running requests, by the client's id for them. */
  readonly running: Map<string, AbortController>
  /** Resolves when the client has read what waits. */
  drained: PromiseWithResolvers<void> | undefined
  /** The server is draining: the socket closes once nothing runs on it. */
  leaving: boolean
}

/** Turns the events of an answer into frames; a client that does not read slows the vendor down. */
export const relay = async (
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
  for await (const piece of pieces)
    for (const { data } of splitter.feed(piece)) {
      const frame = frameOf(id, data)
      if (frame === undefined) continue
      ended ||= frame.type !== 'chunk'
      if (!(await send(gateway, socket, frame))) controller.abort()
    }
  if (!ended)
    await send(gateway, socket, {
      id,
      type: 'done',
      ...(controller.signal.aborted ? { canceled: true } : {}),
    })
}

export type SocketId = string | number | null

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

/** Sends one frame and waits while the client is behind, but not for ever; false when the socket is gone. */
export const send = async (gateway: Gateway, socket: Socket, frame: object): Promise<boolean> => {
  const sentBytes = socket.send(JSON.stringify(frame))
  if (sentBytes === 0) return false
  if (sentBytes > 0) return true
  socket.data.drained ??= Promise.withResolvers<void>()
  const { promise } = socket.data.drained
  const { readerMs } = gateway.options
  const late = setTimeout(() => socket.close(NOT_READ, 'The socket was not read.'), readerMs)
  // Everything that waits for the socket resumes when the socket closes.
  await promise
  clearTimeout(late)
  return true
}
