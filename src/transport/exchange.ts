/**
 * One outgoing exchange with a vendor: deadlines, abort, and nothing else.
 *
 * A fault (refused connection, reset, silence) is thrown as VendorFault; an HTTP error status is an answer, not a fault.
 */
import { concat } from '../core/json-body.ts'
import type { Counting, Requester } from './requester.ts'
import { neverSent, VendorFault } from './vendor-fault.ts'
import { NOWHERE, unwatch, type Watched, watch } from './watch.ts'

type Timeouts = {
  /** Until the vendor's status line and its first body byte. */
  readonly firstByteMs: number
  /** Between two pieces of the body. */
  readonly idleMs: number
  /** For the whole call. */
  readonly totalMs: number
}

/** Larger answers are the vendor's fault: they would only fill memory. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Longer answers of declared length are read in pieces, because each piece is a sign of life. */
const AT_ONCE_BYTES = 1024 * 1024

/** How long a body may take to end after its last event. */
const LEAVE_MS = 1_000

const nothing = (): void => undefined
const nobody: Requester & Counting = {
  keyId: '',
  hasGone: () => false,
  onGone: nothing,
  onSend: nothing,
  onWhole: nothing,
  take: nothing,
  weigh: nothing,
}

type ExchangeRequest = {
  readonly fetch: (url: string, init: RequestInit, asker?: Requester) => Promise<Response>
  readonly url: string
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly timeouts: Timeouts
  readonly asker?: Requester
  readonly counting?: Counting
  /** Ends the exchange from outside, even before there is an answer. */
  readonly controller?: AbortController
}

/** Sends the request and resolves with the vendor's status. Throws VendorFault. */
export const exchange = async (out: ExchangeRequest): Promise<Exchange> => {
  const it = new Exchange(out)
  const init: RequestInit & { timeout: false; decompress: false } = {
    method: out.method ?? 'POST',
    headers: out.headers,
    signal: it.controller.signal,
    redirect: 'manual',
    // Bun's own time-out would cut long streams; the exchange enforces the deadlines of this call itself.
    timeout: false,
    // We ask for uncompressed bodies. What comes compressed anyway is unpacked here, piece by piece, within bounds.
    decompress: false,
  }
  if (out.body.length > 0 || out.method !== 'GET') init.body = out.body as Uint8Array<ArrayBuffer>
  try {
    it.begin(await out.fetch(out.url, init, out.asker))
    return it
  } catch (cause) {
    return it.unreached(cause)
  }
}

/** The runtime's names for the HTTP encodings that it can undo. */
const ENCODINGS: Readonly<Record<string, string>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'brotli',
  zstd: 'zstd',
}

/** The decoded body. An unknown encoding fails when the body is read. */
const bodyOf = ({ body, headers }: Response) => {
  const encoding = headers.get('content-encoding')
  const format = encoding === null ? undefined : ENCODINGS[encoding.trim().toLowerCase()]
  return format === undefined ? body : body?.pipeThrough(new DecompressionStream(format as 'gzip'))
}

const readerOf = (response: Response) => bodyOf(response)?.getReader()

/** The declared length of a body that comes without an encoding. */
const lengthOf = (headers: Headers): number | undefined => {
  const declared = headers.get('content-length')
  return declared === null || headers.has('content-encoding') ? undefined : Number(declared)
}

type Piece = { readonly done: boolean; readonly value?: Uint8Array | undefined }

export class Exchange implements Watched {
  at = NOWHERE
  readonly controller: AbortController
  readonly #asker: Requester
  readonly #counting: Counting
  readonly #timeouts: Timeouts
  readonly #startedMs = performance.now()
  #idleMs: number
  /** Pieces that arrived. They are only counted: if a look finds more than the last one did, that is a sign of life. */
  #pieces = 0
  #seen = 0
  #progressMs = this.#startedMs
  #goneReported = false
  #expired: VendorFault['stage'] | undefined
  #answer: Response | undefined
  #ended = false
  #reader: ReturnType<typeof readerOf>
  /** Frees a reader whose body does not follow the signal. */
  #free: ((fault: Error) => void) | undefined
  /** Bound once, because a stream uses it for every piece. */
  #took: ((piece: Piece) => Uint8Array | undefined) | undefined
  #broke: ((cause: unknown) => never) | undefined

  constructor(out: ExchangeRequest) {
    const { asker = nobody, counting = nobody, controller = new AbortController(), timeouts } = out
    this.#asker = asker
    this.#counting = counting
    this.controller = controller
    this.#timeouts = timeouts
    this.#idleMs = timeouts.idleMs
    watch(this)
  }

  /** The vendor has answered. */
  begin(answer: Response): void {
    this.#answer = answer
    if (answer.body === null) this.#finish()
  }

  unreached(cause: unknown): never {
    unwatch(this)
    const mayBill = !neverSent(cause)
    throw new VendorFault(this.#expired ?? 'connect', 'the vendor could not be reached', { cause, mayBill })
  }

  get #response(): Response {
    if (this.#answer === undefined) throw new Error('the vendor has not answered yet')
    return this.#answer
  }

  get status(): number {
    return this.#response.status
  }

  get headers(): Headers {
    return this.#response.headers
  }

  /** Ends an exchange that is late. */
  look(nowMs: number): void {
    if (!this.#goneReported && this.#asker.hasGone()) {
      this.#goneReported = true
      this.#asker.onGone()
    }
    if (this.#pieces > this.#seen) {
      this.#seen = this.#pieces
      this.#progressMs = nowMs
    }
    const begun = this.#pieces > 0
    const over = nowMs - this.#startedMs >= this.#timeouts.totalMs
    const patienceMs = begun ? this.#idleMs : this.#timeouts.firstByteMs
    if (!over && nowMs - this.#progressMs < patienceMs) return
    unwatch(this)
    this.#expired = over ? 'deadline' : begun ? 'body' : 'first byte'
    this.controller.abort()
    this.#free?.(new Error('too slow'))
    this.#cancel()
  }

  /** The next piece of the body; undefined at its end. Throws VendorFault. */
  next(): Promise<Uint8Array | undefined> {
    if (this.#ended) return Promise.resolve(undefined)
    this.#reader ??= readerOf(this.#response)
    if (this.#reader === undefined) return Promise.resolve(undefined)
    // One promise per piece, not one per step.
    this.#took ??= (piece) => this.#take(piece)
    this.#broke ??= (cause) => this.#break(cause)
    return this.#reader.read().then(this.#took, this.#broke)
  }

  /** The whole body. Throws VendorFault. */
  async all(): Promise<Uint8Array> {
    if (this.#ended) return new Uint8Array()
    const declared = lengthOf(this.#response.headers)
    const known = declared !== undefined && declared <= ANSWER_BYTES_MAX && this.#reader === undefined
    const body = await (!known
      ? this.#inPieces()
      : declared <= AT_ONCE_BYTES
        ? this.#atOnce(declared)
        : this.#filled(declared))
    this.#asker.onWhole()
    this.#counting.weigh(body)
    return body
  }

  /** Ends the exchange at once; harmless when it has ended. */
  abort(): void {
    if (this.#ended) return
    this.#finish()
    this.controller.abort()
    this.#cancel()
  }

  /** Ends it after the last event: if the body soon ends by itself, its connection can serve the next call. */
  leave(): void {
    this.#idleMs = LEAVE_MS
    this.#pieces++
    void this.next().then((more) => more !== undefined && this.abort(), nothing)
  }

  #finish(): void {
    this.#ended = true
    unwatch(this)
  }

  #take({ done, value }: Piece): Uint8Array | undefined {
    if (done && this.#expired !== undefined) return this.#break(undefined)
    if (done) this.#finish()
    else this.#pieces++
    return value
  }

  #break(cause: unknown): never {
    this.#finish()
    throw new VendorFault(this.#expired ?? 'body', 'the vendor broke off its answer', { cause })
  }

  /** Frees a read that waits on a body which does not follow the signal. */
  #cancel(): void {
    void this.#reader?.cancel().catch(nothing)
  }

  /** A body of declared length is read in one step; its bytes are counted before. */
  async #atOnce(length: number): Promise<Uint8Array> {
    this.#keep(length)
    this.#pieces++
    const ends = Promise.withResolvers<Uint8Array>()
    this.#free = ends.reject
    this.#response.bytes().then(ends.resolve, ends.reject)
    try {
      const body = await ends.promise
      this.#finish()
      return body
    } catch (cause) {
      return this.#break(cause)
    }
  }

  /** A longer one fills what its length needs, which is counted before. */
  async #filled(length: number): Promise<Uint8Array> {
    this.#keep(length)
    const body = new Uint8Array(length)
    let at = 0
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      body.set(piece, at)
      at += piece.length
    }
    return at === length ? body : body.subarray(0, at)
  }

  async #inPieces(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let length = 0
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      length += piece.length
      if (length > ANSWER_BYTES_MAX) {
        this.abort()
        throw new VendorFault('body', `an answer of more than ${ANSWER_BYTES_MAX} bytes`)
      }
      this.#keep(piece.length)
      pieces.push(piece)
    }
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : concat(pieces)
  }

  /** Counts bytes that are about to be kept; if they may not be, reading stops. */
  #keep(bytes: number): void {
    try {
      this.#counting.take(bytes)
    } catch (refused) {
      this.abort()
      throw refused
    }
  }
}
