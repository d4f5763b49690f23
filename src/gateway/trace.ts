/** The trace of one call: its identity and what the log line and the answer's headers tell of it. */
import type { RateVerdict } from '../book/words.ts'
import type { Nano } from '../core/money.ts'
import type { CallId } from '../ledger/words.ts'

export type Trace = {
  callId: CallId
  readonly startedMs: number
  keyId?: string
  model?: string
  vendor?: string
  attempts: number
  firstByteMs?: number
  charged?: Nano
  ended?: string
  /** Called when a stream has ended and its charge is known. */
  onEnded?: () => void
  /** Headers for the answer, whatever it is. */
  readonly headers: Record<string, string>
}

export const newTrace = (callId: CallId, startedMs: number): Trace => ({
  callId,
  startedMs,
  attempts: 0,
  headers: {},
})

/** Headers that every answer of a rate-limited key carries. */
export const rateHeaders = (rate: RateVerdict): Record<string, string> => ({
  'x-ratelimit-limit': String(rate.limit),
  'x-ratelimit-remaining': String(rate.remaining),
  'x-ratelimit-reset': String(Math.ceil(rate.resetAt / 1000)),
})
