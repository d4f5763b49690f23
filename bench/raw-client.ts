/**
 * One kept connection that sends the same request again and again: a client that costs next to nothing, so that the
 * machine is the servers'. It reads as much of HTTP/1.1 as the measured servers write: a declared length, or chunks
 * (RFC 9112).
 */
import type { Socket } from 'bun'

export type Got = {
  readonly status: number
  /** When the first byte of the body came, and when the last. */
  readonly firstMs: number
  readonly totalMs: number
}

export type RawClient = {
  /** Sends the request and reads its answer. Rejects when the server ends the connection. */
  readonly ask: () => Promise<Got>
  readonly close: () => void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** Reads one answer after the other. */
class Reader {
  #head: Buffer = Buffer.alloc(0)
  #inBody = false
  /** Bytes of the body to come; undefined for chunks. */
  #left: number | undefined
  #end: Buffer = Buffer.alloc(0)
  #startedMs = 0
  #firstMs = 0
  #status = 0
  #ends: PromiseWithResolvers<Got> | undefined

  begin(): Promise<Got> {
    this.#startedMs = performance.now()
    this.#firstMs = 0
    this.#ends = Promise.withResolvers<Got>()
    return this.#ends.promise
  }

  read(bytes: Buffer): void {
    if (this.#inBody) {
      this.#readBody(bytes)
      return
    }
    const all = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes])
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      this.#head = Buffer.from(all)
      return
    }
    this.#head = Buffer.alloc(0)
    const head = all.toString('latin1', 0, end)
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#left = length === undefined ? undefined : Number(length)
    this.#end = Buffer.alloc(0)
    this.#inBody = true
    if (this.#left === 0) this.#done()
    else this.#readBody(all.subarray(end + HEAD_END.length))
  }

  broken(): void {
    this.#ends?.reject(new Error('the server ended the connection'))
  }

  #readBody(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#firstMs === 0) this.#firstMs = performance.now() - this.#startedMs
    if (this.#left !== undefined) {
      this.#left -= bytes.length
      if (this.#left <= 0) this.#done()
      return
    }
    const { length } = LAST_CHUNK
    const tail = bytes.length >= length ? bytes : Buffer.concat([this.#end, bytes])
    this.#end = Buffer.from(tail.subarray(-length))
    if (this.#end.equals(LAST_CHUNK)) this.#done()
  }

  #done(): void {
    this.#inBody = false
    const totalMs = performance.now() - this.#startedMs
    this.#ends?.resolve({ status: this.#status, firstMs: this.#firstMs, totalMs })
  }
}

/** Connects to the server at a URL. */
export const rawClient = async (url: string, path: string, request: RawRequest): Promise<RawClient> => {
  const { hostname, port } = new URL(url)
  const bytesOf = (token: string | undefined): Buffer => {
    const headers = {
      ...request.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      host: `${hostname}:${port}`,
      'content-length': String(request.body.length),
    }
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`), request.body])
  }
  const same = bytesOf(undefined)
  const reader = new Reader()
  let unsent: Buffer | undefined
  const send = (socket: Socket, rest: Buffer): void => {
    const sent = socket.write(rest)
    unsent = sent < rest.length ? rest.subarray(Math.max(0, sent)) : undefined
  }
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_socket, piece) => reader.read(piece),
      drain: (socket) => {
        if (unsent !== undefined) send(socket, unsent)
      },
      close: () => reader.broken(),
      error: () => reader.broken(),
    },
  })
  return {
    ask: () => {
      const answer = reader.begin()
      send(socket, request.nextToken === undefined ? same : bytesOf(request.nextToken()))
      return answer
    },
    close: () => void socket.end(),
  }
}

type RawRequest = {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The headers of each request, where they do not all have the same caller. */
  readonly nextToken?: (() => string) | undefined
}
