/** The database's clock, which all processes agree on. */
import type { Instant } from '../../core/time.ts'
import { type Engine, type Run, statement, type Words } from './engine.ts'
import { countOf, onlyRow } from './row.ts'

const asked = (now: string): string => `select ${now} as now`

/** The time in a transaction of its own. */
export const clockOf = async ({ words, batch }: Engine): Promise<Instant> =>
  countOf(onlyRow((await batch('control', [statement(asked(words.now))]))[0] ?? []), 'now')

/** The time inside a transaction. */
export const clockIn = async (run: Run, { now }: Words): Promise<Instant> =>
  countOf(onlyRow(await run(asked(now))), 'now')
