/** A socket: its state, what it speaks, and how frames go out on it. */
import { bodyOf, type JsonObject, readJsonBody } from '../../core/json-body.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import { scanJson } from '../../core/scan-json.ts'
import { newId } from '../../core/time.ts'
import type { Incoming } from '../../gateway/enter/incoming.ts'
import { takeBytes } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { newSocketMemory, type SocketMemory } from '../../gateway/parts/socket-memory.ts'
import { type From, newTrace, type Trace } from '../../gateway/parts/trace.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Terms } from '../request/socket-terms.ts'
import { Steering } from './steering.ts'

/** The close code of a socket whose client does not read (RFC 6455, 7.4.1). */
const NOT_READ = 1008

/** What we need of the runtime's socket. */
export type Socket = {
  readonly data: SocketData
  /** The number of bytes taken; 0 when dropped, -1 when they wait for the client to read. */
  send(text: string): number
  /** How many bytes wait for the client to read; 0 once it is closed. */
  getBufferedAmount(): number
  /** Sends what the function sends in one write. */
  cork(send: () => void): unknown
  close(code: number, reason: string): void
}

/** What is spoken on a socket, by its address. */
export type Protocol = {
  readonly path: string
  /** Takes a message and answers it. */
  take(gateway: Gateway, socket: Socket, bytes: Uint8Array): Promise<void>
  /** The frame for a refusal that belongs to no request. */
  refused(refusal: Refusal, requestId: string): object
  /** The frame that asks the client to open its next socket elsewhere, where clients know such a one. */
  readonly goAway?: object
}

export type SocketData = {
  readonly protocol: Protocol
  readonly authorization: string | null
  /** Where it comes from. */
  readonly from: From
  /** The terms of every message that sets none of its own; a Refusal closes the socket with its name. */
  readonly terms: Terms | Refusal
  readonly keyId: KeyId
  /** What the socket remembers of its conversations. */
  readonly memory: SocketMemory
  /** Input that waits for responses which run. */
  readonly steering: Steering
  /** The last request of each lane, behind which the next one of it waits. */
  readonly lanes: Map<string, Promise<void>>
  readonly openedMs: number
  /** Running requests, by the names that the protocol gives them. */
  readonly running: Map<string, AbortController>
  /** Resolves when the client has read some of what waits. */
  drained: PromiseWithResolvers<void> | undefined
  /** The server is draining: the socket closes once nothing runs on it. */
  leaving: boolean
}

/** Sends one frame and waits while the client is behind, but not for ever; false when the socket is gone. */
export const send = (gateway: Gateway, socket: Socket, frame: object): Promise<boolean> =>
  sendTexts(gateway, socket, [JSON.stringify(frame)])

/**
 * The same with the texts of frames, in as few writes as the client has room for: the runtime drops what is sent to one that
 * is far behind.
 */
export const sendTexts = async (
  gateway: Gateway,
  socket: Socket,
  texts: readonly string[],
): Promise<boolean> => {
  let gone = false
  for (let next = 0; next < texts.length && !gone; ) {
    await caughtUp(gateway, socket)
    socket.cork(() => {
      // Another lane may have been faster.
      while (!gone && next < texts.length && socket.getBufferedAmount() === 0)
        gone = socket.send(texts[next++] ?? '') === 0
    })
  }
  if (!gone) await caughtUp(gateway, socket)
  return !gone
}

/** Waits until the client has read all that waits for it, or is gone. One that takes nothing for too long is closed. */
const caughtUp = async ({ options }: Gateway, socket: Socket): Promise<void> => {
  while (socket.getBufferedAmount() > 0) {
    socket.data.drained ??= Promise.withResolvers<void>()
    const late = setTimeout(() => socket.close(NOT_READ, 'The socket was not read.'), options.readerMs)
    // It resolves when a part is read, and when the socket closes.
    await socket.data.drained.promise
    clearTimeout(late)
  }
}

/** The state of a socket that is about to open. */
export const newSocketData = (
  { capacity, clock }: Gateway,
  opening: Pick<SocketData, 'protocol' | 'authorization' | 'from' | 'terms' | 'keyId'>,
): SocketData => ({
  ...opening,
  memory: newSocketMemory(capacity, opening.keyId),
  steering: new Steering(capacity, opening.keyId),
  lanes: new Map(),
  openedMs: clock.monotonicMs(),
  running: new Map(),
  drained: undefined,
  leaving: false,
})

/** How many requests a socket may run at once. */
export const REQUESTS_MAX = 32

/** The trace of an upgrade or a message. */
export const newTraceOf = (gateway: Gateway, { path }: Protocol, from?: From): Trace => {
  const trace = newTrace(newId(), gateway.clock.monotonicMs())
  if (from !== undefined) trace.from = from
  trace.endpoint = path
  return trace
}

/** The trace of a message; what it keeps in memory counts for the key of its socket. */
export const newMessageTrace = (gateway: Gateway, { data }: Socket): Trace => {
  const trace = newTraceOf(gateway, data.protocol, data.from)
  trace.taken.owner = data.keyId
  return trace
}

/** The object in a message; it and its bytes are counted before it is parsed. Throws the Refusal. */
export const readMessage = (gateway: Gateway, trace: Trace, bytes: Uint8Array): JsonObject => {
  const scan = scanJson(bytes)
  takeBytes(gateway.capacity, trace.taken, bytes.length + scan.weight)
  const read = readJsonBody(bytes, scan)
  if (!(read instanceof Refusal)) return read.value
  throw scan.over === undefined ? refuse('invalid_json', 'A message must be a JSON object.') : read
}

type Message = {
  readonly terms: Terms
  /** What the message asks for, without the members of its frame. */
  readonly body: JsonObject
  readonly trace: Trace
  readonly signal: AbortSignal
}

/** A message as a call sees it. The socket's credential is read anew, so a key that was disabled calls no more. */
export const asIncoming = (
  { capacity }: Gateway,
  { authorization }: SocketData,
  { terms, body, trace, signal }: Message,
  way: Pick<Incoming, 'endpoint' | 'decode' | 'recalls' | 'socket'>,
): Incoming => ({
  ...way,
  ...terms,
  authorization,
  payment: undefined,
  readBody: async () => {
    const read = bodyOf(body)
    takeBytes(capacity, trace.taken, read.bytes.length)
    return read
  },
  signal,
})

/** The refusal for one request more than a socket may run. */
export const tooMany = (): Refusal =>
  refuse('rate_limit_exceeded', `A socket may run ${REQUESTS_MAX} requests at once.`, {
    members: { retry_after: 1 },
  })

const GOING_AWAY = 1001
export const LEAVING = 'The server is shutting down; open another socket for new requests.'

/** Closes a socket that shall go, once nothing runs on it. */
export const closeWhenIdle = (socket: Socket): void => {
  if (socket.data.leaving && socket.data.running.size === 0) socket.close(GOING_AWAY, LEAVING)
}
