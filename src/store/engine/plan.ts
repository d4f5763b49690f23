/**
 * What migrations would do to an existing database: which are missing, what their statements lock, and for about how
 * long.
 */
import { type Engine, once } from './engine.ts'
import { type Migration, migrations, missingOf, textFor } from './migrate.ts'
import { countOf } from './row.ts'

/** What a statement blocks on an existing table while it runs. */
type Lock = 'moment' | 'writes' | 'rows'

type Step = {
  readonly table: string
  /**
   * `moment`: everything, while its description changes; `writes`: changes of it, while it is read; `rows`: its rows,
   * while they change.
   */
  readonly locks: Lock
  readonly rows: number
  readonly seconds: number
}

export type Planned = Pick<Migration, 'version' | 'name'> & { readonly steps: readonly Step[] }

/** The speed of a slow disk, for the estimate; a lock of kind `moment` takes no time. */
const ROWS_A_SECOND = { writes: 500_000, rows: 50_000 }

/** The migrations that a start would apply, each with what it locks. Changes nothing. */
export const planMigrations = async (
  engine: Engine,
  known: readonly Migration[] = migrations,
): Promise<readonly Planned[]> => {
  const made = new Set<string>()
  const planned: Planned[] = []
  for (const migration of await missingOf(engine, known)) {
    const found = locksIn(textFor(migration, engine.name), made)
    const steps = await Promise.all(found.map((one) => stepOf(engine, one)))
    planned.push({ version: migration.version, name: migration.name, steps })
  }
  return planned
}

type FoundLock = { readonly table: string; readonly locks: Lock }

const HEAD =
  /^\s*(?:create\s+table\s+(?:if\s+not\s+exists\s+)?(?<made>\w+)|create\s+(?:unique\s+)?index\s+(?!concurrently)(?:if\s+not\s+exists\s+)?\w+\s+on\s+(?<indexed>\w+)|alter\s+table\s+(?<altered>\w+)\s+(?<how>[^;]*)|(?:update|insert\s+into|delete\s+from)\s+(?<changed>\w+))/i

/**
 * What the statements of a text lock on tables that the text did not make itself; those that it makes are added to
 * `made`.
 */
export const locksIn = (text: string, made: Set<string>): readonly FoundLock[] => {
  const plain = text
    .replaceAll(/--[^\n]*/g, '')
    // The bodies of functions and triggers run later.
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, '')
    .replaceAll(/\bbegin\b[\s\S]*?\bend\s*;/gi, ';')
  const found: FoundLock[] = []
  for (const part of plain.split(';')) {
    const groups = HEAD.exec(part)?.groups ?? {}
    const { made: fresh, indexed, altered, how = '', changed } = groups
    if (fresh !== undefined) made.add(fresh)
    const table = indexed ?? altered ?? changed
    if (table === undefined || made.has(table)) continue
    const reads = altered !== undefined && !/^(?:add\s+column|rename|drop)\b/i.test(how)
    found.push({
      table,
      locks: changed !== undefined ? 'rows' : altered === undefined || reads ? 'writes' : 'moment',
    })
  }
  return found
}

const stepOf = async (engine: Engine, { table, locks }: FoundLock): Promise<Step> => {
  const rows = await rowsOf(engine, table)
  return { table, locks, rows, seconds: locks === 'moment' ? 0 : Math.ceil(rows / ROWS_A_SECOND[locks]) }
}

/** Roughly how many rows there are; PostgreSQL knows it for each part of a table without reading them. */
const rowsOf = async (engine: Engine, table: string): Promise<number> => {
  const text =
    engine.name === 'postgres'
      ? `select coalesce(cast(sum(greatest(c.reltuples, 0)) as bigint), 0) as n from pg_class c where c.relkind = 'r'
         and (c.oid = to_regclass('${table}') or c.oid in (select i.inhrelid from pg_inherits i where i.inhparent = to_regclass('${table}')))`
      : `select count(*) as n from ${table}`
  const [row] = await once(engine, 'control', text).catch(() => [])
  return row === undefined ? 0 : countOf(row, 'n')
}
