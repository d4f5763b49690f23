/** Stops a server inside a transaction, before the statement that a trigger names, so that a test can kill it there. */
import { Database } from 'bun:sqlite'
import { SQL } from 'bun'
import { until } from '../until.ts'

export type Stop = {
  /** Such as `insert on transfer`. */
  readonly before: string
  /** Which rows; `new` and `old` are the row's values. */
  readonly when: string
}

export type Stopping = {
  /** A statement waits at the trigger, and its transaction with it. */
  reached(): Promise<void>
  /** Takes the trigger out, once the server is dead: what it had begun is undone. */
  over(): Promise<void>
}

const LOCK = 4_711

const onPostgres = async (url: string, { before, when }: Stop): Promise<Stopping> => {
  const sql = new SQL({ url, max: 1 })
  const table = before.split(' on ')[1]
  await sql.unsafe(`select pg_advisory_lock(${LOCK})`)
  await sql.unsafe(`create function stop_here() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(${LOCK}); return new; end $$`)
  await sql.unsafe(
    `create trigger stop_here before ${before} for each row when (${when}) execute function stop_here()`,
  )
  const waiting = `from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted
    and database = (select oid from pg_database where datname = current_database())`
  return {
    reached: () => until(async () => Number((await sql.unsafe(`select count(*) as n ${waiting}`))[0].n) > 0),
    over: async () => {
      await sql.unsafe(`select pg_terminate_backend(pid) ${waiting}`)
      await sql.unsafe(`drop trigger stop_here on ${table}; drop function stop_here`)
      await sql.unsafe(`select pg_advisory_unlock(${LOCK})`)
      await sql.close()
    },
  }
}

/** A writer that is there at each of so many looks does not end. */
const LOOKS = 20

const onSqlite = (file: string, { before, when }: Stop): Stopping => {
  const database = new Database(file)
  const begin = (patienceMs: number, ...texts: readonly string[]): boolean => {
    database.run(`pragma busy_timeout = ${patienceMs}`)
    try {
      for (const text of ['begin immediate', ...texts, 'commit']) database.run(text)
      return true
    } catch {
      return false
    }
  }
  // Years of reading.
  const forever = `select count(*) from ${['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `sqlite_schema ${name}`)}`
  const patience = 60_000
  if (!begin(patience, `create trigger stop_here before ${before} when ${when} begin ${forever}; end`))
    throw new Error('the ledger stayed locked')
  let busy = 0
  return {
    reached: () =>
      until(() => {
        busy = begin(0) ? 0 : busy + 1
        return busy > LOOKS
      }),
    over: async () => {
      if (!begin(patience, 'drop trigger stop_here')) throw new Error('the ledger stayed locked')
      database.close()
    },
  }
}

export const stopAt = async (url: string, stop: Stop): Promise<Stopping> =>
  url.startsWith('sqlite:') ? onSqlite(url.slice('sqlite:'.length), stop) : onPostgres(url, stop)
