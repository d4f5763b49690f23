/** What PostgreSQL read, by its own statistics. */
import { SQL } from 'bun'
import { until } from '../until.ts'

/** How many rows of tables, or of all, were read, once all connections have ended: each reports then. */
export const rowsRead = async (url: string, tables?: readonly string[]): Promise<number> => {
  const sql = new SQL({ url, max: 1 })
  const others = `select 1 from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
  await until(async () => (await sql.unsafe(others)).length === 0)
  const named = tables?.map((name) => `'${name}'`).join(', ') ?? 'select relname from pg_stat_user_tables'
  const [{ reads }] = await sql.unsafe(`select cast(sum(idx_tup_read) as int)
    + (select cast(sum(seq_tup_read) as int) from pg_stat_user_tables where relname in (${named})) as reads
    from pg_stat_user_indexes where relname in (${named})`)
  await sql.close()
  return reads
}
