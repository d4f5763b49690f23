/** A network between a process and its database that falls silent: bytes are lost, and no connection ends. */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Passes bytes both ways until it falls silent; the connections of that moment stay silent for good. */
export const silentProxy = async (
  target: URL,
): Promise<{
  url: string
  silence: (on: boolean) => void
  /** Falls silent for good once a client has sent this; undefined takes it back. */
  silenceAfter: (text: string | undefined) => void
  /** Whether the server has answered something that its client no longer hears: what was sent last was carried out. */
  hasLostAnAnswer: () => boolean
  stop: () => void
}> => {
  let silent = false
  let last: string | undefined
  let lostAnAnswer = false
  const sockets = new Set<Socket>()
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let dead = silent
    const forward = (from: Socket, to: Socket): void => {
      sockets.add(from)
      from.on('data', (bytes) => {
        dead ||= silent
        if (!dead) to.write(bytes)
        else lostAnAnswer ||= from === upstream
        if (last !== undefined && from === client && bytes.includes(last)) silent = true
      })
      from.on('error', () => undefined)
      // A network that went away sends the other side nothing.
      from.on('close', () => dead || to.destroy())
    }
    forward(client, upstream)
    forward(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(target)
  url.port = String(typeof address === 'object' ? address?.port : '')
  // What a server does with it is timed.
  url.searchParams.delete('connect_timeout')
  const stop = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    silence: (on) => {
      silent = on
    },
    silenceAfter: (text) => {
      last = text
    },
    hasLostAnAnswer: () => lostAnAnswer,
    stop,
  }
}
