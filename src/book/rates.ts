/**
 * Rates of keys, exact over all processes: what a request needs is taken from the store's windows first, and spent from
 * all windows of the key at once or from none. Keys with a large limit take chunks and return what they did not use; a
 * rejected request takes nothing.
 */
import type { Clock } from '../core/time.ts'
import type { RateStore } from '../store/port.ts'
import type { KeyId } from '../tenancy/key.ts'
import { type RateLimits, rateNames } from '../tenancy/rates.ts'
import {
  type Counter,
  countToTake,
  enter,
  freeOf,
  leftMsOf,
  newCounter,
  remainingOf,
} from './rate-counter.ts'
import type { RateVerdict, TokensAsk } from './words.ts'

/** The windows of one key. */
type KeyRates = {
  limits: RateLimits
  planRpm: number | undefined
  counters: readonly Counter[]
  readonly waiting: Set<TokensAsk>
  taking: Promise<void> | undefined
  spentSinceBeat: boolean
}

const FORGET_MS = 60_000
const NO_TOKENS: TokensAsk = { least: 0, most: 0 }

type Rates = {
  /** `planRpm` binds a key without a rate of requests per minute; undefined leaves it without. */
  take(
    keyId: KeyId,
    limits: RateLimits,
    planRpm: number | undefined,
    tokens?: TokensAsk,
  ): RateVerdict | Promise<RateVerdict>
  /** Returns chunks that lay unused since the last beat. */
  returnIdle(): void
}

type RatesParts = {
  readonly store: RateStore
  readonly clock: Clock
  readonly liveInstances: () => number
}

export const createRates = ({ store, clock, liveInstances }: RatesParts): Rates => {
  const keys = new Map<KeyId, KeyRates>()

  const ratesOf = (keyId: KeyId, limits: RateLimits, planRpm: number | undefined): KeyRates => {
    const known = keys.get(keyId)
    if (known === undefined) {
      const counters = countersFor(limits, planRpm, [])
      const waiting = new Set<TokensAsk>()
      const fresh = { limits, planRpm, counters, waiting, taking: undefined, spentSinceBeat: false }
      keys.set(keyId, fresh)
      return fresh
    }
    if (known.limits !== limits || known.planRpm !== planRpm) {
      const before = known.counters
      known.counters = countersFor(limits, planRpm, before)
      for (const counter of before) if (!known.counters.includes(counter)) giveBack(keyId, counter)
      known.limits = limits
      known.planRpm = planRpm
    }
    return known
  }

  const refill = async (keyId: KeyId, rates: KeyRates): Promise<void> => {
    const askedMs = clock.monotonicMs()
    const instances = liveInstances()
    const { counters } = rates
    const asks = counters.flatMap((counter) => {
      const need = needOf(counter, rates.waiting)
      if (need <= freeOf(counter, askedMs)) return []
      return [{ counter, count: countToTake(counter, need, instances, askedMs) }]
    })
    if (asks.length === 0) return
    const got = await store.takeRates(
      keyId,
      asks.map(({ counter: { rate, limit }, count }) => ({ rate, limit, count })),
    )
    for (const [at, { counter, count }] of asks.entries()) {
      const given = got[at]
      if (given !== undefined) enter(counter, given, { asked: count, askedMs, shared: counters.length > 1 })
    }
  }

  const giveBack = (keyId: KeyId, counter: Counter): void => {
    const { rate, free, startsAt } = counter
    if (free <= 0 || clock.monotonicMs() >= counter.endsMs) return
    counter.free = 0
    counter.used -= free
    // Lost on the way, it is merely not used in this window.
    void store.returnRate(keyId, { rate, windowStart: startsAt, count: free }).catch(() => undefined)
  }

  /** What was taken one by one for a request that was refused elsewhere is for others at once. */
  const giveBackSingles = (keyId: KeyId, { counters, waiting }: KeyRates): void => {
    if (counters.length === 1 || waiting.size > 0) return
    for (const counter of counters) if (counter.single) giveBack(keyId, counter)
  }

  /** Puts back the tokens that a call reserved and did not use, if their window still runs. */
  const correct = (keyId: KeyId, rates: KeyRates, counter: Counter, reserved: number) => {
    const { startsAt } = counter
    let due = reserved
    return (used: number): void => {
      const count = due - Math.min(due, Math.max(0, used))
      due = 0
      if (count === 0) return
      if (counter.startsAt === startsAt && rates.counters.includes(counter) && keys.get(keyId) === rates) {
        counter.free += count
        giveBackSingles(keyId, rates)
      } else
        void store
          .returnRate(keyId, { rate: counter.rate, windowStart: startsAt, count })
          .catch(() => undefined)
    }
  }

  const spend = (
    keyId: KeyId,
    rates: KeyRates,
    tokens: TokensAsk,
    nowMs: number,
  ): RateVerdict | undefined => {
    const { counters } = rates
    for (const counter of counters) if (lacks(counter, tokens, nowMs)) return undefined
    rates.spentSinceBeat = true
    let reserved: RateVerdict['tokens']
    for (const counter of counters) {
      if (counter.rate !== 'tpm') counter.free--
      else if (tokens.most > 0) {
        const count = Math.min(counter.free, tokens.most)
        counter.free -= count
        reserved = {
          limit: counter.limit,
          remaining: remainingOf(counter),
          resetAt: counter.endsAt,
          reserved: count,
          correct: correct(keyId, rates, counter, count),
        }
      }
    }
    const admitted = verdict(tightest(counters), true, nowMs)
    return reserved === undefined ? admitted : { ...admitted, tokens: reserved }
  }

  const takeFromStore = async (keyId: KeyId, rates: KeyRates, asked: TokensAsk): Promise<RateVerdict> => {
    // Each waits for itself, also where several ask for the same.
    const tokens = { ...asked }
    rates.waiting.add(tokens)
    try {
      for (;;) {
        const nowMs = clock.monotonicMs()
        const spent = spend(keyId, rates, tokens, nowMs)
        if (spent) return spent
        const empty = rates.counters.find(
          (counter) => nowMs < counter.emptyUntilMs && lacks(counter, tokens, nowMs),
        )
        if (empty !== undefined) return verdict(empty, false, nowMs)
        rates.taking ??= refill(keyId, rates).finally(() => {
          rates.taking = undefined
        })
        await rates.taking
      }
    } finally {
      rates.waiting.delete(tokens)
      giveBackSingles(keyId, rates)
    }
  }

  return {
    take: (keyId, limits, planRpm, tokens = NO_TOKENS) => {
      const rates = ratesOf(keyId, limits, planRpm)
      return spend(keyId, rates, tokens, clock.monotonicMs()) ?? takeFromStore(keyId, rates, tokens)
    },
    returnIdle: () => {
      const nowMs = clock.monotonicMs()
      for (const [keyId, rates] of keys) {
        const { counters, spentSinceBeat, taking, waiting } = rates
        rates.spentSinceBeat = false
        if (taking !== undefined || waiting.size > 0) continue
        if (counters.every(({ endsMs }) => nowMs >= endsMs + FORGET_MS)) keys.delete(keyId)
        if (spentSinceBeat) continue
        for (const counter of counters) giveBack(keyId, counter)
      }
    },
  }
}

/** After a change of a limit what was taken under the old one stays with the store's count: less is left, never more. */
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

const needOf = ({ rate }: Counter, waiting: ReadonlySet<TokensAsk>): number => {
  if (rate !== 'tpm') return waiting.size
  let sum = 0
  for (const { most } of waiting) sum += most
  return sum
}

/** Whether the store must be asked first. Of tokens the least will do once the store has no more. */
const lacks = (counter: Counter, { least, most }: TokensAsk, nowMs: number): boolean => {
  if (counter.rate !== 'tpm') return nowMs >= counter.endsMs || counter.free <= 0
  if (most === 0) return false
  return freeOf(counter, nowMs) < (nowMs < counter.emptyUntilMs ? least : most)
}

/** Of the windows of requests the one with the fewest left; of equals the longest. */
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
