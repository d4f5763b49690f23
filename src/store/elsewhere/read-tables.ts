/** Reads tables of another program's database: PostgreSQL, MySQL or a file of SQLite. Nothing is written to it. */
import { open } from 'node:fs/promises'
import { SQL } from 'bun'

/** How long a connection may take to open. */
const CONNECT_SECONDS = 10

type Kind = {
  /** The names of all tables. */
  readonly tables: string
  /** What one row is. PostgreSQL writes its arrays, times and documents as JSON by itself. */
  readonly row: string
}

const kinds: Readonly<Record<'postgres' | 'mysql' | 'sqlite', Kind>> = {
  postgres: {
    tables:
      'select table_name as name from information_schema.tables where table_schema = any(current_schemas(false))',
    row: 'row_to_json(t) as row',
  },
  mysql: {
    tables: 'select table_name as name from information_schema.tables where table_schema = database()',
    row: 't.*',
  },
  sqlite: { tables: `select name from sqlite_master where type = 'table'`, row: 't.*' },
}

/** With what a file of SQLite begins. Source: sqlite.org, "Database File Format". */
const MAGIC = 'SQLite format 3\0'

const isSqlite = async (path: string): Promise<boolean> => {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
    return buffer.toString('latin1') === MAGIC
  } finally {
    await file.close()
  }
}

const openAt = async (from: string): Promise<{ readonly sql: SQL; readonly kind: Kind } | undefined> => {
  const [, scheme] = /^(postgres|mysql|mariadb)(?:ql)?:\/\//.exec(from) ?? []
  if (scheme !== undefined)
    return {
      sql: new SQL(from, { max: 1, connectionTimeout: CONNECT_SECONDS }),
      kind: kinds[scheme === 'postgres' ? 'postgres' : 'mysql'],
    }
  if (!(await isSqlite(from))) return undefined
  return { sql: new SQL({ adapter: 'sqlite', filename: from, readonly: true }), kind: kinds.sqlite }
}

/**
 * All rows of those of the tables that there are, by name; undefined where `from` is another file than a database. Throws
 * what the database says.
 */
export const readTables = async (
  from: string,
  names: readonly string[],
): Promise<Readonly<Record<string, readonly unknown[]>> | undefined> => {
  const opened = await openAt(from)
  if (opened === undefined) return undefined
  const { sql, kind } = opened
  try {
    const there: readonly { name: string }[] = await sql.unsafe(kind.tables)
    const known = new Set(there.map(({ name }) => name))
    const all: Record<string, readonly unknown[]> = {}
    for (const name of names) {
      if (!known.has(name)) continue
      const rows: readonly object[] = await sql`select ${sql.unsafe(kind.row)} from ${sql(name)} t`
      all[name] = rows.map((row) => ('row' in row && kind === kinds.postgres ? row.row : row))
    }
    return all
  } finally {
    await sql.close()
  }
}
