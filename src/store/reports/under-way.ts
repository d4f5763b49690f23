/** Since when charges and refunds may be under way that are not seen yet. */
import type { Instant } from '../../core/time.ts'
import { type Engine, once, statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'

/** Longer than a transaction lives while all is well, and than a clock is set back by who keeps it right. */
export const SETTLED_AFTER_MS = 5 * 60_000

/**
 * Since when a transaction that writes has been under way; now if there is none. A charge has the time at which it is written
 * and is seen when its transaction ends, which a disk that stands still may hold up for as long as it likes. SQLite has one
 * writer at a time.
 */
export const underWaySince = async (engine: Engine): Promise<Instant> => {
  const { name, words } = engine
  const age =
    name === 'sqlite'
      ? '0'
      : `(select coalesce(max(cast(extract(epoch from clock_timestamp() - a.xact_start) * 1000 as bigint)), 0)
         from pg_stat_activity a where a.datname = current_database() and a.backend_xid is not null)`
  const rows = await once(engine, 'control', statement(`select ${words.now} - ${age} as since`))
  return countOf(onlyRow(rows), 'since')
}
