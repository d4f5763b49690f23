/**
 * Moves a ledger from SQLite to PostgreSQL: in one transaction of the one, while nobody can change the other. Before it is
 * committed each table is read back and compared, and both ledgers are audited. So a move that is killed leaves nothing
 * behind, and one that ended has moved every row.
 */
import type { Database } from 'bun:sqlite'
import { messageOf } from '../../core/message-of.ts'
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { type Engine, type Run, runOne, type Script } from '../engine/engine.ts'
import { migrate } from '../engine/migrate.ts'
import { openEngine } from '../engine/open-engine.ts'
import { maybeText, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { readSettingIn } from '../engine/setting.ts'
import { DUE_TABLE } from '../exports/export-store.ts'
import { auditOn } from '../ledger/audit.ts'
import { makeMonthsFor } from '../months/make-months.ts'
import { NotMoved } from './not-moved.ts'
import {
  Digest,
  insertText,
  MOVED_FROM,
  MOVED_TO,
  openFile,
  rowsInFile,
  rowsInPostgres,
  type Table,
  tablesIn,
} from './tables.ts'

export type Moved = {
  /** How many rows each table has. */
  readonly rows: Readonly<Record<string, number>>
  /** What all wallets have, in nano-USD. */
  readonly balance: Nano
  /** How many laws of the books hold, in each of both. */
  readonly laws: number
  /** It was moved before, and only this was not noted: the process was killed. */
  readonly again: boolean
}

type MoveParts = {
  /** The SQLite file, which no server serves. */
  readonly path: string
  /** The address of an empty database in PostgreSQL, and how it may be shown. */
  readonly to: string
  readonly shownTo: string
  readonly now: () => Instant
}

/** All of it is one transaction, which may take long. */
const LONGEST_MS = 24 * 3_600_000
const BATCH_ROWS = 500
const BATCH_LETTERS = 1_000_000

/** Moves all of it, or throws and leaves both as they were, but for the schema. Afterwards the file is no ledger any more. */
export const moveLedger = async ({ path, to, shownTo, now }: MoveParts): Promise<Moved> => {
  const source = openEngine({ url: `sqlite:${path}` })
  const target = openEngine({ url: to, longestMs: LONGEST_MS })
  try {
    await migrate(source)
    const before = await readSettingIn(source, MOVED_TO)
    if (before !== undefined) throw new NotMoved(`this ledger was moved before, to ${before}`)
    await migrate(target)
    // From here on commands wait that would change the file.
    return await source.transaction('control', async (read) => {
      const file = openFile(path)
      try {
        const moved = await target.exclusive(
          (write, script) => moveInto({ source, target, read, write, script, file, now }),
          LONGEST_MS,
        )
        const note = `${shownTo}, on ${new Date(now()).toISOString()}`
        await read('insert into setting (name, value) values ($1, $2)', [MOVED_TO, note])
        return moved
      } finally {
        file.close()
      }
    })
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

type Moving = {
  readonly source: Engine
  readonly target: Engine
  readonly read: Run
  readonly write: Run
  readonly script: Script
  readonly file: Database
  readonly now: () => Instant
}

const moveInto = async (it: Moving): Promise<Moved> => {
  const { source, target, read, write, script, file } = it
  await write('set local enable_seqscan = on')
  const tables = await tablesOfBoth(it)
  const digests = new Map<string, Digest>()
  const digestOf = () => [...digests].map(([name, digest]) => `${name} ${digest}`).join(', ')
  const facts = async (again: boolean): Promise<Moved> => ({
    rows: Object.fromEntries([...digests].map(([name, { rows }]) => [name, rows])),
    balance: await sameBalance(read, write),
    laws: await mustHold(inside(target, write), 'PostgreSQL'),
    again,
  })
  const filled = await firstFilled(write)
  if (filled !== undefined) {
    for (const table of tables) digests.set(table.name, digestOfFile(file, table))
    const [from] = await write('select value from setting where name = $1', [MOVED_FROM])
    if (from === undefined || textOf(from, 'value') !== digestOf())
      throw new NotMoved(`that database is not empty: its table ${filled} has rows; name an empty one`)
    return facts(true)
  }
  await mustHold(inside(source, read), 'SQLite')
  const [first] = await read('select min(call_id) as id from usage_detail')
  await makeMonthsFor(write, script, it.now(), first && maybeText(first, 'id'))
  const restore = await withoutRules(write, script)
  for (const table of tables) digests.set(table.name, await copy(it, table))
  await script(`${restore}; analyze`)
  for (const table of tables) await mustBeSame(write, table, digests.get(table.name))
  const moved = await facts(false)
  await write('insert into setting (name, value) values ($1, $2)', [MOVED_FROM, digestOf()])
  return moved
}

/** The tables to be moved, as PostgreSQL has them. Throws NotMoved if it lacks one, or a column. */
const tablesOfBoth = async ({ read, write, script }: Moving): Promise<readonly Table[]> => {
  const ours = await tablesIn(read, 'sqlite')
  if (ours.some(({ name }) => name === 'export_due')) await script(DUE_TABLE)
  const theirs = new Map((await tablesIn(write, 'postgres')).map((table) => [table.name, table]))
  const namesOf = (table: Table | undefined) => table?.columns.map(({ name }) => name).join(', ')
  return ours.map((table) => {
    const same = theirs.get(table.name)
    if (same !== undefined && namesOf(same) === namesOf(table)) return same
    throw new NotMoved(`the table ${table.name} has other columns in PostgreSQL: ${namesOf(same) ?? 'none'}`)
  })
}

/** A table that has rows, if one has. */
const firstFilled = async (write: Run): Promise<string | undefined> => {
  for (const { name, where } of await tablesIn(write, 'postgres'))
    if ((await write(`select 1 as one from "${name}" where ${where} limit 1`)).length > 0) return name
  return undefined
}

/**
 * Takes off what would look at each row by itself, or count it again: foreign keys and triggers. Returns the script that
 * puts them on again; PostgreSQL then proves the foreign keys for all rows.
 */
const withoutRules = async (write: Run, script: Script): Promise<string> => {
  const rules = await write(`select
      format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname) as off,
      format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) as on
    from pg_constraint c where c.contype = 'f' and c.conparentid = 0 and c.connamespace = current_schema()::regnamespace
    union all select distinct format('alter table %s disable trigger user', t.tgrelid::regclass),
      format('alter table %s enable trigger user', t.tgrelid::regclass)
    from pg_trigger t join pg_class r on r.oid = t.tgrelid
    where not t.tgisinternal and r.relnamespace = current_schema()::regnamespace`)
  const all = (which: 'off' | 'on') => rules.map((row) => textOf(row, which)).join('; ')
  await script(all('off'))
  return all('on')
}

const copy = async ({ file, write }: Moving, table: Table): Promise<Digest> => {
  const insert = insertText(table)
  const digest = new Digest()
  let batch: string[] = []
  let letters = 0
  let sent: Promise<unknown> = Promise.resolve()
  // One is under way while the next is read.
  const send = async (): Promise<void> => {
    await sent
    if (batch.length > 0) sent = write(insert, [`[${batch.join(',')}]`])
    // It is awaited before the next, or at the end.
    sent.catch(() => undefined)
    batch = []
    letters = 0
  }
  try {
    for (const row of rowsInFile(file, table)) {
      const text = JSON.stringify(row)
      digest.add(text)
      batch.push(text)
      letters += text.length
      if (batch.length === BATCH_ROWS || letters > BATCH_LETTERS) await send()
    }
    await send()
    await sent
  } catch (error) {
    throw new NotMoved(`the table ${table.name} cannot be copied: ${messageOf(error)}`, { cause: error })
  }
  return digest
}

const digestOfFile = (file: Database, table: Table): Digest => {
  const digest = new Digest()
  for (const row of rowsInFile(file, table)) digest.add(JSON.stringify(row))
  return digest
}

const mustBeSame = async (write: Run, table: Table, expected: Digest | undefined): Promise<void> => {
  const found = new Digest()
  for await (const row of rowsInPostgres(write, table)) found.add(JSON.stringify(row))
  if (`${found}` !== `${expected}`)
    throw new NotMoved(`the table ${table.name} came out different: ${expected} became ${found}`)
}

/** What all wallets have, if it is the same on both sides. */
const sameBalance = async (read: Run, write: Run): Promise<Nano> => {
  const sum = 'select cast(coalesce(sum(balance), 0) as bigint) as sum from account where bounded = 1'
  const [ours, theirs] = [nanoOf(onlyRow(await read(sum)), 'sum'), nanoOf(onlyRow(await write(sum)), 'sum')]
  if (ours !== theirs) throw new NotMoved(`all wallets have ${ours} in SQLite and ${theirs} in PostgreSQL`)
  return ours
}

/** The engine as it is inside a transaction: whoever asks it asks there. */
const inside = ({ inline: _, ...engine }: Engine, run: Run): Engine => ({
  ...engine,
  batch: (_lane, statements) => Promise.all(statements.map((one) => runOne(run, one))),
})

/** How many laws of the books hold there. Throws NotMoved if one does not. */
const mustHold = async (engine: Engine, where: string): Promise<number> => {
  const found = await auditOn(engine)
  const broken = found.filter(({ ok }) => !ok).map(({ check, detail }) => `${check} (${detail})`)
  if (broken.length > 0) throw new NotMoved(`the books in ${where} do not hold: ${broken.join('; ')}`)
  return found.length
}
