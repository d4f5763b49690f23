/**
 * A socket of responses through the tap. Each turn is recorded as the request over HTTP that says the same: with the
 * whole conversation in place of the name of the response before it.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../src/core/json-body.ts'
import { responseForm } from '../../src/dialects/responses/kept.ts'
import type { Exchange } from './exchange.ts'

type Client = { send(text: string): unknown; close(code?: number, reason?: string): void }

export type SocketTap = {
  readonly opened: (client: Client) => void
  readonly asked: (text: string) => void
  readonly left: () => void
}

const ends = /^(?:error|response\.(?:completed|incomplete|failed))$/
let sockets = 0

/** The server's side of a socket, open; undefined when the server takes none. */
export const newSocketTap = async (
  url: string,
  request: Request,
  note: (exchange: Exchange) => void,
): Promise<SocketTap | undefined> => {
  const number = ++sockets
  const headers: Record<string, string> = {}
  for (const name of ['authorization', 'x-session-id', 'openai-beta']) {
    const value = request.headers.get(name)
    if (value !== null) headers[name] = value
  }
  const server = new WebSocket(url, { headers } as never)
  const open = await new Promise<boolean>((resolve) => {
    server.onopen = () => resolve(true)
    server.onerror = () => resolve(false)
  })
  if (!open) return undefined
  const conversations = new Map<string, readonly Json[]>()
  /** Turns that have not ended, the first one first; one lane is all that these programs use. */
  const running: { readonly exchange: Exchange; readonly items: readonly Json[] }[] = []

  const heard = (event: JsonObject, text: string): void => {
    const turn = running[0]
    if (turn === undefined) return
    turn.exchange.answer += `${text}\n`
    if (isObject(event.headers))
      for (const [name, value] of Object.entries(event.headers))
        turn.exchange.answered.set(name, String(value))
    if (!ends.test(String(event.type))) return
    running.shift()
    turn.exchange.status = event.type === 'error' ? Number(event.status) : 200
    const { response } = event
    if (!isObject(response)) return
    const output = Array.isArray(response.output) ? response.output : []
    conversations.set(String(response.id), [...turn.items, ...output])
  }

  const begin = (message: JsonObject): void => {
    const { type, stream_id, generate, previous_response_id: previous, input, ...rest } = message
    if (type !== 'response.create') return
    const own = responseForm.itemsOf(input)
    const items = [...(conversations.get(String(previous)) ?? []), ...own]
    const exchange: Exchange = {
      method: 'POST',
      path: new URL(url).pathname,
      headers: request.headers,
      body: { ...rest, input: typeof previous === 'string' ? items : (input ?? null) },
      status: 0,
      answered: new Headers(),
      answer: '',
      socket: number,
      own: own.length,
    }
    running.push({ exchange, items })
    if (generate !== false) note(exchange)
  }

  return {
    opened: (client) => {
      server.onmessage = ({ data }) => {
        const text = String(data)
        const event = parseJson(text)
        if (isObject(event)) heard(event, text)
        client.send(text)
      }
      server.onclose = ({ code, reason }) => client.close(code === 1006 ? 1011 : code, reason)
    },
    asked: (text) => {
      const message = parseJson(text)
      if (isObject(message)) begin(message)
      server.send(text)
    },
    left: () => server.close(),
  }
}
