/** Requests and tokens in the fixed windows of the database's clock: one row per counter, one statement per take. */
import type { Instant } from '../../core/time.ts'
import type { KeyId } from '../../tenancy/key.ts'
import { type RateName, rateWindows } from '../../tenancy/rates.ts'
import { batched } from '../engine/batched.ts'
import { AHEAD_MS } from '../engine/due.ts'
import type { Engine, Run } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { RateStore } from './rate-port.ts'

/** The counter of a key's rate; see the table `rate_window`. */
const counterOf = (keyId: KeyId, rate: RateName): string => (rate === 'rpm' ? keyId : `${keyId} ${rate}`)

const takeText = (now: string, rate: RateName): string => {
  const current = `(${now} / ${rateWindows[rate].lengthMs}) * ${rateWindows[rate].lengthMs}`
  // A window that begins soon is kept; a later one is cut back to now. A count made under a fast clock is kept when the
  // clock is corrected: the window errs on the safe side, and only once.
  const counted = 'rate_window.window_start >= excluded.window_start'
  const soon = `${counted} and rate_window.window_start <= ${now} + ${AHEAD_MS}`
  const grant = (used: string) =>
    `case when $3 - ${used} <= 0 then 0 when $2 < $3 - ${used} then $2 else $3 - ${used} end`.replaceAll(
      /\$(\d)/g,
      'cast($$$1 as bigint)',
    )
  return `insert into rate_window (key_id, window_start, used, taken)
    values ($1, ${current}, ${grant('0')}, ${grant('0')})
    on conflict (key_id) do update set
      window_start = case when ${soon} then rate_window.window_start else excluded.window_start end,
      taken = case when ${counted} then ${grant('rate_window.used')} else excluded.taken end,
      used = case when ${counted} then rate_window.used + ${grant('rate_window.used')} else excluded.used end
    returning used, taken, window_start, ${now} as now`
}

/** Counters of windows that are over wherever the clocks stand, even the longest. */
export const expiredWindows = (now: string): Expired => ({
  table: 'rate_window',
  key: 'key_id',
  where: `x.window_start < ${now} - ${2 * rateWindows.rpd.lengthMs}`,
})

type Take = { readonly keyId: KeyId; readonly asks: Parameters<RateStore['takeRates']>[1] }
type TakeResult = Awaited<ReturnType<RateStore['takeRates']>>[number]
/** One counter of a take: `at` is the place of the take in its batch. */
type Counted = { readonly at: number; readonly counter: string; readonly ask: Take['asks'][number] }
type Return = { readonly counter: string; readonly windowStart: Instant; readonly count: number }

export const rateStore = (engine: Engine): RateStore => {
  const { now } = engine.dialect
  const take: { readonly [Name in RateName]: string } = {
    rpm: takeText(now, 'rpm'),
    rph: takeText(now, 'rph'),
    rpd: takeText(now, 'rpd'),
    tpm: takeText(now, 'tpm'),
  }
  const giveBack = `update rate_window set used = case when used < cast($3 as bigint) then 0 else used - cast($3 as bigint) end
    where key_id = $1 and window_start = $2`
  const takeOne = async (
    run: Run,
    { counter, ask: { rate, count, limit } }: Counted,
  ): Promise<TakeResult> => {
    const row = onlyRow(await run(take[rate], [counter, count, limit]))
    return {
      taken: countOf(row, 'taken'),
      used: countOf(row, 'used'),
      windowStart: countOf(row, 'window_start'),
      now: countOf(row, 'now'),
    }
  }
  const takeTogether = batched<Take, readonly TakeResult[]>(engine, {
    lane: 'relaxed',
    work: async (run, takes) => {
      const counted = takes.flatMap(({ keyId, asks }, at) =>
        asks.map((ask): Counted => ({ at, ask, counter: counterOf(keyId, ask.rate) })),
      )
      const taken = new Map<Counted, TakeResult>()
      // All processes lock counters in one order.
      const inOrder = counted.toSorted((a, b) => (a.counter < b.counter ? -1 : 1))
      await Promise.all(inOrder.map(async (one) => taken.set(one, await takeOne(run, one))))
      return takes.map((_, at) => counted.flatMap((one) => (one.at === at ? (taken.get(one) ?? []) : [])))
    },
    group: () => '',
    name: ({ keyId }) => keyId,
  })
  const giveBackTogether = batched<Return, true>(engine, {
    lane: 'relaxed',
    work: async (run, backs) => {
      const inOrder = backs.toSorted((a, b) => (a.counter < b.counter ? -1 : 1))
      await Promise.all(
        inOrder.map(({ counter, windowStart, count }) => run(giveBack, [counter, windowStart, count])),
      )
      return backs.map(() => true)
    },
    group: () => '',
    name: ({ counter }) => counter,
  })
  return {
    takeRates: (keyId, asks) => takeTogether({ keyId, asks }),
    returnRate: async (keyId, { rate, windowStart, count }) => {
      await giveBackTogether({ counter: counterOf(keyId, rate), windowStart, count })
    },
  }
}
