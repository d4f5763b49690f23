/** The rates of one key in this process: requests spend what was taken from the store's windows, or wait for more. */
import type { Clock } from '../core/time.ts'
import type { RateStore } from '../store/calls/rate-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import { type RateLimits, rateNames } from '../tenancy/rates.ts'
import type { RateVerdict, TokenRequest } from './contract.ts'
import {
  type Counter,
  countToTake,
  enter,
  freeOf,
  leftMsOf,
  newCounter,
  remainingOf,
} from './rate-counter.ts'

export type RatesParts = {
  readonly store: RateStore
  readonly clock: Clock
  readonly liveInstances: () => number
}

const FORGET_MS = 60_000

export class KeyRates {
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

  /** Returns chunks that were not used since the last beat. */
  returnIdle(nowMs: number): void {
    const spent = this.#spentSinceBeat
    this.#spentSinceBeat = false
    if (this.#taking !== undefined || this.#waiting.size > 0) return
    this.#forgotten = this.#counters.every(({ endsMs }) => nowMs >= endsMs + FORGET_MS)
    if (!spent) for (const counter of this.#counters) this.#giveBack(counter)
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
