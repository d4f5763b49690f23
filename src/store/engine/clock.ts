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
