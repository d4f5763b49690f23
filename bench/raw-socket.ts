/**
 * A WebSocket that costs its client next to nothing, as raw-client.ts does for HTTP: it frames what it sends and looks in
 * the bytes that come for the end of a response (RFC 6455, 5.2).
 */
import type { Socket } from 'bun'

export type RawSocket = {
  /** Sends a message; resolves with the bytes of its last events once the response is complete. */
  readonly turn: (message: Buffer) => Promise<Buffer>
  readonly close: () => void
}

const COMPLETED = Buffer.from('"type":"response.completed"')
const FAILED = Buffer.from('"type":"error"')
const [FINAL_TEXT, MASKED, LENGTH_16, LENGTH_64] = [0x81, 0x80, 126, 127]

/** A text message as a client sends it; a mask of zeros changes nothing. */
export const framed = (text: string): Buffer => {
  const body = Buffer.from(text)
  const short = body.length < LENGTH_16
  const head = Buffer.alloc(short ? 2 : body.length < 65_536 ? 4 : 10)
  head[0] = FINAL_TEXT
  head[1] = MASKED | (short ? body.length : head.length === 4 ? LENGTH_16 : LENGTH_64)
  if (head.length === 4) head.writeUInt16BE(body.length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2)
  return Buffer.concat([head, Buffer.alloc(4), body])
}

/** Opens a socket at the path. */
export const rawSocket = async (
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<RawSocket> => {
  const { hostname, port } = new URL(url)
  let seen = Buffer.alloc(0)
  let ends = Promise.withResolvers<Buffer>()
  const opened = Promise.withResolvers<void>()
  let unsent: Buffer | undefined
  const send = (socket: Socket, rest: Buffer): void => {
    const sent = socket.write(rest)
    unsent = sent < rest.length ? rest.subarray(Math.max(0, sent)) : undefined
  }
  let open = false
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_socket, piece) => {
        seen = Buffer.concat([seen, piece])
        if (!open) {
          if (!seen.includes('\r\n\r\n')) return
          open = true
          if (seen.includes(' 101 ')) opened.resolve()
          else opened.reject(new Error(seen.toString()))
          seen = Buffer.alloc(0)
        } else if (seen.includes(FAILED)) ends.reject(new Error(seen.toString()))
        // The event ends with its usage, after its type.
        else if (seen.includes(COMPLETED) && seen.at(-1) === 0x7d) {
          ends.resolve(seen)
          seen = Buffer.alloc(0)
        }
      },
      drain: (socket) => {
        if (unsent !== undefined) send(socket, unsent)
      },
      close: () => ends.reject(new Error('the server closed the socket')),
      error: () => ends.reject(new Error('the socket broke')),
    },
  })
  const asked = { ...headers, host: `${hostname}:${port}`, upgrade: 'websocket', connection: 'Upgrade' }
  const handshake = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
  const lines = Object.entries({ ...asked, ...handshake }).map(([name, value]) => `${name}: ${value}\r\n`)
  send(socket, Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`))
  await opened.promise
  return {
    turn: (message) => {
      ends = Promise.withResolvers()
      send(socket, message)
      return ends.promise
    },
    close: () => void socket.end(),
  }
}
