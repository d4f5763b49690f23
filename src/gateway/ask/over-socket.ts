/**
 * A turn of a client's socket, asked over a socket of the vendor: the same call, but the vendor hears only what it does not
 * remember. Whatever fails before the answer begins, the turn is asked over HTTP, as it is without this.
 */
import { type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import { upstreamDialect } from '../../dialects/upstream-dialect.ts'
import type { Deployment } from '../../routing/deployments.ts'
import type { Requester } from '../../transport/requester.ts'
import { type Answered, NotBegun, type SocketPlace } from '../../transport/vendor-socket.ts'
import { itemsAsked, itemsUpTo } from '../enter/socket-turn.ts'
import { readWeighed } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { OnSocket } from '../parts/socket-memory.ts'
import type { Task } from '../parts/task.ts'

type Fetch = (url: string, init: RequestInit, asker?: Requester) => Promise<Response>

/** How a deployment is asked for a turn that came on a socket. */
export const overSocket = (
  gateway: Gateway,
  task: Task,
  deployment: Deployment,
  { bytes, on, http }: { readonly bytes: Uint8Array; readonly on: OnSocket; readonly http: Fetch },
): Fetch => {
  const { vendorSockets: most, timeouts } = gateway.options
  const { setup, model, anchor } = deployment
  const { vendor } = setup
  const { socket } = vendor
  const speaks = upstreamDialect(task.call, model, vendor)
  // A signature is for one request, and not for a socket.
  if (most === undefined || socket === undefined || setup.authorize !== undefined || speaks !== 'responses')
    return http
  const endsInMs = socket.minutes * 60_000 - timeouts.totalMs
  return async (url, init, asker) => {
    const body = readIfThereIsRoom(gateway, task, bytes)
    if (body === undefined) return http(url, init, asker)
    const nowMs = gateway.clock.monotonicMs()
    const place: SocketPlace = {
      owner: on.memory,
      name: `${anchor} ${model.upstreamName} ${on.lane}`,
      url,
      headers: credentialOf(init.headers),
      endsMs: nowMs + endsInMs,
    }
    const { signal: caller } = task
    const asked = await askOn(gateway, place, { body, most, nowMs, caller, signal: init.signal ?? caller })
    if (asked instanceof Response) return asked
    if (asked !== undefined) {
      const { message: error } = asked
      gateway.log.warn('vendor socket failed', { call: task.trace.callId, vendor: vendor.id, error })
    }
    return http(url, init, asker)
  }
}

/** Undefined where memory is short: over HTTP the request goes as it is. */
const readIfThereIsRoom = (
  { capacity }: Gateway,
  { trace }: Task,
  bytes: Uint8Array,
): JsonBody | undefined => {
  try {
    return readWeighed(capacity, trace.taken, bytes)
  } catch {
    return undefined
  }
}

type Turn = {
  readonly body: JsonBody
  readonly most: number
  readonly nowMs: number
  /** Ends the exchange, and says that the caller has gone. */
  readonly signal: AbortSignal
  readonly caller: AbortSignal
}

/** The answer on a socket; undefined if none can be used, and the fault if the vendor does not begin to answer. */
const askOn = async (
  gateway: Gateway,
  place: SocketPlace,
  turn: Turn,
): Promise<Response | NotBegun | undefined> => {
  const { vendorSockets } = gateway.memory
  const { body, signal } = turn
  const socket = vendorSockets.take(place, turn)
  if (socket === undefined) return undefined
  const known = socket.answered
  const rest = known === undefined ? undefined : itemsAfter(known, itemsAsked(body))
  const previous = rest === undefined ? undefined : known?.id
  try {
    return await socket.ask({
      message: messageOf(body, rest, previous),
      signal,
      previous,
      completed: (response) => {
        socket.answered = answeredBy(body, response)
      },
    })
  } catch (fault) {
    if (!(fault instanceof NotBegun) || turn.caller.aborted) throw fault
    // A vendor that has forgotten, or wants another socket, gets the whole conversation on a new one.
    if (fault.renew && socket.used > 1) return askOn(gateway, place, turn)
    // Of a vendor that took the turn and fell silent the exchange has ended by now, so nothing is sent again.
    vendorSockets.rest(place.url, gateway.clock.monotonicMs())
    return fault
  }
}

/** The upgrade has no body. */
const credentialOf = (headers: RequestInit['headers']): Record<string, string> => {
  const sent = new Headers(headers)
  sent.delete('content-type')
  sent.delete('accept-encoding')
  return Object.fromEntries(sent)
}

const decoder = new TextDecoder()
const COMMA = 0x2c

/** The request as a message: with the items that are new to the vendor, or with all. */
const messageOf = (body: JsonBody, rest: Uint8Array | undefined, previous: string | undefined): string => {
  const more =
    rest === undefined
      ? {}
      : { input: `[${decoder.decode(rest)}]`, previous_response_id: JSON.stringify(previous) }
  return decoder.decode(splice(body, { type: '"response.create"', stream: undefined, ...more }))
}

/** The items after those that the vendor remembers; undefined if these are not the beginning, or all. */
const itemsAfter = ({ length, digest }: Answered, items: Uint8Array): Uint8Array | undefined =>
  items[length] === COMMA && digestOf(items.subarray(0, length)) === digest
    ? items.subarray(length + 1)
    : undefined

const answeredBy = (body: JsonBody, response: JsonObject): Answered => {
  const items = itemsUpTo(body, response)
  return { id: String(response.id), length: items.length, digest: digestOf(items) }
}

const digestOf = (items: Uint8Array): string => new Bun.CryptoHasher('sha256').update(items).digest('hex')
