/** Since when charges and refunds may be in progress that cannot be seen yet. */
import type { Instant } from '../../core/time.ts'
import { type Engine, once } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'

/** Longer than a transaction normally lives, and than a well-kept clock is ever set back. */
export const SETTLED_AFTER_MS = 5 * 60_000

/**
 * Since when a writing transaction has been in progress; now if there is none. A charge is dated when it is written but
 * becomes visible when its transaction ends, and a stalled disk can delay that indefinitely. SQLite has one writer at a
 * time.
 */
export const underWaySince = async (engine: Engine): Promise<Instant> => {
  const { name, dialect } = engine
  const age =
    name === 'sqlite'
      ? '0'
      : `(select coalesce(max(cast(extract(epoch from clock_timestamp() - a.xact_start) * 1000 as bigint)), 0)
         from pg_stat_activity a where a.datname = current_database() and a.backend_xid is not null)`
  const rows = await once(engine, 'control', `select ${dialect.now} - ${age} as since`)
  return countOf(onlyRow(rows), 'since')
}
