/** Tables as both engines have them: their columns, all their rows, and a digest that shows whether two are the same. */
import { Database } from 'bun:sqlite'
import type { Row, Run } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'

type Column = { readonly name: string; readonly type: string }

export type Table = {
  readonly name: string
  readonly columns: readonly Column[]
  /** Which of its rows belong to the ledger, as a condition. */
  readonly where: string
}

/** What is written about the move itself, and of the schema, differs from one database to the other. */
export const MOVED_TO = 'moved_to'
export const MOVED_FROM = 'moved_from'
const OWN_ROWS = `name not in ('least_schema', '${MOVED_TO}', '${MOVED_FROM}')`
const OWN_TABLE = 'schema_migration'

const LIST = {
  sqlite: `select m.name as name, c.name as column_name, lower(c.type) as type
    from sqlite_master m join pragma_table_info(m.name) c
    where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\' order by m.name, c.name`,
  // A part of a table is read with it.
  postgres: `select c.relname as name, a.attname as column_name, format_type(a.atttypid, null) as type
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by cast(c.relname as text) collate "C", cast(a.attname as text) collate "C"`,
} as const

/** All tables of the ledger in a database, in the order of their names. */
export const tablesIn = async (run: Run, engine: keyof typeof LIST): Promise<readonly Table[]> => {
  const columns = new Map<string, Column[]>()
  for (const row of await run(LIST[engine])) {
    const name = textOf(row, 'name')
    const others = columns.get(name) ?? []
    columns.set(name, [...others, { name: textOf(row, 'column_name'), type: textOf(row, 'type') }])
  }
  columns.delete(OWN_TABLE)
  return [...columns].map(([name, own]) => ({
    name,
    columns: own,
    where: name === 'setting' ? OWN_ROWS : 'true',
  }))
}

/** Values as both engines write them: numbers in digits, bytes in hex. */
export type Values = Readonly<Record<string, string | null>>

/** A value in that form. */
export const written = (value: unknown): string | null => {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) return value.toHex()
  throw new Error(`a value of type ${typeof value} is in no column of a ledger`)
}

/** Counts rows and sums what is made of each, so their order does not matter. */
export class Digest {
  rows = 0
  #sum = 0n

  /** `row`: its values as JSON. */
  add(row: string): void {
    this.rows++
    this.#sum += new Bun.CryptoHasher('sha256').update(row).digest().readBigUInt64BE()
  }

  toString(): string {
    return `${this.rows}:${BigInt.asUintN(64, this.#sum).toString(16)}`
  }
}

const listOf = (columns: readonly Column[], of: (column: Column) => string): string =>
  columns.map(of).join(', ')

/** All rows of a table in a SQLite file that nobody changes meanwhile. */
export function* rowsInFile(file: Database, { name, columns, where }: Table): Generator<Values> {
  const names = listOf(columns, (column) => `"${column.name}"`)
  const rows = file.query<Row, []>(`select ${names} from "${name}" where ${where}`).iterate()
  for (const row of rows)
    yield Object.fromEntries(columns.map((column) => [column.name, written(row[column.name])]))
}

export const openFile = (path: string): Database => new Database(path, { readonly: true, safeIntegers: true })

const PAGE = 400

/** All rows of a table in PostgreSQL, inside a transaction. */
export async function* rowsInPostgres(run: Run, { name, columns, where }: Table): AsyncGenerator<Values> {
  const texts = listOf(columns, ({ name: column, type }) =>
    type === 'bytea'
      ? `encode("${column}", 'hex') as "${column}"`
      : `cast("${column}" as text) as "${column}"`,
  )
  await run(`declare moved no scroll cursor for select ${texts} from "${name}" where ${where}`)
  const fetchPage = () => run(`fetch ${PAGE} from moved`)
  for (let page = fetchPage(); ; ) {
    const rows = await page
    // The next is under way while these are compared.
    if (rows.length === PAGE) page = fetchPage()
    for (const row of rows)
      yield Object.fromEntries(columns.map((column) => [column.name, written(row[column.name])]))
    if (rows.length < PAGE) break
  }
  await run('close moved')
}

/** The text that inserts rows, which are a JSON array in its parameter. */
export const insertText = ({ name, columns }: Table): string => {
  const names = listOf(columns, (column) => `"${column.name}"`)
  const read = listOf(columns, ({ name: column, type }) =>
    type === 'bytea' ? `decode(x."${column}", 'hex')` : `x."${column}"`,
  )
  const types = listOf(columns, ({ name: column, type }) => `"${column}" ${type === 'bytea' ? 'text' : type}`)
  return `insert into "${name}" (${names}) select ${read} from json_to_recordset(cast(cast($1 as text) as json)) as x(${types})`
}
