/** The address of the MCP server: tools for agents. The MCP library is loaded at the first call. */
import { isIP } from 'node:net'
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { whoCalls } from '../../gateway/enter/incoming.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { enter } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { json } from '../answer/reply.ts'
import { sendPieces } from '../answer/send-pieces.ts'
import { placeOf } from '../pages/place.ts'
import { originOfCall } from '../request/origin.ts'
import { readBody } from '../request/read-body.ts'
import { callerOf, credentialOf } from '../route/headers.ts'
import { byKey, type Handler, type HttpCall, type Route } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import { rpcAnswer, rpcRequest } from '../schema/mcp.ts'

/**
 * A browser says which page sends a request; only pages of this server may. Any name can lead to this machine (DNS
 * rebinding), so a Host that agrees with its Origin proves nothing unless it is no name: an IP address or localhost.
 */
const checkOrigin = ({ request }: HttpCall, known: string | undefined): void => {
  const origin = request.headers.get('origin')
  if (origin === null || origin === known) return
  const own = new URL(addressOf(request))
  if (
    origin === own.origin &&
    (own.hostname === 'localhost' || isIP(own.hostname.replace(/^\[|\]$/g, '')) !== 0)
  )
    return
  throw refuse(
    'forbidden',
    'Pages of other sites may not call tools here; PUBLIC_URL names the address of this one.',
  )
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

const rpcError = (code: number, message: string): Answer =>
  json({ jsonrpc: '2.0', id: null, error: { code, message } }, 400)

/** What a guest may ask without paying: everything but calls of tools, and the search. */
const isFree = ({ method, params }: JsonObject): boolean =>
  method !== 'tools/call' || (isObject(params) && params.name === 'search_products')

const decoder = new TextDecoder()

const mcpWith =
  (all: () => readonly Route[]): Handler =>
  async (gateway, call) => {
    const place = placeOf(gateway, call)
    checkOrigin(call, gateway.publicUrl ?? gateway.payments.x402?.options.publicUrl)
    const { request, trace } = call
    enter(gateway.capacity, gateway.options.openCallsMax, callerOf(request.headers), trace.taken)
    const authorization = must(credentialOf(request.headers, call.query, 'bearer'))
    // A wrong key is refused at once; without a key, lists are free and calls must be paid.
    const key = authorization === null ? undefined : await whoCalls(gateway, authorization, trace)
    const bytes = await readBody(gateway, call, gateway.options.bodyBytesMax)
    const message = parseJson(decoder.decode(bytes))
    if (message === undefined) return rpcError(PARSE_ERROR, 'The body is not valid JSON.')
    if (!isObject(message)) return rpcError(INVALID_REQUEST, 'The body must be one message.')
    if (key === undefined && isFree(message))
      takeGuestTurn(gateway, 'tools', originOfCall(gateway, call), trace)
    const { serveMcp } = await import('./serve.ts')
    const response = await serveMcp({ gateway, call, authorization, key, place, routes: all() }, message)
    return answerOf(gateway, call, response)
  }

/** An answer of the protocol's library as one of ours: whole, or a stream of events. */
const answerOf = async (gateway: Gateway, call: HttpCall, response: Response): Promise<Answer> => {
  const headers = Object.fromEntries(response.headers)
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  const body =
    isStream && response.body !== null
      ? sendPieces(gateway, call, response.body[Symbol.asyncIterator]())
      : await response.bytes()
  return { status: response.status, headers: { 'cache-control': 'no-store', ...headers }, body }
}

export const mcpRoutes = (all: () => readonly Route[]): readonly Route[] => [
  {
    ...byKey('POST /mcp'),
    summary: 'The MCP server (streamable HTTP, stateless): products as tools for agents.',
    body: rpcRequest,
    answer: rpcAnswer,
    event: rpcAnswer,
    instead: rpcAnswer,
    statuses: [200, 202],
    query: ['category', 'tools', 'all'],
    runs: true,
    handler: mcpWith(all),
  },
]
