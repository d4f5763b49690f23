/**
 * Passes one request to a gateway of a cell, and its answer back: method, address, headers and the bytes of both bodies as
 * they are, each at the pace of who reads it. Only what belongs to one connection stays behind (RFC 9110, 7.6.1).
 */
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'
import { CELL_HEADER } from '../settings/cells.ts'
import { neverSent } from '../transport/vendor-fault.ts'
import type { Cell } from './directory.ts'
import type { Place, Places } from './places.ts'

/** Names the cells that passed a request on: the next one looks its key up, and passes it to none of them. */
export const PASSED_BY = 'x-turnpike-passed-by'

const ofConnection = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

export type Passing = {
  readonly cell: Cell
  readonly places: Places
  /** The other end of the caller's connection. */
  readonly peer: string | undefined
  /** The cells that have passed it on, the last of which does now; undefined for the router. */
  readonly by?: string | undefined
  /** Called when the request is sent. From then on the gateway's deadlines apply: its vendor may be silent for long. */
  readonly onSend?: () => void
}

/** The refusal for a cell that takes no calls. */
export const cellUnavailable = (cell: string, why = 'None of its gateways answers.'): Refusal => {
  const soon = retryIn(2)
  return refuse('cell_unavailable', `The cell '${cell}' cannot take the call. ${why}`, {
    members: { cell, ...soon.members },
    headers: { ...soon.headers, [CELL_HEADER]: cell },
  })
}

/** A copy without what belongs to one connection, including what its header `Connection` names. */
export const endToEnd = (given: Headers): Headers => {
  const headers = new Headers(given)
  const named = headers.get('connection')
  if (named !== null && named !== 'keep-alive' && named !== 'close')
    for (const name of named.split(',')) if (isName(name.trim())) headers.delete(name.trim())
  for (const name of ofConnection) headers.delete(name)
  return headers
}

const isName = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

/** The headers that the gateway gets. */
export const headersFor = (request: Request, { peer, by }: Passing): Headers => {
  const headers = endToEnd(request.headers)
  // The runtime has told the caller by itself to go on.
  headers.delete('expect')
  const before = headers.get('x-forwarded-for')
  if (peer !== undefined) headers.set('x-forwarded-for', before === null ? peer : `${before}, ${peer}`)
  if (by === undefined) headers.delete(PASSED_BY)
  else headers.set(PASSED_BY, by)
  return headers
}

/** Path and query as they came. */
const targetOf = ({ url }: Request): string => url.slice(url.startsWith('/') ? 0 : url.indexOf('/', 8))

/** The address at which a gateway is asked what the request asks. */
export const urlAt = (place: Place, request: Request): string => `${place.url}${targetOf(request)}`

/** A body that is read whole before it is sent: a stream of it costs more than its bytes. */
const SMALL_BYTES = 65_536

const isSmall = (headers: Headers): boolean => {
  const length = headers.get('content-length')
  return length !== null && Number(length) <= SMALL_BYTES
}

/** Passes it on. Throws the Refusal if no gateway of the cell takes it, or the one that took it died. */
export const pass = async (request: Request, passing: Passing): Promise<Response> => {
  const { cell, places } = passing
  const headers = headersFor(request, passing)
  const bodiless = request.method === 'GET' || request.method === 'HEAD'
  // The runtime sends no body with these, and nothing here reads one.
  if (bodiless) headers.delete('content-length')
  const init: RequestInit & { timeout: false; decompress: false } = {
    method: request.method,
    headers,
    body: bodiless ? null : isSmall(request.headers) ? await request.bytes() : request.body,
    signal: request.signal,
    redirect: 'manual',
    timeout: false,
    decompress: false,
  }
  passing.onSend?.()
  for (;;) {
    const place = places.choose(cell)
    if (place === undefined) throw cellUnavailable(cell.name)
    try {
      return answerOf(await fetch(urlAt(place, request), init))
    } catch (fault) {
      if (request.signal.aborted) throw fault
      // Where nothing was sent, the next address gets it; this one rests.
      if (!neverSent(fault)) throw cellUnavailable(cell.name, DIED)
      places.rest(place)
    }
  }
}

const DIED = 'The gateway that had it ended before its answer: it may have been charged.'

const answerOf = ({ body, status, statusText, headers }: Response): Response =>
  new Response(body, { status, statusText, headers: endToEnd(headers) })
