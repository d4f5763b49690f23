/**
 * SQLite, embedded: one process, one writer at a time, write-ahead log. Whatever is reported to anybody is on the disk
 * (log-sync.ts); apart from that wait and `gathered`, everything here runs on microtasks only.
 */
import { Database, type Statement as Prepared, SQLiteError } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Instant } from '../../core/time.ts'
import {
  type Engine,
  type Lane,
  type Now,
  type Row,
  type Run,
  type SqlDialect,
  type Statement,
  untilEnded,
  type Value,
  Violation,
  type Work,
} from './engine.ts'
import { type LogFile, LogSync, logFile } from './log-sync.ts'
import { readingThread } from './reading-thread.ts'
import { sqliteText } from './sqlite-text.ts'

/** How long a transaction waits for another process that writes, and how often it looks whether that has ended. */
const BUSY_MS = 5_000
const LOOK_MS = 10
const OPEN_BUSY_MS = 500
const LOG_PAGES = 8_000
const CACHE_KB = 64_000

type Connection = {
  readonly run: (text: string, params: readonly Value[]) => readonly Row[]
  readonly now: Now
  readonly script: (text: string) => void
  /** How many rows it has changed since it was opened. */
  readonly changes: () => number
  readonly close: () => void
}

/** Errors of the statement itself; all others (busy, full, disk) may pass. */
const REFUSED = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/

const translated = (error: unknown): unknown => {
  if (!(error instanceof SQLiteError) || !REFUSED.test(error.code ?? '')) return error
  return new Violation(error.message.split('constraint failed: ')[1] ?? error.message, error)
}

const connect = (from: string | Uint8Array, now: (() => Instant) | undefined): Connection => {
  const as = { create: true, readwrite: true, safeIntegers: true }
  const database = typeof from === 'string' ? new Database(from, as) : Database.deserialize(from, as)
  database.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
  database.run('PRAGMA journal_mode = WAL')
  // A commit does not wait for the disk; the caller that asked for it does.
  database.run('PRAGMA synchronous = NORMAL')
  // Lets the log grow longer before it is copied into the file, so that pages that change often are copied only once.
  database.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`)
  database.run(`PRAGMA cache_size = -${CACHE_KB}`)
  database.run('PRAGMA foreign_keys = ON')
  if (now !== undefined) database.run('CREATE TEMP TABLE clock AS SELECT 0 AS ms')
  // From here on `patiently` waits.
  database.run('PRAGMA busy_timeout = 0')
  const prepared = new Map<string, Prepared<Row, Value[]>>()
  const prepare = (text: string): Prepared<Row, Value[]> => {
    let statement = prepared.get(text)
    if (statement === undefined) {
      statement = database.prepare<Row, Value[]>(sqliteText(text))
      prepared.set(text, statement)
    }
    return statement
  }
  const run = (text: string, params: readonly Value[]): readonly Row[] => {
    try {
      return prepare(text).all(...params)
    } catch (error) {
      throw translated(error)
    }
  }
  return {
    run,
    // Errors are translated where the transaction ends: a `try` for each row would only cost time.
    now: {
      rows: (text, ...params) => prepare(text).all(...params),
      change: (text, ...params) => prepare(text).run(...params).changes,
    },
    script: (text) => void database.run(text),
    changes: () => Number(prepare('select total_changes() as n').get()?.n),
    close: () => {
      for (const statement of prepared.values()) statement.finalize()
      database.close()
    },
  }
}

export const isLocked = (error: unknown): boolean =>
  error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')

/** Begins again while another process writes: a locked file is found at a transaction's beginning, before it did anything. */
const patiently = async <T>(begin: () => T | Promise<T>): Promise<T> => {
  for (let until: number | undefined; ; await Bun.sleep(LOOK_MS)) {
    try {
      return await begin()
    } catch (error) {
      until ??= performance.now() + BUSY_MS
      if (!isLocked(error) || performance.now() > until) throw error
    }
  }
}

/** Turns, one at a time, in order of asking. */
const turns = (): (<T>(work: () => T | Promise<T>) => Promise<T>) => {
  let busy = false
  const waiting: (() => void)[] = []
  return async (work) => {
    // If others wait at the end of a turn, the turn is passed on without clearing `busy`, so nobody can slip in
    // between.
    if (busy) await new Promise<void>((go) => waiting.push(go))
    busy = true
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) busy = false
      else next()
    }
  }
}

const dialectFor = (now: (() => Instant) | undefined): SqlDialect => ({
  each: (param) => `json_each(${param})`,
  oneOf: (column, select) => `${column} in (${select})`,
  leftOne: (table, alias, key, value) => `left join ${table} ${alias} on ${alias}.${key} = ${value}`,
  joinEach: (table, alias, where) => `cross join ${table} ${alias} on ${where}`,
  now: now === undefined ? `cast(unixepoch('subsec') * 1000 as integer)` : '(select ms from temp.clock)',
  dayStart: (day) => `unixepoch(${day}) * 1000`,
  lock: () => '',
  lockFree: () => '',
  locksRows: false,
})

/** Only the owner may read it: the ledger shows who spends what. The log and its index inherit the file's permissions. */
export const OWN_FILE = 0o600
const OWN_FOLDER = 0o700

/**
 * Creates the file and its folder if they do not exist, and removes permissions that an older version, or a copy, left
 * to others.
 */
export const makePrivate = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: OWN_FOLDER })
  closeSync(openSync(path, 'a', OWN_FILE))
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`])
    try {
      if (existsSync(file)) chmodSync(file, OWN_FILE)
    } catch {
      // Somebody else owns it, and decides who may read it.
    }
}

/** Transactions on the connection, one after the other. What they change is noted for the sync of the log. */
const transactionsOn = (
  connection: Connection,
  now: (() => Instant) | undefined,
  synced: LogSync | undefined,
) => {
  let changes = 0
  const setClock = (): void => {
    if (now !== undefined) connection.run('update temp.clock set ms = $1', [now()])
  }
  const noteChanges = (lane: Lane): void => {
    if (synced === undefined) return
    const changed = connection.changes()
    if (changed !== changes && lane !== 'relaxed') synced.noteCommit()
    changes = changed
  }
  const begin = (lane: Lane): void => {
    setClock()
    // A reader takes no lock, so a server on the same file can continue.
    connection.now.change(lane === 'reading' ? 'begin' : 'begin immediate')
  }
  const commit = (lane: Lane): void => {
    connection.now.change('commit')
    noteChanges(lane)
  }
  const undo = (): void => {
    try {
      connection.run('rollback', [])
    } catch {
      // SQLite has already rolled back by itself, for example after a full disk; report the first error.
    }
  }
  const inline = <T>(lane: Lane, work: () => T): T => {
    try {
      begin(lane)
      const done = work()
      commit(lane)
      return done
    } catch (error) {
      undo()
      throw translated(error)
    }
  }
  /** One statement is a transaction by itself. A look-up so waits for no other process that writes. */
  const alone = (lane: Lane, { text, params }: Statement): readonly Row[] => {
    setClock()
    const rows = connection.run(text, params)
    noteChanges(lane)
    return rows
  }
  return {
    inline,
    batch: (lane: Lane, statements: readonly Statement[]): readonly (readonly Row[])[] => {
      const [first] = statements
      if (first !== undefined && statements.length === 1) return [alone(lane, first)]
      return inline(lane, () => statements.map(({ text, params }) => connection.run(text, params)))
    },
    interactive: async <T>(lane: Lane, work: Work<T>): Promise<T> => {
      try {
        begin(lane)
        const run: Run = async (text, params = []) => connection.run(text, params)
        const { result, last } = await untilEnded(run, work)
        for (const { text, params } of last) connection.run(text, params)
        commit(lane)
        return result
      } catch (error) {
        undo()
        throw error
      }
    },
    /** Definitions are not rows, but they must be on the disk too: the transaction under way counts as a change. */
    noteDefinitions: (): void => {
      changes = -1
    },
  }
}

/**
 * Opens the database file, and makes its folder; or memory, for the path `:memory:` or for the bytes that it begins with.
 * `now` replaces the database's clock, for simulations; `file` syncs its log.
 */
export const openSqlite = (path: string | Uint8Array, now?: () => Instant, file?: LogFile): Engine => {
  const inMemory = typeof path !== 'string' || path === ':memory:'
  if (!inMemory) makePrivate(path)
  // One connection for all writes: a commit on one connection would empty the page cache of another.
  const connection = connect(path, now)
  // Neither memory nor a simulation's clock can be read from another thread, or has a disk to wait for.
  const reading = inMemory || now !== undefined ? undefined : readingThread(path)
  const log = inMemory || now !== undefined ? undefined : (file ?? logFile(path))
  const turn = turns()
  const synced = log && new LogSync(log.sync)
  const transactions = transactionsOn(connection, now, synced)

  /** The result, returned once it is on the disk together with everything that it may have seen. */
  const afterSync = async <T>(lane: Lane, work: Promise<T>): Promise<T> => {
    const result = await work
    // Commits of calls come in batches, others one by one.
    if (lane !== 'relaxed') await (lane === 'writer' ? synced?.onDisk() : synced?.onDiskTogether())
    return result
  }
  const transaction = <T>(lane: Lane, work: Work<T>): Promise<T> =>
    afterSync(
      lane,
      turn(() => patiently(() => transactions.interactive(lane, work))),
    )

  return {
    name: 'sqlite',
    dialect: dialectFor(now),
    batch: (lane, statements) =>
      afterSync(
        lane,
        lane === 'reading' && reading !== undefined
          ? reading.batch(statements)
          : turn(() => patiently(() => transactions.batch(lane, statements))),
      ),
    inline: (lane, work) =>
      afterSync(
        lane,
        turn(() => patiently(() => transactions.inline(lane, () => work(connection.now)))),
      ),
    transaction,
    // What a simulation does must not depend on turns of the loop.
    gathered: now === undefined ? () => new Promise((resolve) => setImmediate(resolve)) : undefined,
    exclusive: (work) =>
      transaction('control', (run) => {
        transactions.noteDefinitions()
        return work(run, async (text) => connection.script(text))
      }),
    close: () =>
      turn(async () => {
        // Whoever waits for a sync hears of its failure.
        await synced?.onDisk()?.catch(() => undefined)
        reading?.close()
        connection.close()
        log?.close()
      }),
  }
}
