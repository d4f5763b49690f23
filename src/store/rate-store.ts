/** Requests per minute in the fixed windows of the database's clock: one row a key, one statement a take. */
import { type Engine, once, statement } from './engine.ts'
import type { RateStore } from './port.ts'
import { countOf, onlyRow } from './row.ts'

const WINDOW_MS = 60_000

export const rateStore = (engine: Engine): RateStore => {
  const { now } = engine.words
  const current = `(${now} / ${WINDOW_MS}) * ${WINDOW_MS}`
  // A window that starts later than now was written under a clock that was ahead: it still counts.
  const running = 'rate_window.window_start >= excluded.window_start'
  const grant = (used: string) =>
    `case when $3 - ${used} <= 0 then 0 when $2 < $3 - ${used} then $2 else $3 - ${used} end`.replaceAll(
      /\$(\d)/g,
      'cast($$$1 as bigint)',
    )
  const take = `insert into rate_window (key_id, window_start, used, taken)
    values ($1, ${current}, ${grant('0')}, ${grant('0')})
    on conflict (key_id) do update set
      window_start = case when ${running} then rate_window.window_start else excluded.window_start end,
      taken = case when ${running} then ${grant('rate_window.used')} else excluded.taken end,
      used = case when ${running} then rate_window.used + ${grant('rate_window.used')} else excluded.used end
    returning used, taken, window_start, ${now} as now`
  const giveBack = `update rate_window set used = case when used < cast($3 as bigint) then 0 else used - cast($3 as bigint) end
    where key_id = $1 and window_start = $2`
  return {
    takeRate: async (keyId, count, limit) => {
      const row = onlyRow(await once(engine, 'relaxed', statement(take, keyId, count, limit)))
      return {
        taken: countOf(row, 'taken'),
        used: countOf(row, 'used'),
        windowStart: countOf(row, 'window_start'),
        now: countOf(row, 'now'),
      }
    },
    returnRate: async (keyId, windowStart, count) => {
      await once(engine, 'relaxed', statement(giveBack, keyId, windowStart, count))
    },
  }
}
