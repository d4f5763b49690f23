/** Whether what PostgreSQL acknowledges is on a second machine by then. */
import { type Engine, once } from './engine.ts'
import { onlyRow } from './row.ts'

/**
 * Commits wait for a standby if one is named and they do not say otherwise, and one is there. A user without the right
 * to see how standbys do sees at least that they are.
 */
const ASK = `select case when current_setting('synchronous_standby_names') <> ''
    and current_setting('synchronous_commit') in ('on', 'remote_write', 'remote_apply')
    and exists (select 1 from pg_stat_replication r where coalesce(r.sync_state, 'sync') in ('sync', 'quorum'))
  then 1 else 0 end as synchronous`

/** Whether a commit of calls and people is acknowledged only when a standby has it. A file has none. */
export const isSynchronous = async (engine: Engine): Promise<boolean> =>
  engine.name === 'postgres' && Number(onlyRow(await once(engine, 'control', ASK)).synchronous) === 1
