/** Requests and tokens in the fixed windows of the database's clock: one row per counter, one statement per take. */
import type { KeyId } from '../../tenancy/key.ts'
import { type RateName, rateWindows } from '../../tenancy/rates.ts'
import { AHEAD_MS } from '../engine/due.ts'
import { type Engine, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { RateStore } from './rate-port.ts'

/** The counter of a key's rate; see the migration `rates`. */
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

export const rateStore = (engine: Engine): RateStore => {
  const { now } = engine.words
  const take: { readonly [Name in RateName]: string } = {
    rpm: takeText(now, 'rpm'),
    rph: takeText(now, 'rph'),
    rpd: takeText(now, 'rpd'),
    tpm: takeText(now, 'tpm'),
  }
  const giveBack = `update rate_window set used = case when used < cast($3 as bigint) then 0 else used - cast($3 as bigint) end
    where key_id = $1 and window_start = $2`
  return {
    takeRates: async (keyId, asks) => {
      const taken = await engine.batch(
        'relaxed',
        asks.map(({ rate, count, limit }) => statement(take[rate], counterOf(keyId, rate), count, limit)),
      )
      return taken.map((rows) => {
        const row = onlyRow(rows)
        return {
          taken: countOf(row, 'taken'),
          used: countOf(row, 'used'),
          windowStart: countOf(row, 'window_start'),
          now: countOf(row, 'now'),
        }
      })
    },
    returnRate: async (keyId, { rate, windowStart, count }) => {
      await engine.batch('relaxed', [statement(giveBack, counterOf(keyId, rate), windowStart, count)])
    },
  }
}
