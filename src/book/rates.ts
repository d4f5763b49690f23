/**
 * Rates of keys, exact over all processes. What a request needs is first taken from the store's windows, and then spent
 * from all windows of the key at once, or from none. Keys with a large limit take chunks and return what they did not
 * use; a rejected request takes nothing. A process that serves alone keeps its chunks until their windows end.
 */
import type { Clock } from '../core/time.ts'
import type { RateStore } from '../store/calls/rate-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import { type RateLimits, type RateName, rateNames, rateWindows } from '../tenancy/rates.ts'
import type { RateVerdict, TokenRequest } from './contract.ts'

/** One rate of one key in this process: what it took from the store's window and has not spent yet. */
type Counter = {
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

const newCounter = (rate: RateName, limit: number): Counter => ({
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

const freeOf = (counter: Counter, nowMs: number): number => (nowMs < counter.endsMs ? counter.free : 0)

/**
 * How much to take from the store, beyond what is free, when `need` is needed. A chunk is a share of what a minute may
 * bring: a process that is killed loses at most that, however long the window is.
 */
const countToTake = (counter: Counter, need: number, instances: number, nowMs: number): number => {
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
const enter = (
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
const remainingOf = ({ limit, used, free }: Counter): number => Math.max(0, limit - used + free)

/** Milliseconds until the window ends, at the latest. */
const leftMsOf = ({ endsMs }: Counter, nowMs: number): number => Math.max(0, endsMs - nowMs) / (1 - DRIFT)

type RatesParts = {
  readonly store: RateStore
  readonly clock: Clock
  readonly liveInstances: () => number
}

const FORGET_MS = 60_000

/** The rates of one key in this process: requests spend what was taken from the store's windows, or wait for more. */
class KeyRates {
  readonly #keyId: KeyId
  readonly #parts: RatesParts
  readonly #waiting = new Set<TokenRequest>()
  #limits: RateLimits | undefined
  #planRpm: number | undefined
  #counters: readonly Counter[] = []
  #taking: Promise<void> | undefined
  #returning: Promise<unknown> | undefined
  #spentSinceBeat = false
  #forgotten = false

  constructor(keyId: KeyId, parts: RatesParts) {
    this.#keyId = keyId
    this.#parts = parts
  }

  /** Its windows are long over and nobody waits, so it can be dropped. */
  get forgotten(): boolean {
    return this.#forgotten
  }

  get counters(): readonly Counter[] {
    return this.#counters
  }

  /** Applies these limits from now on; what was taken under others is returned. */
  follow(limits: RateLimits, planRpm: number | undefined): void {
    if (this.#limits === limits && this.#planRpm === planRpm) return
    const before = this.#counters
    this.#counters = countersFor(limits, planRpm, before)
    for (const counter of before) if (!this.#counters.includes(counter)) this.#giveBack(counter)
    this.#limits = limits
    this.#planRpm = planRpm
  }

  /** Counts one request with its tokens in all windows, or in none. */
  take(tokens: TokenRequest): RateVerdict | Promise<RateVerdict> {
    return this.#spend(tokens, this.#parts.clock.monotonicMs()) ?? this.#takeFromStore(tokens)
  }

  /** Returns chunks that were not used since the last beat, unless nobody else could use them. */
  returnIdle(nowMs: number): void {
    const spent = this.#spentSinceBeat
    this.#spentSinceBeat = false
    if (this.#taking !== undefined || this.#waiting.size > 0) return
    this.#forgotten = this.#counters.every(({ endsMs }) => nowMs >= endsMs + FORGET_MS)
    if (spent || this.#parts.liveInstances() <= 1) return
    for (const counter of this.#counters) this.#giveBack(counter)
  }

  #spend(tokens: TokenRequest, nowMs: number): RateVerdict | undefined {
    const counters = this.#counters
    for (const counter of counters) if (lacks(counter, tokens, nowMs)) return undefined
    this.#spentSinceBeat = true
    let reserved: RateVerdict['tokens']
    for (const counter of counters) {
      if (counter.rate !== 'tpm') counter.free--
      else if (tokens.most > 0) reserved = this.#reserve(counter, tokens.most)
    }
    const admitted = verdict(tightest(counters), true, nowMs)
    return reserved === undefined ? admitted : { ...admitted, tokens: reserved }
  }

  #reserve(counter: Counter, most: number): RateVerdict['tokens'] {
    const count = Math.min(counter.free, most)
    counter.free -= count
    return {
      limit: counter.limit,
      remaining: remainingOf(counter),
      resetAt: counter.endsAt,
      reserved: count,
      correct: this.#correct(counter, count),
    }
  }

  /** Gives back the tokens that a call reserved and did not use, if their window still runs. */
  #correct(counter: Counter, reserved: number): (used: number) => void {
    const { startsAt } = counter
    let due = reserved
    return (used) => {
      const count = due - Math.min(due, Math.max(0, used))
      due = 0
      if (count === 0) return
      if (counter.startsAt === startsAt && this.#counters.includes(counter) && !this.#forgotten) {
        counter.free += count
        this.#giveBackSingles()
      } else this.#return(counter, startsAt, count)
    }
  }

  async #takeFromStore(request: TokenRequest): Promise<RateVerdict> {
    // Each waits on its own, even if several ask for the same.
    const tokens = { ...request }
    this.#waiting.add(tokens)
    try {
      for (;;) {
        const nowMs = this.#parts.clock.monotonicMs()
        const spent = this.#spend(tokens, nowMs)
        if (spent) return spent
        const empty = this.#counters.find(
          (counter) => nowMs < counter.emptyUntilMs && lacks(counter, tokens, nowMs),
        )
        if (empty !== undefined) return verdict(empty, false, nowMs)
        this.#taking ??= this.#refill().finally(() => {
          this.#taking = undefined
        })
        await this.#taking
      }
    } finally {
      this.#waiting.delete(tokens)
      this.#giveBackSingles()
    }
  }

  async #refill(): Promise<void> {
    const { store, clock, liveInstances } = this.#parts
    // What this process gave back can be taken again.
    await this.#returning
    const askedMs = clock.monotonicMs()
    const instances = liveInstances()
    const counters = this.#counters
    const asks = counters.flatMap((counter) => {
      const need = needOf(counter, this.#waiting)
      if (need <= freeOf(counter, askedMs)) return []
      return [{ counter, count: countToTake(counter, need, instances, askedMs) }]
    })
    if (asks.length === 0) return
    const got = await store.takeRates(
      this.#keyId,
      asks.map(({ counter: { rate, limit }, count }) => ({ rate, limit, count })),
    )
    for (const [at, { counter, count }] of asks.entries()) {
      const given = got[at]
      if (given !== undefined)
        enter(counter, given, { requested: count, askedMs, shared: counters.length > 1 })
    }
  }

  #giveBack(counter: Counter): void {
    const { free, startsAt } = counter
    if (free <= 0 || this.#parts.clock.monotonicMs() >= counter.endsMs) return
    counter.free = 0
    counter.used -= free
    counter.emptyUntilMs = Number.NEGATIVE_INFINITY
    this.#return(counter, startsAt, free)
  }

  /** Single requests that were taken for a request which another window refused are returned at once. */
  #giveBackSingles(): void {
    if (this.#counters.length === 1 || this.#waiting.size > 0) return
    for (const counter of this.#counters) if (counter.single) this.#giveBack(counter)
  }

  /** If the return gets lost, the tokens are merely not used in their window. */
  #return({ rate }: Counter, windowStart: number, count: number): void {
    const returned = this.#parts.store
      .returnRate(this.#keyId, { rate, windowStart, count })
      .catch(() => undefined)
    const all = Promise.all([this.#returning, returned]).then(() => {
      if (this.#returning === all) this.#returning = undefined
    })
    this.#returning = all
  }
}

/**
 * When a limit changes, what was taken under the old one stays in the store's count: there is less left, never more.
 */
const countersFor = (
  limits: RateLimits,
  planRpm: number | undefined,
  before: readonly Counter[],
): readonly Counter[] =>
  rateNames.flatMap((rate) => {
    const limit = limits[rate] ?? (rate === 'rpm' ? planRpm : undefined)
    if (limit === undefined) return []
    return [before.find((one) => one.rate === rate && one.limit === limit) ?? newCounter(rate, limit)]
  })

const needOf = ({ rate }: Counter, waiting: ReadonlySet<TokenRequest>): number => {
  if (rate !== 'tpm') return waiting.size
  let sum = 0
  for (const { most } of waiting) sum += most
  return sum
}

/** Whether the store must be asked first. For tokens the least suffices once the store has no more. */
const lacks = (counter: Counter, { least, most }: TokenRequest, nowMs: number): boolean => {
  if (counter.rate !== 'tpm') return nowMs >= counter.endsMs || counter.free <= 0
  if (most === 0) return false
  return freeOf(counter, nowMs) < (nowMs < counter.emptyUntilMs ? least : most)
}

/** The window of requests with the fewest left; of equal ones, the longest. */
const tightest = (counters: readonly Counter[]): Counter => {
  let tight: Counter | undefined
  for (const one of counters)
    if (tight === undefined || (one.rate !== 'tpm' && remainingOf(one) <= remainingOf(tight))) tight = one
  if (tight === undefined) throw new Error('a key without any rate is not counted')
  return tight
}

const verdict = (counter: Counter, admitted: boolean, nowMs: number): RateVerdict => ({
  admitted,
  rate: counter.rate,
  limit: counter.limit,
  remaining: remainingOf(counter),
  resetAt: counter.endsAt,
  retryAfterMs: leftMsOf(counter, nowMs),
})

/** What is left of these windows; one that has not begun, as far as this process knows, is whole. */
const leftOf = (counters: readonly Counter[], clock: Clock): RateVerdict | undefined => {
  if (counters.length === 0) return undefined
  const nowMs = clock.monotonicMs()
  const now = clock.now()
  const current = counters.map((counter) =>
    nowMs < counter.endsMs
      ? counter
      : {
          ...newCounter(counter.rate, counter.limit),
          endsAt: now - (now % counter.lengthMs) + counter.lengthMs,
        },
  )
  return verdict(tightest(current), true, nowMs)
}

const NO_TOKENS: TokenRequest = { least: 0, most: 0 }

export type Rates = {
  /** `planRpm` binds a key without its own requests per minute; with undefined such a key has no such limit. */
  take(
    keyId: KeyId,
    limits: RateLimits,
    planRpm: number | undefined,
    tokens?: TokenRequest,
  ): RateVerdict | Promise<RateVerdict>
  /** What is left, as far as this process knows; undefined without any limit. */
  left(keyId: KeyId, limits: RateLimits, planRpm: number | undefined): RateVerdict | undefined
  /** Returns chunks that were not used since the last heartbeat, where another process may need them. */
  returnIdle(): void
}

export const createRates = (parts: RatesParts): Rates => {
  const keys = new Map<KeyId, KeyRates>()

  const ratesOf = (keyId: KeyId): KeyRates => {
    let rates = keys.get(keyId)
    if (rates === undefined) {
      rates = new KeyRates(keyId, parts)
      keys.set(keyId, rates)
    }
    return rates
  }

  return {
    take: (keyId, limits, planRpm, tokens = NO_TOKENS) => {
      const rates = ratesOf(keyId)
      rates.follow(limits, planRpm)
      return rates.take(tokens)
    },
    left: (keyId, limits, planRpm) =>
      leftOf(countersFor(limits, planRpm, keys.get(keyId)?.counters ?? []), parts.clock),
    returnIdle: () => {
      const nowMs = parts.clock.monotonicMs()
      for (const [keyId, rates] of keys) {
        rates.returnIdle(nowMs)
        if (rates.forgotten) keys.delete(keyId)
      }
    },
  }
}
