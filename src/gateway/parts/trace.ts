/** The trace of one call: its identity, and what its log line and the answer's headers report. */
import type { RateVerdict } from '../../book/contract.ts'
import type { Nano } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import type { Usage } from '../../core/usage.ts'
import type { CallId, FailedTry } from '../../ledger/types.ts'
import type { Condition } from '../../tenancy/conditions.ts'
import type { Key, KeyId } from '../../tenancy/key.ts'
import { rateWindows } from '../../tenancy/rates.ts'
import type { Tags } from '../../tenancy/tags.ts'
import type { Taken } from './capacity.ts'
import type { Span } from './spans.ts'

/** Where a request comes from: the other end of its connection, which may be a proxy's, and its headers. */
export type From = {
  readonly request: { readonly headers: Pick<Headers, 'get'> }
  peer(): string | undefined
}

/** In place of the place of a key of the house. */
export const OWN_KEY = 'own'

export type Trace = {
  callId: CallId
  /** Monotonic milliseconds. */
  readonly startedMs: number
  /** The request's method and its address in the route table, which names nobody. */
  method?: string
  path?: string
  /** The address in the route table, if it runs calls. */
  endpoint?: string
  keyId?: string
  /** Where the request comes from. */
  from?: From
  /** The key whose credential the request has. */
  key?: Key
  /** What the call is for. */
  tags?: Tags | undefined
  /** What guardrails found in it and did: `mask 2` by side and name. */
  guardrails?: Tags
  /** What is asked of where it goes; absent until the rules of its wallet are read. */
  conditions?: readonly Condition[]
  /** Where it went under conditions, and with what they were met. */
  met?: Readonly<Record<string, string>>
  model?: string
  vendor?: string
  /** The place of the vendor's key in its list; `OWN_KEY` for one of the caller's organisation. */
  vendorKey?: string
  attempts: number
  /** From its start until the vendor answered. */
  firstByteMs?: number
  /** What was charged, once the charge is durable. */
  usage?: Usage
  cacheSaved?: Nano | undefined
  charged?: Nano
  ended?: string
  /** Why it was refused. */
  refusal?: Refusal
  /** The attempts at vendors that failed. */
  tries?: FailedTry[]
  /** It only waits for a job, whose outcome is noted when that ends. */
  waits?: boolean
  /**
   * Nothing more happens under this trace: its stream has ended and the charge is known. `ended` may be there before,
   * while the charge is being written.
   */
  over?: boolean
  /** The call goes on after its request was answered, and ends like a stream. */
  background?: boolean
  /** Called when the stream is over. */
  onEnded?: () => void
  /** Called when the reader of a stream in the background has it, or is gone: its call may end before or after. */
  onRead?: () => void
  /** Headers for the answer, whatever that is. */
  readonly headers: Record<string, string>
  readonly times: Times
  readonly taken: Taken
  /** Absent unless the call is traced. */
  span?: Span
}

/** What of its time vendors took, in monotonic milliseconds; all but the first say a moment. */
type Times = {
  /** Spent on attempts that failed. */
  lostMs: number
  /** For the attempt that was answered: when it was sent, when its answer began, and when it ended. Absent for a job. */
  askedMs?: number | undefined
  begunMs?: number
  answeredMs?: number
  /** When the first piece of a stream was ready for its caller. */
  firstOutMs?: number
}

export const newTrace = (callId: CallId, startedMs: number): Trace => ({
  callId,
  startedMs,
  attempts: 0,
  headers: {},
  times: { lostMs: 0 },
  taken: { places: 0, bytes: 0 },
})

/** The key of the request is known: what is taken for it from now on is of the key's share. */
export const noteKey = (trace: Trace, keyId: KeyId): void => {
  trace.keyId = keyId
  trace.taken.owner ??= keyId
}

/** The stream of this trace has ended, and its charge is known. */
export const endStream = (trace: Trace): void => {
  trace.over = true
  trace.onEnded?.()
}

type RateState = Pick<RateVerdict, 'limit' | 'remaining' | 'resetAt'> &
  Partial<Pick<RateVerdict, 'rate' | 'tokens'>>

/**
 * The headers on every answer to a rate-limited key: the window that binds most tightly (named, unless it is requests
 * per minute), and the tokens of the minute.
 */
export const addRateHeaders = ({ headers }: Trace, state: RateState): void => {
  const { rate, limit, remaining, resetAt, tokens } = state
  headers['x-ratelimit-limit'] = String(limit)
  headers['x-ratelimit-remaining'] = String(remaining)
  headers['x-ratelimit-reset'] = secondsOf(resetAt)
  if (rate !== undefined && rate !== 'rpm') headers['x-ratelimit-window'] = rateWindows[rate].member
  if (tokens === undefined) return
  headers['x-ratelimit-limit-tokens'] = String(tokens.limit)
  headers['x-ratelimit-remaining-tokens'] = String(tokens.remaining)
  headers['x-ratelimit-reset-tokens'] = secondsOf(tokens.resetAt)
}

const secondsOf = (at: Instant): string => String(Math.ceil(at / 1000))
