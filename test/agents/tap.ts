/** Stands between a program and the server, passes everything on, and records what the program sent and got. */
import { isObject, parseJson } from '../../src/core/json-body.ts'
import type { Exchange } from './exchange.ts'
import { newSocketTap, type SocketTap } from './tap-socket.ts'

export type Tap = {
  readonly address: string
  /** The exchanges since the last call of this. */
  readonly collect: () => Exchange[]
  readonly stop: () => Promise<void>
}

/** Headers of one connection; the next connection has its own. */
const ofOneHop = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'upgrade']

const handedOn = (headers: Headers): Headers => {
  const copy = new Headers(headers)
  for (const name of ofOneHop) copy.delete(name)
  return copy
}

export const startTap = (target: string): Tap => {
  let exchanges: Exchange[] = []
  const note = (exchange: Exchange): void => {
    exchanges.push(exchange)
  }
  const bound = Bun.serve<SocketTap>({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request, server) => {
      const { pathname, search } = new URL(request.url)
      if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
        const data = await newSocketTap(`${target.replace('http', 'ws')}${pathname}${search}`, request, note)
        if (data !== undefined && server.upgrade(request, { data })) return undefined
      }
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
      note(exchange)
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
    websocket: {
      open: (socket) => socket.data.opened(socket),
      message: ({ data }, message) => data.asked(String(message)),
      close: ({ data }) => data.left(),
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
