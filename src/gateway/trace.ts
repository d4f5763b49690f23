/** The trace of one call: its identity and what the log line and the answer's headers tell of it. */
import type { RateVerdict } from '../book/words.ts'
import type { Nano } from '../core/money.ts'
import type { Instant } from '../core/time.ts'
import type { CallId } from '../ledger/words.ts'
import { rateWindows } from '../tenancy/rates.ts'

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
  /** For whom places and bytes are taken; see doors.ts. */
  owner?: string
  places: number
  bytes: number
  /** Called when a stream has ended and its charge is known. */
  onEnded?: () => void
  /** Headers for the answer, whatever it is. */
  readonly headers: Record<string, string>
}

export const newTrace = (callId: CallId, startedMs: number): Trace => ({
  callId,
  startedMs,
  attempts: 0,
  places: 0,
  bytes: 0,
  headers: {},
})

type Told = Pick<RateVerdict, 'limit' | 'remaining' | 'resetAt'> &
  Partial<Pick<RateVerdict, 'rate' | 'tokens'>>

/**
 * Headers that every answer of a rate-limited key carries: of the window that binds most tightly, which is named unless it
 * is the one of requests per minute, and of its tokens.
 */
export const rateHeaders = ({ rate, limit, remaining, resetAt, tokens }: Told): Record<string, string> => {
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': secondsOf(resetAt),
  }
  if (rate !== undefined && rate !== 'rpm') headers['x-ratelimit-window'] = rateWindows[rate].member
  if (tokens === undefined) return headers
  headers['x-ratelimit-limit-tokens'] = String(tokens.limit)
  headers['x-ratelimit-remaining-tokens'] = String(tokens.remaining)
  headers['x-ratelimit-reset-tokens'] = secondsOf(tokens.resetAt)
  return headers
}

const secondsOf = (at: Instant): string => String(Math.ceil(at / 1000))
