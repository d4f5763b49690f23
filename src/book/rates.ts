/**
 * Requests per minute, exact over all processes: each request is a token taken from the store's window. Keys with a
 * large limit take tokens in chunks and return what they did not use; a rejected request takes none.
 */
import type { Clock } from '../core/time.ts'
import type { RateStore } from '../store/port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { RateVerdict } from './words.ts'

type Window = {
  readonly limit: number
  startsAt: number
  endsAt: number
  /** Monotonic end, early by a margin: a token must not be spent in the next window. */
  endsMs: number
  tokens: number
  used: number
  /** The store had none left; it is asked again from then on. */
  emptyUntilMs: number
  spentSinceBeat: boolean
  waiting: number
  taking: Promise<void> | undefined
}

const WINDOW_MS = 60_000
/** Up to this limit every request is one token of the store: exact to the last, and few enough to ask for each. */
const SINGLE_MAX = 600
const CHUNK_SHARE = 8
/** How soon an empty window is asked again when others may return tokens to it. */
const REASK_MS = 250
const REASK_LEAST_MS = 50
const DRIFT = 0.01

type Rates = {
  take(keyId: KeyId, limit: number): RateVerdict | Promise<RateVerdict>
  /** Returns chunks that lay unused since the last beat. */
  returnIdle(): void
}

type RatesParts = {
  readonly store: RateStore
  readonly clock: Clock
  readonly liveInstances: () => number
}

export const createRates = ({ store, clock, liveInstances }: RatesParts): Rates => {
  const windows = new Map<KeyId, Window>()

  const windowOf = (keyId: KeyId, limit: number): Window => {
    const known = windows.get(keyId)
    if (known !== undefined && known.limit === limit) return known
    // After a change of the limit, tokens of the old one stay with the store's count: fewer are left, never more.
    const fresh = newWindow(limit)
    windows.set(keyId, fresh)
    return fresh
  }

  const refill = async (keyId: KeyId, window: Window): Promise<void> => {
    const askedMs = clock.monotonicMs()
    const left = askedMs < window.endsMs ? window.limit - window.used : window.limit
    const chunk = window.limit <= SINGLE_MAX ? 0 : Math.floor(left / (CHUNK_SHARE * liveInstances()))
    const got = await store.takeRate(keyId, Math.max(window.waiting, chunk), window.limit)
    const sameWindow = window.startsAt === got.windowStart && askedMs < window.endsMs
    window.tokens = got.taken + (sameWindow ? window.tokens : 0)
    window.startsAt = got.windowStart
    window.endsAt = got.windowStart + WINDOW_MS
    window.endsMs = askedMs + Math.max(0, window.endsAt - got.now) * (1 - DRIFT)
    window.used = got.used
    if (got.taken > 0) return
    const untilMs = window.limit <= SINGLE_MAX ? window.endsMs : Math.min(window.endsMs, askedMs + REASK_MS)
    window.emptyUntilMs = Math.max(untilMs, askedMs + REASK_LEAST_MS)
  }

  const spend = (window: Window, nowMs: number): RateVerdict | undefined => {
    if (nowMs >= window.endsMs || window.tokens === 0) return undefined
    window.tokens--
    window.spentSinceBeat = true
    return verdict(window, true, nowMs)
  }

  const verdict = (window: Window, admitted: boolean, nowMs: number): RateVerdict => ({
    admitted,
    limit: window.limit,
    remaining: Math.max(0, window.limit - window.used + window.tokens),
    resetAt: window.endsAt,
    retryAfterMs: Math.max(0, window.endsMs - nowMs) / (1 - DRIFT),
  })

  const takeFromStore = async (keyId: KeyId, window: Window): Promise<RateVerdict> => {
    window.waiting++
    try {
      for (;;) {
        const nowMs = clock.monotonicMs()
        const spent = spend(window, nowMs)
        if (spent) return spent
        if (nowMs < window.emptyUntilMs) return verdict(window, false, nowMs)
        window.taking ??= refill(keyId, window).finally(() => {
          window.taking = undefined
        })
        await window.taking
      }
    } finally {
      window.waiting--
    }
  }

  return {
    take: (keyId, limit) => {
      const window = windowOf(keyId, limit)
      return spend(window, clock.monotonicMs()) ?? takeFromStore(keyId, window)
    },
    returnIdle: () => {
      const nowMs = clock.monotonicMs()
      for (const [keyId, window] of windows) {
        const { tokens, startsAt, spentSinceBeat } = window
        window.spentSinceBeat = false
        if (nowMs >= window.endsMs + WINDOW_MS && window.taking === undefined) windows.delete(keyId)
        if (tokens === 0 || spentSinceBeat || window.taking !== undefined || nowMs >= window.endsMs) continue
        window.tokens = 0
        window.used -= tokens
        // Lost on the way, they are merely not used in this minute.
        void store.returnRate(keyId, startsAt, tokens).catch(() => undefined)
      }
    },
  }
}

const newWindow = (limit: number): Window => ({
  limit,
  startsAt: Number.NEGATIVE_INFINITY,
  endsAt: 0,
  endsMs: Number.NEGATIVE_INFINITY,
  tokens: 0,
  used: 0,
  emptyUntilMs: Number.NEGATIVE_INFINITY,
  spentSinceBeat: false,
  waiting: 0,
  taking: undefined,
})
