/** The database's clock, which all processes agree on. */
import type { Instant } from '../../core/time.ts'
import { type Engine, type Run, type SqlDialect, statement } from './engine.ts'
import { countOf, onlyRow } from './row.ts'

const selectNow = (now: string): string => `select ${now} as now`

/** The time in a transaction of its own. */
export const clockOf = async ({ dialect, batch }: Engine): Promise<Instant> =>
  countOf(onlyRow((await batch('control', [statement(selectNow(dialect.now))]))[0] ?? []), 'now')

/** The time inside a transaction. */
export const clockIn = async (run: Run, { now }: SqlDialect): Promise<Instant> =>
  countOf(onlyRow(await run(selectNow(now))), 'now')

/** The time, and the latest one that the database wrote down before: a clock that was set back shows there. */
export const clocksOf = async ({
  dialect,
  batch,
}: Engine): Promise<{ readonly now: Instant; readonly before: Instant }> => {
  const known = `select max(applied_at) as at from schema_migration
    union all select max(beat_at) from instance
    union all select max(changed_at) from api_key`
  const [rows = []] = await batch('control', [
    statement(`${selectNow(dialect.now)}, (select max(at) from (${known}) known) as before`),
  ])
  const row = onlyRow(rows)
  return { now: countOf(row, 'now'), before: countOf(row, 'before') }
}
