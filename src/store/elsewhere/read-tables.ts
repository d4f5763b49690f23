/** Reads tables of another program's PostgreSQL, each row as JSON. */
import { SQL } from 'bun'

/** How long a connection may take to open. */
const CONNECT_SECONDS = 10

/** All rows of those of the tables that there are, by name. Throws what the database says. */
export const readTables = async (
  address: string,
  names: readonly string[],
): Promise<Readonly<Record<string, readonly unknown[]>>> => {
  const sql = new SQL(address, { max: 1, connectionTimeout: CONNECT_SECONDS })
  try {
    const there: readonly { name: string }[] =
      await sql`select table_name as name from information_schema.tables where table_schema = any(current_schemas(false))`
    const known = new Set(there.map(({ name }) => name))
    const all: Record<string, readonly unknown[]> = {}
    for (const name of names) {
      if (!known.has(name)) continue
      const rows: readonly { row: unknown }[] = await sql`select row_to_json(t) as row from ${sql(name)} t`
      all[name] = rows.map(({ row }) => row)
    }
    return all
  } finally {
    await sql.close()
  }
}
