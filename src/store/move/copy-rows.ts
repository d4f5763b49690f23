/**
 * Rows of an organisation from one ledger to another, whichever engines they are on. Each page of rows is read back and
 * compared before the next is written.
 */
import type { Database } from 'bun:sqlite'
import type { Instant } from '../../core/time.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { fileOf } from '../ledger-file.ts'
import { NotMoved } from './not-moved.ts'
import {
  Digest,
  openFile,
  rowsInFile,
  rowsInPostgres,
  type Table,
  tablesIn,
  type Values,
  written,
} from './tables.ts'
import { type Arrives, moved } from './whose-rows.ts'

/** A database to read from, at one moment. */
type Reading = {
  readonly run: Run
  readonly tables: ReadonlyMap<string, Table>
  readonly rows: (table: Table) => Rows
}
type Rows = AsyncIterable<Values> | Iterable<Values>

/** A text as a literal. */
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Those rows of a table that are the organisation's. */
const rowsOf = (orgId: string, name: string): string =>
  (moved[name]?.where ?? '1 = 0').replaceAll(':org', () => literal(orgId))

/** Reads one moment of a ledger, while others change it. */
export const reading = async <T>(
  engine: Engine,
  url: string,
  longestMs: number,
  work: (from: Reading) => Promise<T>,
): Promise<T> => {
  const path = fileOf(url)
  if (path === undefined)
    return engine.transaction(
      'reading',
      async (run) => {
        await run('set transaction isolation level repeatable read')
        return work({ run, tables: await named(run, engine), rows: (table) => rowsInPostgres(run, table) })
      },
      longestMs,
    )
  const file: Database = openFile(path)
  try {
    file.run('begin')
    const run: Run = async (text) => file.query<Record<string, unknown>, []>(text).all()
    return await work({ run, tables: await named(run, engine), rows: (table) => rowsInFile(file, table) })
  } finally {
    file.close()
  }
}

export const named = async (run: Run, { name }: Pick<Engine, 'name'>): Promise<ReadonlyMap<string, Table>> =>
  new Map((await tablesIn(run, name)).map((table) => [table.name, table]))

const PRIMARY = {
  sqlite: (table: string) =>
    `select c.name as name from pragma_table_info('${table}') c where c.pk > 0 order by c.pk`,
  postgres: (table: string) => `select a.attname as name from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indisprimary and i.indrelid = '${table}'::regclass order by array_position(i.indkey, a.attnum)`,
} as const

/** The statements that write rows, a JSON array in their parameter, and that read back those of the same keys. */
const textsFor = (
  engine: Engine['name'],
  { name, columns }: Table,
  primary: readonly string[],
  arrives: Arrives,
) => {
  const names = columns.map((column) => `"${column.name}"`).join(', ')
  const isBytes = (type: string) => type === 'bytea'
  const given = columns.map(({ name: column, type }) => {
    const value = `e.value->>'${column}'`
    if (!isBytes(type)) return `cast(${value} as ${type})`
    return engine === 'postgres' ? `decode(${value}, 'hex')` : `unhex(${value})`
  })
  const taken = columns.map(({ name: column, type }) => {
    if (isBytes(type))
      // Of nothing, hex makes an empty text.
      return `${engine === 'postgres' ? `encode(t."${column}", 'hex')` : `lower(iif(t."${column}" is null, null, hex(t."${column}")))`} as "${column}"`
    return `cast(t."${column}" as text) as "${column}"`
  })
  const rows =
    engine === 'postgres' ? 'json_array_elements(cast(cast($1 as text) as json)) e' : 'json_each($1) e'
  const others = columns.filter((column) => !primary.includes(column.name))
  const replaces = others.map((column) => `"${column.name}" = excluded."${column.name}"`).join(', ')
  // What another organisation has under the same id stays as it is, and is found when it is read back.
  const ours = columns.some((column) => column.name === 'org_id')
    ? ` where "${name}".org_id = excluded.org_id`
    : ''
  const clash = arrives === 'added' || others.length === 0 ? 'do nothing' : `do update set ${replaces}${ours}`
  const same = columns
    .filter((column) => primary.includes(column.name))
    .map(({ name: column, type }) => `t."${column}" = cast(e.value->>'${column}' as ${type})`)
  return {
    insert: `insert into "${name}" (${names}) select ${given.join(', ')} from ${rows} where true
      on conflict (${primary.join(', ')}) ${clash}`,
    readBack: `select ${taken.join(', ')} from ${rows} join "${name}" t on ${same.join(' and ')}`,
  }
}

const PAGE = { rows: 500, letters: 1_000_000 }
/** Tables whose rows name each other both ways are written at once. */
const AT_ONCE = new Set(['bill'])

/** Most of an organisation's rows, which never change, and which of them were posted since an instant. */
export const history: Readonly<Record<string, (since: Instant) => string>> = {
  transfer: (since) => `at >= ${since}`,
  usage_detail: (since) =>
    `exists (select 1 from transfer p where p.kind in ('usage', 'writeoff') and p.ref = call_id and p.at >= ${since})`,
}

/** How many rows of a table it has in a ledger. */
export const countIn = async (run: Run, orgId: string, table: string): Promise<number> => {
  const text = `select cast(count(*) as bigint) as n from "${table}" where ${rowsOf(orgId, table)}`
  return countOf(onlyRow(await run(text)), 'n')
}

type Copy = {
  readonly from: Reading
  readonly into: { readonly engine: Engine; readonly run: Run; readonly tables: ReadonlyMap<string, Table> }
  readonly orgId: string
  /** What was posted before that is there already. */
  readonly since?: Instant | undefined
  /** The row as it is to be there; undefined leaves it out. */
  readonly become: (table: string, row: Values) => Values | undefined | Promise<Values | undefined>
  /** Columns that may differ there, in rows that were there before. */
  readonly mayDiffer: Readonly<Record<string, readonly string[]>>
}

/** The rows of a table as they are to be there; of some tables only those `since` an instant. */
async function* becoming({ from, orgId, become, since }: Copy, table: Table): AsyncGenerator<Values> {
  const order = moved[table.name]?.order
  const lately = since === undefined ? undefined : history[table.name]?.(since)
  const where = `${rowsOf(orgId, table.name)}${lately === undefined ? '' : ` and ${lately}`}${order === undefined ? '' : ` order by ${order}`}`
  for await (const row of from.rows({ ...table, where })) {
    const after = await become(table.name, row)
    if (after !== undefined) yield after
  }
}

/** The tables of both that have rows of organisations. Throws NotMoved where one has other columns. */
export const tablesToMove = ({ from, into }: Pick<Copy, 'from' | 'into'>): readonly Table[] => {
  const columnsOf = (table: Table | undefined) => table?.columns.map(({ name }) => name).join(', ')
  return Object.keys(moved).map((name) => {
    const [ours, theirs] = [from.tables.get(name), into.tables.get(name)]
    if (ours === undefined || columnsOf(ours) !== columnsOf(theirs))
      throw new NotMoved(`the table ${name} has other columns there: ${columnsOf(theirs) ?? 'none'}`)
    return ours
  })
}

/** Deletes what an earlier stay left there, of what comes whole: those last that others name. */
export const deleteWhole = async (run: Run, orgId: string): Promise<void> => {
  for (const [name, { arrives }] of Object.entries(moved).toReversed())
    if (arrives === 'whole') await run(`delete from "${name}" where ${rowsOf(orgId, name)}`)
}

/** Deletes the sums of an earlier stay: they may go further than those that come, which have all that is in them. */
export const deleteSums = async (run: Run, orgId: string): Promise<void> => {
  for (const name of Object.keys(moved))
    if (name.startsWith('roll_up_')) await run(`delete from "${name}" where ${rowsOf(orgId, name)}`)
}

/** Copies the rows of one table, and returns what they are. Throws NotMoved where one comes out different. */
export const copyTable = async (copy: Copy, table: Table): Promise<Digest> => {
  const { engine, run, tables } = copy.into
  const primary = (await run(PRIMARY[engine.name](table.name))).map((row) => textOf(row, 'name'))
  const { insert, readBack } = textsFor(
    engine.name,
    tables.get(table.name) ?? table,
    primary,
    moved[table.name]?.arrives ?? 'added',
  )
  const skipped = copy.mayDiffer[table.name] ?? []
  const compared = table.columns.map(({ name }) => name).filter((name) => !skipped.includes(name))
  const textFor = (row: Readonly<Record<string, unknown>>) =>
    JSON.stringify(compared.map((name) => written(row[name])))
  const digest = new Digest()
  let page: Values[] = []
  let letters = 0
  const send = async (): Promise<void> => {
    if (page.length === 0) return
    const rows = JSON.stringify(page)
    const [ours, theirs] = [new Digest(), new Digest()]
    for (const row of page) ours.add(textFor(row))
    await run(insert, [rows])
    for (const row of await run(readBack, [rows])) theirs.add(textFor(row))
    if (`${ours}` !== `${theirs}`)
      throw new NotMoved(`the table ${table.name} came out different: ${ours} became ${theirs}`)
    page = []
    letters = 0
  }
  for await (const row of becoming(copy, table)) {
    page.push(row)
    const text = textFor(row)
    digest.add(text)
    letters += text.length
    if (!AT_ONCE.has(table.name) && (page.length === PAGE.rows || letters > PAGE.letters)) await send()
  }
  await send()
  return digest
}
