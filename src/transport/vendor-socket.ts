/**
 * One WebSocket to a vendor of the responses dialect. A turn that is asked on it comes back as the event stream with which
 * a call over HTTP is answered. Source: OpenAI guide "WebSocket Mode"; events as in `ResponsesServerEvent` of its library.
 */
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'

/** No event of the answer came, so the turn may be asked in another way. */
export class NotBegun extends Error {
  /** The vendor refused this socket, or what the turn names on it; a new socket would do. */
  readonly renew: boolean

  constructor(message: string, renew = false) {
    super(message)
    this.renew = renew
  }
}

/** A turn as it is asked on a socket. */
type SocketTurn = {
  readonly message: string
  /** Ends the turn, and with it the socket: nothing else stops the vendor. */
  readonly signal: AbortSignal
  /** The response that the message names. Events do not name it, because no call over HTTP names one. */
  readonly previous: string | undefined
  /** Called with the response of a complete answer. */
  readonly completed: (response: JsonObject) => void
}

/** What the vendor remembers on a socket: the response that it completed last, and the items up to its end. */
export type Answered = { readonly id: string; readonly length: number; readonly digest: string }

export type SocketPlace = {
  /** The client's socket, without which this one has no use. */
  readonly owner: object
  /** The conversation on it, the model, and the vendor's key. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** When it takes no more turns. */
  readonly endsMs: number
}

/**
 * How long opening may take, an unused socket stays open, and a vendor may take to close. What is between may forget a
 * silent connection after four minutes without telling, and a turn on it would wait in vain.
 */
const OPEN_MS = 5_000
const IDLE_MS = 200_000
const CLOSE_MS = 1_000
/** A reader that is further behind loses the answer: a socket cannot slow the vendor down. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024

/** Errors after which clients open another socket, or send the whole conversation again. */
const RENEW = /^(?:websocket_connection_limit_reached|previous_response_not_found)$/
/** Events that are read; deltas have none of these words outside of their texts. */
const READ = /"(?:error|response\.(?:completed|incomplete|failed))"/

const encoder = new TextEncoder()

/** An answer in progress. */
class Turn {
  readonly begun = Promise.withResolvers<Response>()
  readonly asked: SocketTurn
  readonly #leave: () => void
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #cancelled = false

  constructor(asked: SocketTurn, leave: () => void) {
    this.asked = asked
    this.#leave = leave
  }

  /** Takes an event. The socket can take the next turn when the answer is `done`, and none when it `failed`. */
  take(text: string): 'more' | 'done' | 'failed' {
    const read = READ.test(text) ? parseJson(text) : undefined
    const event = isObject(read) ? read : {}
    const refused = this.#body === undefined ? refusalIn(event) : undefined
    if (refused !== undefined) {
      if (refused instanceof NotBegun) this.begun.reject(refused)
      else this.begun.resolve(refused)
      return 'failed'
    }
    const body = this.#body ?? this.#begin()
    body.enqueue(encoder.encode(`data: ${this.#withoutPrevious(text).replace(/[\r\n]+/g, ' ')}\n\n`))
    const { type, response } = event
    if (type === 'response.completed' && isObject(response)) this.asked.completed(response)
    const ended = type === 'response.completed' || type === 'response.incomplete'
    if (!ended && type !== 'response.failed' && type !== 'error') {
      if ((body.desiredSize ?? 0) > 0) return 'more'
      this.break('its reader is too far behind')
      return 'failed'
    }
    body.close()
    return ended ? 'done' : 'failed'
  }

  /** Ends it without its last event, which is a fault of the vendor. An error would drop the events that wait. */
  break(why: string): void {
    if (this.#body === undefined) this.begun.reject(new NotBegun(why))
    else if (!this.#cancelled) this.#body.close()
  }

  #begin(): ReadableStreamDefaultController<Uint8Array> {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (body) => {
          this.#body = body
        },
        cancel: () => {
          this.#cancelled = true
          this.#leave()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: UNREAD_BYTES_MAX }),
    )
    this.begun.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
    if (this.#body === undefined) throw new Error('a stream starts at once')
    return this.#body
  }

  #withoutPrevious(text: string): string {
    const { previous } = this.asked
    if (previous === undefined || !text.includes(JSON.stringify(previous))) return text
    const event = parseJson(text)
    if (!isObject(event) || !isObject(event.response)) return text
    return JSON.stringify({ ...event, response: { ...event.response, previous_response_id: null } })
  }
}

/** The answer of an HTTP status that the vendor gave as its first event. */
const refusalIn = ({ type, status, error, headers }: JsonObject): Response | NotBegun | undefined => {
  if (type !== 'error' || typeof status !== 'number' || status < 400 || status > 599) return undefined
  const code = isObject(error) ? String(error.code) : ''
  if (RENEW.test(code)) return new NotBegun(code, true)
  const after = isObject(headers) ? headers['retry-after'] : undefined
  return Response.json(
    { error: error ?? null },
    { status, headers: after === undefined ? {} : { 'retry-after': String(after) } },
  )
}

export class VendorSocket {
  readonly place: SocketPlace
  answered: Answered | undefined
  /** How many turns were asked on it. */
  used = 0
  readonly #socket: Bun.WebSocket
  readonly #closed: (socket: VendorSocket) => void
  #turn: Turn | undefined
  #over = false
  #leaving = false
  /** Closes it when it is not open in time, or not used for long. */
  #late: ReturnType<typeof setTimeout>

  /** Begins to open one; `closed` is called once, whoever closes it. */
  constructor(place: SocketPlace, closed: (socket: VendorSocket) => void) {
    this.place = place
    this.#closed = closed
    // As over HTTP: a compressed answer may be of any size.
    const options: Bun.WebSocketOptions = { headers: place.headers, perMessageDeflate: false }
    // Types of browsers, which the console needs, do not know the options.
    this.#socket = new WebSocket(place.url.replace(/^http/, 'ws'), options as never) as Bun.WebSocket
    this.#late = setTimeout(() => this.close('it did not open in time'), OPEN_MS)
    this.#socket.onopen = () => {
      clearTimeout(this.#late)
      if (this.#turn !== undefined) this.#socket.send(this.#turn.asked.message)
    }
    this.#socket.onmessage = ({ data }) => this.#hear(data)
    this.#socket.onclose = ({ code }) => this.close(`the vendor closed it (${code})`)
    this.#socket.onerror = () => this.close('it failed')
  }

  get busy(): boolean {
    return this.#turn !== undefined
  }

  /** Asks a turn, as soon as it is open. Rejects with NotBegun if it ends before the answer begins. */
  ask(asked: SocketTurn): Promise<Response> {
    const turn = new Turn(asked, () => this.#leave(turn))
    this.#turn = turn
    this.used++
    this.answered = undefined
    asked.signal.addEventListener('abort', () => this.#leave(turn), { once: true })
    if (this.#socket.readyState === WebSocket.OPEN) {
      clearTimeout(this.#late)
      this.#socket.send(asked.message)
    }
    return turn.begun.promise
  }

  /** Closes it once its turn has ended. */
  closeAfterTurn(): void {
    this.#leaving = true
    if (!this.busy) this.close('its client has gone')
  }

  /** Closes it; a turn on it breaks off. */
  close(why: string): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#late)
    this.#turn?.break(why)
    this.#turn = undefined
    this.#socket.close()
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref()
    this.#closed(this)
  }

  #leave(turn: Turn): void {
    if (this.#turn === turn) this.close('nobody waits for the answer')
  }

  /** What is said outside of a turn, or not as text, would be taken for a part of the next answer. */
  #hear(data: unknown): void {
    if (this.#turn === undefined || typeof data !== 'string') {
      this.close('it said what nobody asked')
      return
    }
    const then = this.#turn.take(data)
    if (then === 'more') return
    this.#turn = undefined
    if (then === 'failed' || this.#leaving) this.close('its turn has failed')
    else this.#late = setTimeout(() => this.close('nobody used it'), IDLE_MS).unref()
  }
}
