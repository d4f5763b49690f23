/** A server in this process with a scripted vendor, and plain chat calls to it over kept connections. */
import type { Socket } from 'bun'

type PlainCalls = {
  /** Makes one call on each connection, all at once, and waits for the answers. */
  readonly round: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * A client that makes as few objects as it can, because its own count, too. An answer is small and comes in one piece.
 */
const connect = async (port: number, request: Buffer) => {
  let answered: (text: string) => void = () => undefined
  const socket: Socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: { data: (_socket, bytes) => answered(bytes.toString('latin1')) },
  })
  return {
    call: async () => {
      const text = await new Promise<string>((resolve) => {
        answered = resolve
        socket.write(request)
      })
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(`the call was answered with ${text}`)
    },
    end: () => socket.end(),
  }
}

/** Starts it. Whoever counts something of calls must watch it before, because the server is loaded only here. */
export const plainCalls = async (connections: number): Promise<PlainCalls> => {
  const { listen } = await import('../src/http/listen/listen.ts')
  const { startTestServer, chat, completion } = await import('../test/server/harness.ts')
  const server = await startTestServer({ receipts: 'off' })
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const { token } = await server.newKey({ rpm: 1_000_000 })
  const answer = await completion('hello').text()
  server.answerWith(async () => new Response(answer, { headers: { 'content-type': 'application/json' } }))
  const body = JSON.stringify(chat())
  const request = Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const clients = await Promise.all(
    Array.from({ length: connections }, () => connect(listening.port, request)),
  )
  return {
    round: async () => {
      await Promise.all(clients.map(({ call }) => call()))
    },
    stop: async () => {
      for (const client of clients) client.end()
      listening.stop()
      await server.stop()
    },
  }
}
