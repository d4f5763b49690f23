/** Stands between a program and the server, passes everything on, and records what the program sent and got. */
import { isObject, type JsonObject, parseJson } from '../../src/core/json-body.ts'

export type Exchange = {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: JsonObject
  status: number
  answered: Headers
  /** The answer as far as it arrived. */
  answer: string
}

export type Tap = {
  readonly address: string
  /** The exchanges since the last call of this. */
  readonly collect: () => Exchange[]
  readonly stop: () => Promise<void>
}

/** Headers of one connection; the next connection has its own. */
const ofOneHop = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host']

const handedOn = (headers: Headers): Headers => {
  const copy = new Headers(headers)
  for (const name of ofOneHop) copy.delete(name)
  return copy
}

export const startTap = (target: string): Tap => {
  let exchanges: Exchange[] = []
  const bound = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const text = await request.text()
      const parsed = parseJson(text)
      const exchange: Exchange = {
        method: request.method,
        path: `${pathname}${search}`,
        headers: request.headers,
        body: isObject(parsed) ? parsed : {},
        status: 0,
        answered: new Headers(),
        answer: '',
      }
      exchanges.push(exchange)
      // Requested as plain text, so that the tap can read the answer.
      const headers = handedOn(request.headers)
      headers.set('accept-encoding', 'identity')
      const answer = await fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers,
        ...(text === '' ? {} : { body: text }),
        signal: request.signal,
        redirect: 'manual',
      })
      exchange.status = answer.status
      exchange.answered = answer.headers
      const decoder = new TextDecoder()
      const reading = new TransformStream<Uint8Array, Uint8Array>({
        transform: (piece, controller) => {
          exchange.answer += decoder.decode(piece, { stream: true })
          controller.enqueue(piece)
        },
      })
      return new Response(answer.body?.pipeThrough(reading) ?? null, {
        status: answer.status,
        headers: handedOn(answer.headers),
      })
    },
  })
  return {
    address: `http://127.0.0.1:${bound.port}`,
    collect: () => {
      const found = exchanges
      exchanges = []
      return found
    },
    stop: () => bound.stop(true),
  }
}
