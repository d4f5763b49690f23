/** PostgreSQL: several processes, several machines. Statements of a transaction are pipelined where they can be. */
import { type ReservedSQL, SQL } from 'bun'
import type { Instant } from '../../core/time.ts'
import {
  Busy,
  type Engine,
  type Lane,
  type Row,
  type Run,
  type SqlDialect,
  type Statement,
  untilEnded,
  Violation,
  type Work,
} from './engine.ts'
import { readPostgresAddress } from './postgres-address.ts'
import { openPool, type Pool, placesOf, stateOf } from './postgres-pool.ts'

/** Long reads may take more: reports, and the audit of the whole ledger. */
const READING_MS = 10 * 60_000
const ATTEMPTS = 5
/** The lock that migrations hold, under an arbitrary number that belongs to Turnpike. */
const MIGRATION_LOCK = 7_813_450_221
const MIGRATION_MS = 60_000

const dialectFor = (now: (() => Instant) | undefined): SqlDialect => ({
  // The inner cast keeps the driver from encoding the text as JSON a second time.
  each: (param) => `json_array_elements(cast(cast(${param} as text) as json))`,
  oneOf: (column, select) => `${column} = any(array(${select}))`,
  leftOne: (table, alias, key, value) =>
    `left join lateral (select * from ${table} o where o.${key} = ${value} limit 1) ${alias} on true`,
  // PostgreSQL makes no other join of a subquery with an offset.
  joinEach: (table, alias, where) =>
    `cross join lateral (select * from ${table} ${alias} where ${where} offset 0) ${alias}`,
  now:
    now === undefined
      ? 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
      : `cast(current_setting('turnpike.now') as bigint)`,
  // Not a cast, which ends the statement at a text that is no day: the audit reads what it is to find.
  dayStart: (day) => {
    const part = (from: number, length: number) => `cast(substr(${day}, ${from}, ${length}) as int)`
    const days = `make_interval(${part(1, 4)} - 1970, ${part(6, 2)} - 1, 0, ${part(9, 2)} - 1)`
    return `case when ${day} ~ '^\\d{4}-\\d{2}-\\d{2}$' then cast(extract(epoch from timestamp '1970-01-01' + ${days}) as bigint) * 1000 end`
  },
  lock: (alias) => ` for no key update of ${alias}`,
  lockFree: (alias) => ` for no key update of ${alias} skip locked`,
  locksRows: true,
})

/** Serialisation failure and deadlock: PostgreSQL has undone the transaction and wants it repeated. */
const isUndone = (error: unknown): boolean => stateOf(error) === '40001' || stateOf(error) === '40P01'

/** A lock that we do not wait for any longer. */
const isBusy = (error: unknown): boolean => stateOf(error) === '55P03'

/** Data exceptions (22) and integrity violations (23) are the statement's own fault; all others may pass. */
const translated = (error: unknown): unknown => {
  if (!(error instanceof SQL.PostgresError)) return error
  if (isBusy(error)) return new Busy(error)
  return /^2[23]/.test(stateOf(error)) ? new Violation(error.constraint ?? error.message, error) : error
}

const retried = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isUndone(error) || attempt === ATTEMPTS) throw translated(error)
    }
  }
}

const runOn =
  (connection: ReservedSQL): Run =>
  (text, params = []) =>
    connection.unsafe<Row[]>(text, [...params]).execute()

/**
 * Sends all at once and waits for all: after a failed statement the others fail too, and the first failure is the
 * cause.
 */
const pipelined = async (
  connection: ReservedSQL,
  statements: readonly Statement[],
): Promise<readonly (readonly Row[])[]> => {
  const outcomes = await Promise.allSettled(
    statements.map(({ text, params }) => connection.unsafe<Row[]>(text, [...params]).execute()),
  )
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/**
 * Statements of calls and loans find every row by an index. Anything else there would be the planner's mistake: it keeps
 * plans that it made while there were few rows, and takes every list for a hundred rows, for which it reads a small table whole.
 */
const BY_INDEX = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' }

const plain = (text: string): Statement => ({ text, params: [] })

const ANY_WAY = Object.keys(BY_INDEX).map((name) => plain(`set local ${name} = on`))

/** The beginning of a transaction whose statements may take longer than others: it touches many rows, in whatever way is best. */
const lasting = (first: readonly Statement[], ms: number | undefined): readonly Statement[] =>
  ms === undefined ? first : [...first, plain(`set local statement_timeout = ${ms}`), ...ANY_WAY]

const interactive = async <T>(
  connection: ReservedSQL,
  first: readonly Statement[],
  work: Work<T>,
): Promise<T> => {
  const begun = pipelined(connection, first)
  // Its failure shows again in the statements after it; this keeps it from being reported as unhandled before that.
  begun.catch(() => undefined)
  try {
    const { result, last } = await untilEnded(runOn(connection), work)
    await begun
    // After a statement that failed this commits nothing.
    await pipelined(connection, [...last, plain('commit')])
    return result
  } catch (error) {
    // On a lost connection there is nothing to undo: the server rolls back.
    await connection.unsafe('rollback').catch(() => undefined)
    throw error
  }
}

/**
 * Opens connections to PostgreSQL; each is made on first use. `now` replaces the database's clock. After a loss the
 * next transaction connects again, waiting at most two seconds for that, or the address's `connect_timeout`.
 */
export const openPostgres = (url: string, now?: () => Instant, longestMs?: number): Engine => {
  const waits: Readonly<Record<string, string>> =
    longestMs === undefined
      ? {}
      : { statement_timeout: `${longestMs}`, idle_in_transaction_session_timeout: `${longestMs}` }
  const places = placesOf(readPostgresAddress(url))
  const pools: Readonly<Record<Lane, Pool>> = {
    writer: openPool(places, 1, { ...BY_INDEX, ...waits }, longestMs),
    control: openPool(places, 4, { ...BY_INDEX, ...waits }, longestMs),
    relaxed: openPool(places, 2, { synchronous_commit: 'off', ...waits }, longestMs),
    reading: openPool(places, 2, { statement_timeout: `${READING_MS}` }, READING_MS),
  }
  const begin = (): readonly Statement[] =>
    now === undefined
      ? [plain('begin')]
      : [plain('begin'), { text: `select set_config('turnpike.now', $1, true)`, params: [`${now()}`] }]

  return {
    name: 'postgres',
    dialect: dialectFor(now),
    batch: (lane, statements) =>
      retried(() =>
        pools[lane].use(async (connection, more) => {
          const first = [...begin(), ...more]
          // One statement is a transaction by itself, unless something must be set before it.
          if (statements.length === 1 && first.length === 1) return pipelined(connection, statements)
          const answers = await pipelined(connection, [...first, ...statements, plain('commit')])
          return answers.slice(first.length, -1)
        }),
      ),
    transaction: (lane, work, ms) =>
      retried(() =>
        pools[lane].use(
          (connection, more) => interactive(connection, lasting([...begin(), ...more], ms), work),
          ms,
        ),
      ),
    exclusive: (work, ms = MIGRATION_MS) =>
      pools.control.use((connection, more) => {
        const first: readonly Statement[] = [
          ...lasting([...begin(), ...more], ms),
          { text: 'select pg_advisory_xact_lock($1)', params: [MIGRATION_LOCK] },
        ]
        const script = async (text: string): Promise<void> => {
          await connection.unsafe(text)
        }
        return interactive(connection, first, (run) => work(run, script)).catch((error: unknown) => {
          throw isBusy(error) ? new Busy(error) : error
        })
      }, ms),
    close: async () => {
      await Promise.all(Object.values(pools).map(({ close }) => close()))
    },
  }
}
