/**
 * The arithmetic of one rate of one key in a process: what it took from the store's windows and has not spent yet, and its
 * share of each window.
 */
import type { Instant } from '../core/time.ts'
import { type RateLimits, type RateName, rateNames, rateWindows } from '../tenancy/rates.ts'

/** What the store gave. */
type Taken = {
  readonly taken: number
  readonly used: number
  readonly windowStart: Instant
  readonly now: Instant
}

export type Counter = {
  readonly rate: RateName
  readonly limit: number
  readonly lengthMs: number
  /** The limit is so small that the store is asked for each request: the count is exact to the last one. */
  readonly single: boolean
  startsAt: number
  endsAt: number
  /** The end in monotonic time, early by a margin: what was taken must not be spent in the next window. */
  endsMs: number
  /** Taken and not spent, with what is left of the share. */
  free: number
  /** What it may use of each window without asking, 0 if nothing; the name of that share, and when it was asked for. */
  share: number
  shareName: string
  shareMs: number
  /** From then on a share is asked for. */
  shareFromMs: number
  /** Taken by all processes, as last reported by the store. */
  used: number
  /** The store had no more left; it is asked again from this time on. */
  emptyUntilMs: number
}

/**
 * Up to this rate per minute, every request takes one from the store. Above it we take chunks, and return what is
 * unused.
 */
const SINGLE_MAX = 600
const MINUTE_MS = 60_000
const CHUNK_SHARE = 8
/** How soon an empty window is asked again, if others may give some back. */
const REASK_MS = 250
const REASK_LEAST_MS = 50
export const DRIFT = 0.01

export const newCounter = (rate: RateName, limit: number): Counter => ({
  rate,
  limit,
  lengthMs: rateWindows[rate].lengthMs,
  single: (limit * MINUTE_MS) / rateWindows[rate].lengthMs <= SINGLE_MAX,
  startsAt: Number.NEGATIVE_INFINITY,
  endsAt: 0,
  endsMs: Number.NEGATIVE_INFINITY,
  free: 0,
  share: 0,
  shareName: '',
  shareMs: 0,
  shareFromMs: Number.NEGATIVE_INFINITY,
  used: 0,
  emptyUntilMs: Number.NEGATIVE_INFINITY,
})

/**
 * How much to take from the store, when so many are missing. A chunk is a share of what a minute may
 * bring: a process that is killed loses at most that, however long the window is.
 */
export const countToTake = (counter: Counter, missing: number, instances: number, nowMs: number): number => {
  const left = nowMs < counter.endsMs ? counter.limit - counter.used : counter.limit
  const chunk = counter.single
    ? 0
    : Math.floor((left * MINUTE_MS) / counter.lengthMs / (CHUNK_SHARE * instances))
  return Math.max(missing, chunk)
}

/** Of each window a process that serves alone may use so much without asking; several share an eighth. */
const ALONE_SHARE = 4
/** A larger limit is taken in chunks anyway. */
const SHARE_MOST = 256

/** The share of a limit that one of several processes may have. */
export const shareOf = (limit: number, instances: number): number => {
  const part = Math.floor(instances <= 1 ? limit / ALONE_SHARE : limit / (CHUNK_SHARE * instances))
  return limit < 2 ? 0 : Math.min(SHARE_MOST, Math.max(1, part))
}

/**
 * Records what the store gave of a request; `shared` when other calls or processes may give back what they took, `agreed`
 * when its clock is the one that this process knew.
 */
export const enter = (
  counter: Counter,
  got: Taken,
  {
    requested,
    askedMs,
    shared,
    agreed,
  }: { requested: number; askedMs: number; shared: boolean; agreed: boolean },
): void => {
  const sameWindow = counter.startsAt === got.windowStart
  // If the clock was set, it may have used the share already, while it took this window for another.
  const begun = agreed && counter.startsAt < got.windowStart ? counter.share : 0
  counter.free = got.taken + (sameWindow ? counter.free : begun)
  counter.startsAt = got.windowStart
  counter.endsAt = got.windowStart + counter.lengthMs
  counter.endsMs = askedMs + Math.max(0, counter.endsAt - got.now) * (1 - DRIFT)
  counter.used = got.used
  if (got.taken >= requested) return
  const untilMs = counter.single && !shared ? counter.endsMs : Math.min(counter.endsMs, askedMs + REASK_MS)
  counter.emptyUntilMs = Math.max(untilMs, askedMs + REASK_LEAST_MS)
}

/**
 * When a limit changes, what was taken under the old one stays in the store's count: there is less left, never more.
 */
export const countersFor = (
  limits: RateLimits,
  planRpm: number | undefined,
  before: readonly Counter[],
): readonly Counter[] =>
  rateNames.flatMap((rate) => {
    const limit = limits[rate] ?? (rate === 'rpm' ? planRpm : undefined)
    if (limit === undefined) return []
    return [before.find((one) => one.rate === rate && one.limit === limit) ?? newCounter(rate, limit)]
  })
