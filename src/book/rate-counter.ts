/** One rate of one key in this process: what it took from the store's window and has not spent yet. */
import { type RateName, rateWindows } from '../tenancy/rates.ts'

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
  /** Taken and not spent. */
  free: number
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
const DRIFT = 0.01

export const newCounter = (rate: RateName, limit: number): Counter => ({
  rate,
  limit,
  lengthMs: rateWindows[rate].lengthMs,
  single: (limit * MINUTE_MS) / rateWindows[rate].lengthMs <= SINGLE_MAX,
  startsAt: Number.NEGATIVE_INFINITY,
  endsAt: 0,
  endsMs: Number.NEGATIVE_INFINITY,
  free: 0,
  used: 0,
  emptyUntilMs: Number.NEGATIVE_INFINITY,
})

export const freeOf = (counter: Counter, nowMs: number): number => (nowMs < counter.endsMs ? counter.free : 0)

/**
 * How much to take from the store, beyond what is free, when `need` is needed. A chunk is a share of what a minute may
 * bring: a process that is killed loses at most that, however long the window is.
 */
export const countToTake = (counter: Counter, need: number, instances: number, nowMs: number): number => {
  const left = nowMs < counter.endsMs ? counter.limit - counter.used : counter.limit
  const chunk = counter.single
    ? 0
    : Math.floor((left * MINUTE_MS) / counter.lengthMs / (CHUNK_SHARE * instances))
  return Math.max(need - freeOf(counter, nowMs), chunk)
}

type Got = {
  readonly taken: number
  readonly used: number
  readonly windowStart: number
  readonly now: number
}

/** Records what the store gave of a request; `shared` when other calls or processes may give back what they took. */
export const enter = (
  counter: Counter,
  got: Got,
  { requested, askedMs, shared }: { requested: number; askedMs: number; shared: boolean },
): void => {
  const sameWindow = counter.startsAt === got.windowStart && askedMs < counter.endsMs
  counter.free = got.taken + (sameWindow ? counter.free : 0)
  counter.startsAt = got.windowStart
  counter.endsAt = got.windowStart + counter.lengthMs
  counter.endsMs = askedMs + Math.max(0, counter.endsAt - got.now) * (1 - DRIFT)
  counter.used = got.used
  if (got.taken >= requested) return
  const untilMs = counter.single && !shared ? counter.endsMs : Math.min(counter.endsMs, askedMs + REASK_MS)
  counter.emptyUntilMs = Math.max(untilMs, askedMs + REASK_LEAST_MS)
}

/** What is left of the window for everyone, as far as this process knows. */
export const remainingOf = ({ limit, used, free }: Counter): number => Math.max(0, limit - used + free)

/** Milliseconds until the window ends, at the latest. */
export const leftMsOf = ({ endsMs }: Counter, nowMs: number): number =>
  Math.max(0, endsMs - nowMs) / (1 - DRIFT)
