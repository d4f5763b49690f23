/**
 * One outgoing exchange with a vendor: deadlines, abort, and nothing else.
 *
 * A fault (refused connection, reset, silence) is thrown as VendorFault; an HTTP error status is an answer, not a fault.
 */
import type { VendorFetch } from '../vendors/setup.ts'

/** Why an exchange ended without what was asked for; `stage` tells what the caller may still do about it. */
export class VendorFault extends Error {
  readonly stage: 'connect' | 'first byte' | 'body' | 'deadline'

  constructor(stage: VendorFault['stage'], message: string, cause?: unknown) {
    super(message, { cause })
    this.stage = stage
  }
}

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

export type Exchange = {
  readonly status: number
  readonly headers: Headers
  /** The next piece of the body; undefined at its end. Throws VendorFault. */
  next(): Promise<Uint8Array | undefined>
  /** The whole body. Throws VendorFault. */
  all(): Promise<Uint8Array>
  /** Ends the exchange at once; harmless when it has ended. */
  abort(): void
}

export type Outgoing = {
  readonly fetch: VendorFetch
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  readonly timeouts: Timeouts
}

/** Sends the request and resolves with the vendor's status. Throws VendorFault. */
export const exchange = async (out: Outgoing): Promise<Exchange> => {
  const controller = new AbortController()
  const watch = watchdog(controller, out.timeouts)
  let response: Response
  try {
    const init: RequestInit & { timeout: false } = {
      method: 'POST',
      headers: out.headers,
      body: out.body,
      signal: controller.signal,
      redirect: 'manual',
      // Bun's own time-out would cut long streams; the watchdog above knows the deadlines of this call.
      timeout: false,
    }
    response = await out.fetch(out.url, init)
  } catch (cause) {
    watch.end()
    throw new VendorFault(watch.expired() ?? 'connect', 'the vendor could not be reached', cause)
  }
  return over(response, controller, watch)
}

type Watch = ReturnType<typeof watchdog>

/** One timer a call, moved forward lazily, so that a stream of many chunks does not arm a timer for each. */
const watchdog = (controller: AbortController, timeouts: Timeouts) => {
  const startedAt = performance.now()
  let progressAt = startedAt
  let limitMs = timeouts.firstByteMs
  let expired: VendorFault['stage'] | undefined
  let timer: Timer | undefined
  const arm = () => {
    const now = performance.now()
    const left = Math.min(progressAt + limitMs, startedAt + timeouts.totalMs) - now
    if (left <= 0) {
      expired =
        now - startedAt >= timeouts.totalMs
          ? 'deadline'
          : limitMs === timeouts.firstByteMs
            ? 'first byte'
            : 'body'
      controller.abort()
      return
    }
    timer = setTimeout(arm, left)
  }
  arm()
  return {
    /** A piece arrived. */
    progress: () => {
      progressAt = performance.now()
      limitMs = timeouts.idleMs
    },
    end: () => clearTimeout(timer),
    expired: () => expired,
  }
}

const readerOf = (response: Response) => response.body?.getReader()

const over = (response: Response, controller: AbortController, watch: Watch): Exchange => {
  let reader: ReturnType<typeof readerOf>
  let ended = response.body === null
  const finish = () => {
    ended = true
    watch.end()
  }
  const next = async (): Promise<Uint8Array | undefined> => {
    if (ended) return undefined
    try {
      reader ??= readerOf(response)
      if (reader === undefined) return undefined
      const { done, value } = await reader.read()
      if (done) {
        finish()
        return undefined
      }
      watch.progress()
      return value
    } catch (cause) {
      finish()
      throw new VendorFault(watch.expired() ?? 'body', 'the vendor broke off its answer', cause)
    }
  }
  const all = async (): Promise<Uint8Array> => {
    if (ended) return new Uint8Array()
    try {
      const declared = Number(response.headers.get('content-length') ?? '0')
      if (declared > ANSWER_BYTES_MAX) throw new Error(`${declared} bytes`)
      return await response.bytes()
    } catch (cause) {
      throw new VendorFault(watch.expired() ?? 'body', 'the vendor broke off its answer', cause)
    } finally {
      finish()
    }
  }
  const abort = () => {
    if (ended) return
    finish()
    controller.abort()
    // Also frees a read that waits on a body which does not follow the signal.
    void reader?.cancel().catch(() => undefined)
  }
  if (ended) watch.end()
  return { status: response.status, headers: response.headers, next, all, abort }
}
