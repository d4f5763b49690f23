/**
 * One outgoing exchange with a vendor: deadlines, abort, and nothing else.
 *
 * A fault (refused connection, reset, silence) is thrown as VendorFault; an HTTP error status is an answer, not a fault.
 */
import { concat } from '../core/json-body.ts'
import type { VendorFetch } from '../vendors/setup.ts'

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

export type Timeouts = {
  /** To the vendor's status line and its first body byte. */
  readonly firstByteMs: number
  /** Between two pieces of the body. */
  readonly idleMs: number
  /** For the whole call. */
  readonly totalMs: number
}

/** Answers larger than this are a vendor's fault: they would only fill memory. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** How long a body may take to end after all was said. */
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
  /** Ends it once all was said: a body that soon ends by itself leaves its connection to the next call. */
  leave(): void
}

type Outgoing = {
  readonly fetch: VendorFetch
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  readonly timeouts: Timeouts
  /** Told how many bytes of a whole body are about to be kept; throws when they may not be. */
  readonly take?: (bytes: number) => void
  /** Ends the exchange from outside, also before there is an answer. */
  readonly controller?: AbortController
}

/** Sends the request and resolves with the vendor's status. Throws VendorFault. */
export const exchange = async (out: Outgoing): Promise<Exchange> => {
  const controller = out.controller ?? new AbortController()
  const watch = watchdog(controller, out.timeouts)
  let response: Response
  try {
    const init: RequestInit & { timeout: false; decompress: false } = {
      method: 'POST',
      headers: out.headers,
      body: out.body,
      signal: controller.signal,
      redirect: 'manual',
      // Bun's own time-out would cut long streams; the watchdog above knows the deadlines of this call.
      timeout: false,
      // Bodies are asked for as they are. What comes compressed anyway is unpacked here, piece by piece, within bounds.
      decompress: false,
    }
    response = await out.fetch(out.url, init)
  } catch (cause) {
    watch.end()
    const mayBill = !neverSent(cause)
    throw new VendorFault(watch.expired() ?? 'connect', 'the vendor could not be reached', { cause, mayBill })
  }
  return over(response, { controller, watch, take: out.take ?? nothing })
}

type Watch = ReturnType<typeof watchdog>

/** One timer a call, moved forward lazily, so that a stream of many chunks does not arm a timer for each. */
const watchdog = (controller: AbortController, timeouts: Timeouts) => {
  const startedAt = performance.now()
  let progressAt = startedAt
  let begun = false
  let expired: VendorFault['stage'] | undefined
  let release: (() => void) | undefined
  let timer: Timer | undefined
  const arm = () => {
    const now = performance.now()
    const left =
      Math.min(progressAt + (begun ? timeouts.idleMs : timeouts.firstByteMs), startedAt + timeouts.totalMs) -
      now
    if (left <= 0) {
      expired = now - startedAt >= timeouts.totalMs ? 'deadline' : begun ? 'body' : 'first byte'
      controller.abort()
      release?.()
      return
    }
    timer = setTimeout(arm, left)
  }
  arm()
  return {
    /** A piece arrived. */
    progress: () => {
      progressAt = performance.now()
      begun = true
    },
    end: () => clearTimeout(timer),
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

/** The body as it was meant. An encoding that is not known is left to fail where the body is read. */
const bodyOf = ({ body, headers }: Response) => {
  const encoding = headers.get('content-encoding')
  const format = encoding === null ? undefined : ENCODINGS[encoding.trim().toLowerCase()]
  return format === undefined ? body : body?.pipeThrough(new DecompressionStream(format as 'gzip'))
}

const readerOf = (response: Response) => bodyOf(response)?.getReader()

/** The length of a body that comes as it was meant, where it is declared. */
const lengthOf = (headers: Headers): number | undefined => {
  const declared = headers.get('content-length')
  return declared === null || headers.has('content-encoding') ? undefined : Number(declared)
}

type Under = {
  readonly controller: AbortController
  readonly watch: Watch
  readonly take: (bytes: number) => void
}

const over = (response: Response, { controller, watch, take }: Under): Exchange => {
  let reader: ReturnType<typeof readerOf>
  let ended = response.body === null
  const finish = () => {
    ended = true
    watch.end()
  }
  const took = ({
    done,
    value,
  }: {
    done: boolean
    value?: Uint8Array | undefined
  }): Uint8Array | undefined => {
    if (done && watch.expired() !== undefined) return broke(undefined)
    if (done) finish()
    else watch.progress()
    return value
  }
  watch.onExpired(() => void reader?.cancel().catch(() => undefined))
  const broke = (cause: unknown): never => {
    finish()
    throw new VendorFault(watch.expired() ?? 'body', 'the vendor broke off its answer', { cause })
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
    watch.progress()
    const cut = new Promise<never>((_, reject) => watch.onExpired(() => reject(new Error('too slow'))))
    try {
      return await Promise.race([response.bytes(), cut])
    } catch (cause) {
      return broke(cause)
    } finally {
      finish()
    }
  }
  const all = async (): Promise<Uint8Array> => {
    if (ended) return new Uint8Array()
    const declared = lengthOf(response.headers)
    if (declared !== undefined && declared <= ANSWER_BYTES_MAX && reader === undefined)
      return atOnce(declared)
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
    const late = setTimeout(abort, LEAVE_MS)
    const left = next().then((more) => more !== undefined && abort(), nothing)
    void left.finally(() => clearTimeout(late))
  }
  if (ended) watch.end()
  return { status: response.status, headers: response.headers, next, all, abort, leave }
}
