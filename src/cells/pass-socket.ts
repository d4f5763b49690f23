/** Passes a WebSocket to a gateway of its cell: messages both ways as they are, and how it ended. */
import { cellUnavailable, endToEnd, headersFor, type Passing, urlAt } from './pass.ts'

/** More than this is not kept for a side that does not read: it is closed, and what reads again has missed nothing. */
export const BEHIND_MAX = 32 * 1024 * 1024
/** How long a gateway may take to repeat a refusal. */
const REFUSED_MS = 5_000
/** Close codes (RFC 6455, 7.4.1): a side does not read, closed without a code, broke off. */
const NOT_READ = 1008
const NO_CODE = 1005
const BROKEN = 1006

type Message = string | Buffer

type Side = { close(code?: number, reason?: string): void; terminate(): void }

/** The caller's side, as the runtime's server has it. */
type Near = Side & { send(message: Message): number; getBufferedAmount(): number }

/** Two sockets of which each gets what the other sends. */
export class SocketRelay {
  readonly #far: WebSocket
  #near: Near | undefined
  /** What comes before the caller's side is open. */
  #early: Message[] = []
  #ended: { readonly code: number; readonly reason: string } | undefined

  constructor(far: WebSocket) {
    this.#far = far
    far.onmessage = ({ data }) => this.#toNear(data as Message)
    far.onclose = ({ code, reason }) => {
      this.#ended = { code, reason }
      if (this.#near !== undefined) close(this.#near, code, reason)
    }
  }

  /** The caller's side is open. */
  open(near: Near): void {
    this.#near = near
    for (const message of this.#early) this.#toNear(message)
    this.#early = []
    if (this.#ended !== undefined) close(near, this.#ended.code, this.#ended.reason)
  }

  /** What the gateway chose of the protocols that the caller offered. */
  get protocol(): string {
    return this.#far.protocol
  }

  /** The caller has sent a message. */
  toFar(message: Message): void {
    if (this.#far.readyState !== WebSocket.OPEN) return
    this.#far.send(message as Buffer<ArrayBuffer>)
    if (this.#far.bufferedAmount > BEHIND_MAX) this.#near?.close(NOT_READ, 'The gateway does not read.')
  }

  /** The caller's side has closed. */
  closed(code: number, reason: string): void {
    close(this.#far, code, reason)
  }

  #toNear(message: Message): void {
    if (this.#near === undefined) this.#early.push(message)
    else {
      this.#near.send(message)
      if (this.#near.getBufferedAmount() > BEHIND_MAX) this.#near.close(NOT_READ, 'The socket was not read.')
    }
  }
}

/** Ends a side as the other one ended: with its code, without one, or as if the line had broken. */
const close = (side: Side, code: number, reason: string): void => {
  if (code === NO_CODE) side.close()
  else if (code === BROKEN) side.terminate()
  else side.close(code, reason)
}

/** Its own of the connection, which the runtime writes anew. */
const HANDSHAKE = /^sec-websocket-(?!protocol$)/

/**
 * Opens the far side of a socket that a caller asks for. Resolves with the gateway's own answer if that refuses it. Throws
 * the Refusal if no gateway of the cell answers.
 */
export const openFar = async (request: Request, passing: Passing): Promise<SocketRelay | Response> => {
  const { cell, places } = passing
  const headers = headersFor(request, passing)
  for (const name of [...headers.keys()]) if (HANDSHAKE.test(name)) headers.delete(name)
  const protocols = (headers.get('sec-websocket-protocol') ?? '').split(',').map((one) => one.trim())
  headers.delete('sec-websocket-protocol')
  for (let left = cell.addresses.length; left > 0; left--) {
    const place = places.choose(cell)
    if (place === undefined) break
    const far = await opened(urlAt(place, request), {
      headers: Object.fromEntries(headers),
      protocols: protocols.filter((one) => one !== ''),
    })
    if (far !== undefined) return far
    try {
      return await refusalAt(urlAt(place, request), headersFor(request, passing))
    } catch {
      places.rest(place)
    }
  }
  throw cellUnavailable(cell.name)
}

type Handshake = { readonly headers: Record<string, string>; readonly protocols: string[] }

/** The socket once it is open, with all that comes on it; undefined if it was refused. */
const opened = (url: string, handshake: Handshake): Promise<SocketRelay | undefined> =>
  new Promise((resolve) => {
    const far = new WebSocket(url.replace(/^http/, 'ws'), handshake)
    far.binaryType = 'nodebuffer'
    const relay = new SocketRelay(far)
    far.onopen = () => resolve(relay)
    // Later than its opening it changes nothing here.
    far.addEventListener('close', () => resolve(undefined))
  })

/** The answer to a handshake that was refused: the runtime's socket does not tell it, so it is asked for once more. */
const refusalAt = async (url: string, headers: Headers): Promise<Response> => {
  headers.set('connection', 'Upgrade')
  headers.set('upgrade', 'websocket')
  const signal = AbortSignal.timeout(REFUSED_MS)
  const answer = await fetch(url, { headers, signal, redirect: 'manual' })
  return new Response(await answer.bytes(), { status: answer.status, headers: endToEnd(answer.headers) })
}
