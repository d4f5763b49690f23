/**
 * Rates of keys, exact over all processes. What a request needs is first taken from the store's windows, and then spent
 * from all windows of the key at once, or from none. Keys with a large limit take chunks and return what they did not
 * use; a rejected request takes nothing. A process that serves alone keeps its chunks until their windows end.
 *
 * With its first request of a key a process also gets a share, a part of each window that it uses without asking. The store
 * begins every window as if all shares were used, so a share is only spent where it is certain which window runs.
 */
import {
  type Counter,
  countersFor,
  countToTake,
  DRIFT,
  enter,
  newCounter,
  shareOf,
} from '../admission/rate-counter.ts'
import type { Clock } from '../core/time.ts'
import type { InstanceId } from '../ledger/types.ts'
import type { RateAsk, RateStore } from '../store/calls/rate-port.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { RateLimits } from '../tenancy/rates.ts'
import type { RateVerdict, TokenRequest } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import { Shares } from './rate-shares.ts'

const freeOf = (counter: Counter, nowMs: number): number => (nowMs < counter.endsMs ? counter.free : 0)

/** What is left of the window for everyone, as far as this process knows. */
const remainingOf = ({ limit, used, free }: Counter): number => Math.max(0, limit - used + free)

/** Milliseconds until the window ends, at the latest. */
const leftMsOf = ({ endsMs }: Counter, nowMs: number): number => Math.max(0, endsMs - nowMs) / (1 - DRIFT)

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

type RatesParts = {
  readonly store: RateStore
  readonly clock: Clock
  readonly instance: InstanceId
  readonly heartbeat: Pick<Heartbeat, 'liveInstances' | 'windowAt' | 'agrees'>
  readonly draining: () => boolean
}

type KeyParts = RatesParts & { readonly shares: Shares<KeyRates> }

const FORGET_MS = 60_000
/** A share that was not used for this long ends. */
const SHARE_KEPT_MS = 60 * 60_000
/** How often keys that do not call now are looked at. */
const LOOK_MS = 10_000

/** Shared by all keys that nobody waits for; nothing is added to it. */
const NOBODY = new Set<TokenRequest>()

/** The rates of one key in this process: requests spend what was taken from the store's windows, or wait for more. */
class KeyRates {
  readonly #keyId: KeyId
  readonly #parts: KeyParts
  /** Of most keys nobody waits, and a set takes as much memory as all else here. */
  #waiting = NOBODY
  #limits: RateLimits | undefined
  #planRpm: number | undefined
  #counters: readonly Counter[] = []
  #taking: Promise<void> | undefined
  #returning: Promise<unknown> | undefined
  #spentSinceBeat = false
  #forgotten = false
  /** How often its shares were doubted. */
  #doubts = 0

  constructor(keyId: KeyId, parts: KeyParts) {
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
    for (const counter of before) if (!this.#counters.includes(counter)) this.#end(counter)
    this.#limits = limits
    this.#planRpm = planRpm
  }

  /** Counts one request with its tokens in all windows, or in none. */
  take(tokens: TokenRequest): RateVerdict | Promise<RateVerdict> {
    return this.#spend(tokens, this.#parts.clock.monotonicMs()) ?? this.#takeFromStore(tokens)
  }

  /**
   * Returns chunks that were not used since the last beat, unless nobody else could use them. Returns whether to look again
   * at the next beat.
   */
  returnIdle(nowMs: number): boolean {
    const spent = this.#spentSinceBeat
    this.#spentSinceBeat = false
    if (this.#taking !== undefined || this.#waiting.size > 0) return true
    const instances = this.#parts.heartbeat.liveInstances()
    this.#forgotten = this.#counters.every(
      ({ endsMs, share }) => nowMs >= endsMs + (share > 0 ? SHARE_KEPT_MS : FORGET_MS),
    )
    for (const counter of this.#counters)
      if (counter.share > shareOf(counter.limit, instances) || (this.#forgotten && counter.share > 0))
        this.#end(counter)
    if (spent || instances <= 1) return spent
    for (const counter of this.#counters) this.#giveBack(counter, counter.share)
    return false
  }

  /** Ends its shares; one for each name, or all. */
  endShares(name?: string): void {
    for (const counter of this.#counters)
      if (counter.share > 0 && (name === undefined || counter.shareName === name)) this.#end(counter)
  }

  /**
   * The ledger may count its shares in another window than this process, or not at all: they end. What is unused of the
   * window is only taken back by a ledger that is in that window.
   */
  doubt(fromMs: number): void {
    this.#doubts++
    for (const counter of this.#counters)
      if (counter.share > 0 && counter.shareMs >= fromMs) this.#end(counter, 'unsure')
  }

  /** Resolves when what it returned has reached the store. */
  async returned(): Promise<void> {
    await this.#returning
  }

  #spend(tokens: TokenRequest, nowMs: number): RateVerdict | undefined {
    const counters = this.#counters
    for (const counter of counters) {
      if (counter.share > 0 && nowMs >= counter.endsMs) this.#beginWindow(counter, nowMs)
      if (lacks(counter, tokens, nowMs)) return undefined
    }
    this.#spentSinceBeat = true
    let reserved: RateVerdict['tokens']
    for (const counter of counters) {
      if (counter.rate !== 'tpm') counter.free--
      else if (tokens.most > 0) reserved = this.#reserve(counter, tokens.most)
    }
    const admitted = verdict(tightest(counters), true, nowMs)
    return reserved === undefined ? admitted : { ...admitted, tokens: reserved }
  }

  /** In a window that surely runs the share can be used, once. */
  #beginWindow(counter: Counter, nowMs: number): void {
    const window = this.#parts.heartbeat.windowAt(counter.lengthMs, nowMs)
    if (window === undefined || window.startsAt < counter.startsAt) return
    if (window.startsAt > counter.startsAt) {
      counter.free = counter.share
      counter.used = counter.share
      counter.emptyUntilMs = Number.NEGATIVE_INFINITY
    }
    counter.startsAt = window.startsAt
    counter.endsAt = window.startsAt + counter.lengthMs
    counter.endsMs = nowMs + window.lastsMs
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
    if (this.#waiting === NOBODY) this.#waiting = new Set()
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
      if (this.#waiting.size === 0) this.#waiting = NOBODY
      this.#giveBackSingles()
    }
  }

  async #refill(): Promise<void> {
    const { store, clock, heartbeat, shares } = this.#parts
    // What this process gave back can be taken again.
    await this.#returning
    const askedMs = clock.monotonicMs()
    const doubts = this.#doubts
    const counters = this.#counters
    const asks = counters.flatMap((counter) => {
      const need = needOf(counter, this.#waiting)
      return need <= freeOf(counter, askedMs) ? [] : [{ counter, ask: this.#askFor(counter, need, askedMs) }]
    })
    if (asks.length === 0) return
    const got = await store
      .takeRates(
        this.#keyId,
        asks.map(({ ask }) => ask),
      )
      .catch((error: unknown) => {
        for (const { ask } of asks)
          if (ask.share.size > 0)
            shares.tellAgain({ keyId: this.#keyId, rate: ask.rate, share: ask.share.name })
        throw error
      })
    for (const [at, { counter, ask }] of asks.entries()) {
      const given = got[at]
      if (given === undefined) continue
      const shared = counters.length > 1 || given.kept > counter.share + given.share
      const agreed = heartbeat.agrees(given.now, askedMs)
      enter(counter, given, { requested: ask.count, askedMs, shared, agreed })
      if (ask.share.size > 0) this.#enterShare(counter, { name: ask.share.name, size: given.share, askedMs })
    }
    if (doubts !== this.#doubts) this.doubt(askedMs)
  }

  #askFor(counter: Counter, need: number, nowMs: number): RateAsk & { readonly share: object } {
    const { instance, shares, heartbeat } = this.#parts
    const instances = heartbeat.liveInstances()
    const may = counter.rate !== 'tpm' && counter.share === 0 && nowMs >= counter.shareFromMs && shares.may
    const size = may ? shareOf(counter.limit, instances) : 0
    return {
      rate: counter.rate,
      limit: counter.limit,
      count: Math.max(countToTake(counter, need - freeOf(counter, nowMs), instances, nowMs), size),
      share: { name: size > 0 ? shares.newName() : '', instance, size },
    }
  }

  /** If none was given, the next window is soon enough to ask again. */
  #enterShare(counter: Counter, given: { name: string; size: number; askedMs: number }): void {
    counter.shareFromMs = counter.endsMs
    if (given.size === 0) return
    counter.share = given.size
    counter.shareName = given.name
    counter.shareMs = given.askedMs
    this.#parts.shares.add(given.name, this)
    if (!this.#counters.includes(counter)) this.#end(counter)
  }

  /** Returns what is unused of the window, all but this. */
  #giveBack(counter: Counter, but: number): void {
    const count = counter.free - but
    if (count <= 0 || this.#parts.clock.monotonicMs() >= counter.endsMs) return
    counter.free = but
    counter.used -= count
    counter.emptyUntilMs = Number.NEGATIVE_INFINITY
    this.#return(counter, counter.startsAt, count)
  }

  /** Ends the share of a counter, if it has one, and returns what is unused of the window that runs. */
  #end(counter: Counter, clock: 'sure' | 'unsure' = 'sure'): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (clock === 'sure' && counter.share > 0 && nowMs >= counter.endsMs) this.#beginWindow(counter, nowMs)
    const { share, shareName, free, startsAt, endsMs } = counter
    const unused = nowMs < endsMs ? free : 0
    counter.free = 0
    counter.share = 0
    counter.used -= unused
    counter.shareFromMs = endsMs
    counter.endsMs = Number.NEGATIVE_INFINITY
    counter.emptyUntilMs = Number.NEGATIVE_INFINITY
    if (share > 0) this.#parts.shares.remove(shareName)
    if (unused > 0 || share > 0) this.#return(counter, startsAt, unused, share > 0 ? shareName : undefined)
  }

  /** Single requests that were taken for a request which another window refused are returned at once. */
  #giveBackSingles(): void {
    if (this.#waiting.size > 0) return
    for (const counter of this.#counters) if (counter.single) this.#giveBack(counter, counter.share)
  }

  /** If the return gets lost, the tokens are merely not used in their window; that a share ended is told again. */
  #return({ rate }: Counter, windowStart: number, count: number, share?: string): void {
    const { store, shares } = this.#parts
    const returned = store
      .returnRate(this.#keyId, { rate, windowStart, count, ...(share === undefined ? {} : { share }) })
      .catch(() => share !== undefined && shares.tellAgain({ keyId: this.#keyId, rate, share }))
    const all = Promise.all([this.#returning, returned]).then(() => {
      if (this.#returning === all) this.#returning = undefined
    })
    this.#returning = all
  }
}

const needOf = ({ rate }: Counter, waiting: ReadonlySet<TokenRequest>): number => {
  if (rate !== 'tpm') return waiting.size
  let sum = 0
  for (const { most } of waiting) sum += most
  return sum
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
  /**
   * Takes in a heartbeat. Shares that were asked for from `doubtFromMs` on may be forgotten, or counted by another clock.
   */
  beaten(beat: {
    readonly recalledShares: readonly string[]
    readonly allShare: boolean
    readonly doubtFromMs: number
  }): void
  /** Ends all shares and returns what is unused; resolves when the store knows. */
  end(): Promise<void>
}

export const createRates = (given: RatesParts): Rates => {
  const shares = new Shares<KeyRates>(given)
  const parts: KeyParts = { ...given, shares }
  const keys = new Map<KeyId, KeyRates>()
  /** Those that were used since they were last found idle: only these are looked at with each heartbeat. */
  const active = new Map<KeyId, KeyRates>()
  let instances = 0
  let lookedMs = Number.NEGATIVE_INFINITY

  const ratesOf = (keyId: KeyId): KeyRates => {
    let rates = keys.get(keyId)
    if (rates === undefined) {
      rates = new KeyRates(keyId, parts)
      keys.set(keyId, rates)
    }
    active.set(keyId, rates)
    return rates
  }
  const returnIdle = (): void => {
    const nowMs = given.clock.monotonicMs()
    const live = given.heartbeat.liveInstances()
    const all = live !== instances || nowMs >= lookedMs + LOOK_MS
    if (all) lookedMs = nowMs
    instances = live
    for (const [keyId, rates] of all ? keys : active) {
      if (rates.returnIdle(nowMs)) active.set(keyId, rates)
      else active.delete(keyId)
      if (rates.forgotten) keys.delete(keyId)
    }
  }

  return {
    take: (keyId, limits, planRpm, tokens = NO_TOKENS) => {
      const rates = ratesOf(keyId)
      rates.follow(limits, planRpm)
      return rates.take(tokens)
    },
    left: (keyId, limits, planRpm) =>
      leftOf(countersFor(limits, planRpm, keys.get(keyId)?.counters ?? []), given.clock),
    beaten: ({ recalledShares, allShare, doubtFromMs }) => {
      if (doubtFromMs < Number.POSITIVE_INFINITY) for (const rates of keys.values()) rates.doubt(doubtFromMs)
      if (!allShare) for (const rates of shares.all()) rates.endShares()
      shares.allKnow = allShare
      for (const name of recalledShares) shares.of(name)?.endShares(name)
      shares.tell()
      returnIdle()
    },
    end: async () => {
      for (const rates of shares.all()) rates.endShares()
      await Promise.all([...keys.values()].map((rates) => rates.returned()))
    },
  }
}
