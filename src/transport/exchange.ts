/**
 * One outgoing exchange with a vendor: deadlines, abort, and nothing else.
 *
 * A fault (refused connection, reset, silence) is thrown as VendorFault; an HTTP error status is an answer, not a fault.
 */
import { concat } from '../core/json-body.ts'
import type { VendorFetch } from '../vendors/setup.ts'
import { unwatch, watch } from './watch.ts'

/** Why an exchange ended without what was asked for; `stage` tells what the caller may still do about it. */
export class VendorFault extends Error {
  readonly stage: 'connect' | 'first byte' | 'body' | 'deadline'
  /** Whether the vendor may have taken the request, and bill it: asked again, it might be paid twice. */
  readonly mayBill: boolean

  constructor(
    stage: VendorFault['stage'],
    message: string,
    { cause, mayBill = stage !== 'connect' }: { readonly cause?: unknown; readonly mayBill?: boolean } = {},
  ) {
    super(message, { cause })
    this.stage = stage
    this.mayBill = mayBill
  }
}

/** Codes of a connection that was never made: no name, no route, nobody who listens, no certificate to trust. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ConnectionRefused|FailedToOpenSocket|CERT_.*|.*_CERT(_.*)?|ERR_TLS_CERT.*)$/

const neverSent = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && NEVER_SENT.test(String(cause.code))

type Timeouts = {
  /** To the vendor's status line and its first body byte. */
  readonly firstByteMs: number
  /** Between two pieces of the body. */
  readonly idleMs: number
  /** For the whole call. */
  readonly totalMs: number
}

/** Answers larger than this are a vendor's fault: they would only fill memory. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** How long a body may take to end after its last event. */
const LEAVE_MS = 1_000

export type Exchange = {
  readonly status: number
  readonly headers: Headers
  /** The next piece of the body; undefined at its end. Throws VendorFault. */
  next(): Promise<Uint8Array | undefined>
  /** The whole body. Throws VendorFault. */
  all(): Promise<Uint8Array>
  /** Ends the exchange at once; harmless when it has ended. */
  abort(): void
  /** Ends it after the last event: a body that soon ends by itself leaves its connection to the next call. */
  leave(): void
}

type ExchangeRequest = {
  readonly fetch: VendorFetch
  readonly url: string
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly timeouts: Timeouts
  /** Called with the number of bytes of a whole body that are about to be kept; throws when they may not be. */
  readonly take?: (bytes: number) => void
  /** Called with a whole body before it is handed on; throws when what it will be parsed to may not be kept. */
  readonly weigh?: (body: Uint8Array) => void
  /** Ends the exchange from outside, also before there is an answer. */
  readonly controller?: AbortController
  /** Who waits for the answer; that they have gone is told once, within a look of the watch. */
  readonly caller?: { readonly signal: AbortSignal; readonly onGone: () => void }
}

/** Sends the request and resolves with the vendor's status. Throws VendorFault. */
export const exchange = async (out: ExchangeRequest): Promise<Exchange> => {
  const controller = out.controller ?? new AbortController()
  const watchdog = startWatchdog(controller, out.timeouts, out.caller)
  let response: Response
  try {
    const init: RequestInit & { timeout: false; decompress: false } = {
      method: out.method ?? 'POST',
      headers: out.headers,
      ...(out.body.length === 0 && out.method === 'GET' ? {} : { body: out.body }),
      signal: controller.signal,
      redirect: 'manual',
      // Bun's own time-out would cut long streams; the watchdog above knows the deadlines of this call.
      timeout: false,
      // Bodies are asked for as they are. What comes compressed anyway is unpacked here, piece by piece, within bounds.
      decompress: false,
    }
    response = await out.fetch(out.url, init)
  } catch (cause) {
    watchdog.end()
    const mayBill = !neverSent(cause)
    throw new VendorFault(watchdog.expired() ?? 'connect', 'the vendor could not be reached', {
      cause,
      mayBill,
    })
  }
  return over(response, { controller, watchdog, take: out.take ?? nothing, weigh: out.weigh ?? nothing })
}

type Watchdog = ReturnType<typeof startWatchdog>

/** Ends an exchange that is late. Pieces are only counted: a look that finds more than the last one counts as a sign of life. */
const startWatchdog = (
  controller: AbortController,
  timeouts: Timeouts,
  caller: ExchangeRequest['caller'],
) => {
  const startedAt = performance.now()
  let pieces = 0
  let seen = 0
  let progressAt = startedAt
  let expired: VendorFault['stage'] | undefined
  let { idleMs } = timeouts
  let release: (() => void) | undefined
  let gone = false
  const watched = watch((nowMs) => {
    if (!gone && caller?.signal.aborted === true) {
      gone = true
      caller.onGone()
    }
    if (pieces > seen) {
      seen = pieces
      progressAt = nowMs
    }
    const begun = pieces > 0
    const over = nowMs - startedAt >= timeouts.totalMs
    if (!over && nowMs - progressAt < (begun ? idleMs : timeouts.firstByteMs)) return
    unwatch(watched)
    expired = over ? 'deadline' : begun ? 'body' : 'first byte'
    controller.abort()
    release?.()
  })
  return {
    /** A piece arrived. */
    progress: () => {
      pieces++
    },
    /** From now on little more is waited for. */
    hurry: () => {
      idleMs = LEAVE_MS
      pieces++
    },
    end: () => unwatch(watched),
    /** Frees what waits on a body that does not follow the signal. */
    onExpired: (free: () => void) => {
      release = free
    },
    expired: () => expired,
  }
}

const nothing = (): void => undefined

/** How the runtime names the encodings of HTTP that it can undo. */
const ENCODINGS: Readonly<Record<string, string>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'brotli',
  zstd: 'zstd',
}

/** The decoded body. An encoding that is not known fails where the body is read. */
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

type ExchangeParts = {
  readonly controller: AbortController
  readonly watchdog: Watchdog
  readonly take: (bytes: number) => void
  readonly weigh: (body: Uint8Array) => void
}

const over = (response: Response, { controller, watchdog, take, weigh }: ExchangeParts): Exchange => {
  let reader: ReturnType<typeof readerOf>
  let ended = response.body === null
  const finish = () => {
    ended = true
    watchdog.end()
  }
  const took = ({
    done,
    value,
  }: {
    done: boolean
    value?: Uint8Array | undefined
  }): Uint8Array | undefined => {
    if (done && watchdog.expired() !== undefined) return broke(undefined)
    if (done) finish()
    else watchdog.progress()
    return value
  }
  watchdog.onExpired(() => void reader?.cancel().catch(() => undefined))
  const broke = (cause: unknown): never => {
    finish()
    throw new VendorFault(watchdog.expired() ?? 'body', 'the vendor broke off its answer', { cause })
  }
  // Called for every piece of a stream: one promise each, not one for every step.
  const next = (): Promise<Uint8Array | undefined> => {
    if (!ended) reader ??= readerOf(response)
    return ended || reader === undefined ? Promise.resolve(undefined) : reader.read().then(took, broke)
  }
  /** A body whose length is declared is read in one step: its bytes are counted before. */
  const atOnce = async (length: number): Promise<Uint8Array> => {
    try {
      take(length)
    } catch (refused) {
      abort()
      throw refused
    }
    watchdog.progress()
    try {
      return await new Promise((resolve, reject) => {
        // A body that does not follow the signal is given up all the same.
        watchdog.onExpired(() => reject(new Error('too slow')))
        response.bytes().then(resolve, reject)
      })
    } catch (cause) {
      return broke(cause)
    } finally {
      finish()
    }
  }
  const all = async (): Promise<Uint8Array> => {
    if (ended) return new Uint8Array()
    const declared = lengthOf(response.headers)
    const known = declared !== undefined && declared <= ANSWER_BYTES_MAX && reader === undefined
    const body = await (known ? atOnce(declared) : inPieces())
    weigh(body)
    return body
  }
  const inPieces = async (): Promise<Uint8Array> => {
    const pieces: Uint8Array[] = []
    let length = 0
    for (let piece = await next(); piece !== undefined; piece = await next()) {
      length += piece.length
      try {
        if (length > ANSWER_BYTES_MAX)
          throw new VendorFault('body', `an answer of more than ${ANSWER_BYTES_MAX} bytes`)
        take(piece.length)
      } catch (refused) {
        abort()
        throw refused
      }
      pieces.push(piece)
    }
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : concat(pieces)
  }
  const abort = () => {
    if (ended) return
    finish()
    controller.abort()
    // Also frees a read that waits on a body which does not follow the signal.
    void reader?.cancel().catch(() => undefined)
  }
  const leave = () => {
    watchdog.hurry()
    void next().then((more) => more !== undefined && abort(), nothing)
  }
  if (ended) watchdog.end()
  return { status: response.status, headers: response.headers, next, all, abort, leave }
}
