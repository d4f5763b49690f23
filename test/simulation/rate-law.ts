/** The law of rates: no window of any length holds more requests, or more tokens reserved and used, than its limit. */
import type { RateVerdict, TokenRequest } from '../../src/book/contract.ts'
import type { Key } from '../../src/tenancy/key.ts'
import { rateNames, rateWindows } from '../../src/tenancy/rates.ts'

type Admitted = { readonly at: number; tokens: number }

type RateLawParts = {
  /** The time of the ledger. */
  readonly now: () => number
  readonly after: (ms: number, then: () => void) => void
  readonly fail: (why: string) => void
  readonly hit: (what: string) => void
}

export const createRateLaw = ({ now, after, fail, hit }: RateLawParts) => {
  const admitted = new Map<string, Admitted[]>()
  let asked = 0

  const check = (key: Key, calls: readonly Admitted[]): void => {
    for (const rate of rateNames) {
      const limit = key.limits[rate]
      if (limit === undefined) continue
      const { lengthMs, counts } = rateWindows[rate]
      const start = Math.floor(now() / lengthMs) * lengthMs
      let sum = 0
      for (const { at, tokens } of calls) if (at >= start) sum += counts === 'tokens' ? tokens : 1
      if (sum > limit) fail(`${sum} ${counts} in a window of ${rate}, more than the limit of ${limit}`)
    }
  }

  return {
    /** What the next call requests: some must have it all, some can do with less. */
    tokens: (): TokenRequest => {
      const most = 100 + ((++asked * 389) % 1_400)
      return { least: asked % 3 === 0 ? Math.ceil(most / 4) : most, most }
    },
    /** Notes an admission; its reservation is corrected by its use a while later, unless the process is dead by then. */
    admitted: (key: Key, { tokens }: RateVerdict, isDead: () => boolean): void => {
      const calls = admitted.get(key.id) ?? []
      admitted.set(key.id, calls)
      const one = { at: now(), tokens: tokens?.reserved ?? 0 }
      calls.push(one)
      check(key, calls)
      if (tokens === undefined) return
      after((asked * 97) % 2_500, () => {
        if (isDead()) return
        hit('rate: tokens corrected')
        one.tokens = Math.floor((tokens.reserved * (asked % 5)) / 5)
        tokens.correct(one.tokens)
      })
    },
  }
}
