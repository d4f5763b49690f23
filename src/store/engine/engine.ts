/** A storage engine as the stores use it: transactions in SQL that is the same for both engines but for its dialect. */

/** A value that may be bound to a parameter. Parameters are written `$1`, `$2`, … in the text. */
export type Value = string | number | bigint | Uint8Array | null

export type Row = Readonly<Record<string, unknown>>

export type Statement = { readonly text: string; readonly params: readonly Value[] }

/** Runs one statement inside a transaction. Statements issued without waiting run in order, in one round trip. */
export type Run = (text: string, params?: readonly Value[]) => Promise<readonly Row[]>

/** Statements whose answers nobody needs: they go with the commit, in its round trip. */
export type AtEnd = (statements: readonly Statement[]) => void

/** What a transaction does. */
export type Work<T> = (run: Run, atEnd: AtEnd) => Promise<T>

/**
 * Which connection a transaction uses: `writer` for the group commits of calls; `control` for loans and everything that
 * people request; `relaxed` for what may be lost in a crash (heartbeats, rate windows) and therefore does not wait for
 * the disk; `reading` for pure reads, which may take long and do not block writers.
 */
export type Lane = 'writer' | 'control' | 'relaxed' | 'reading'

/** The parts in which the engines' SQL differs. */
export type SqlDialect = {
  /** Rows of the JSON array in a text parameter, in a column `value`. */
  readonly each: (param: string) => string
  /**
   * Whether a column is one of the few values that a select returns. They are looked up one by one, because a plain
   * `in` with a list of unknown length may read the whole table.
   */
  readonly oneOf: (column: string, select: string) => string
  /**
   * Joins the row of a table, under an alias, whose key has that value, if there is one. It is looked up separately for
   * each row: for a table in parts PostgreSQL would otherwise read all parts whole.
   */
  readonly leftOne: (table: string, alias: string, key: string, value: string) => string
  /** Joins all rows of a table, under an alias, that a condition finds; they are looked up separately for each row. */
  readonly joinEach: (table: string, alias: string, where: string) => string
  /** The database's clock in milliseconds. */
  readonly now: string
  /** The first millisecond of a UTC day written `2026-11-21`; null for null and for an empty text. */
  readonly dayStart: (day: string) => string
  /**
   * Locks the rows that a select returns, of one table by its alias; empty if a transaction locks the whole database.
   */
  readonly lock: (alias: string) => string
  /** The same, skipping rows that somebody else has locked. */
  readonly lockFree: (alias: string) => string
  /** Whether rows are locked one by one, so that a transaction must lock them before it decides about them. */
  readonly locksRows: boolean
}

/** Statements that answer immediately, inside a transaction. */
export type Now = {
  readonly rows: (text: string, ...params: Value[]) => readonly Row[]
  /** Runs a change and returns how many rows it changed. */
  readonly change: (text: string, ...params: Value[]) => number
}

/** Runs several statements without parameters. */
export type Script = (text: string) => Promise<void>

export type Engine = {
  readonly name: 'sqlite' | 'postgres'
  readonly dialect: SqlDialect
  /** A transaction of statements that do not depend on each other's answers: one round trip. */
  batch(lane: Lane, statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>
  /**
   * A transaction whose later statements depend on earlier answers. It is repeated if a deadlock or the like undid it.
   * One that touches very many rows says how long it may take, where that is bounded.
   */
  transaction<T>(lane: Lane, work: Work<T>, longestMs?: number): Promise<T>
  /**
   * A transaction that no other process can run at the same time, and that may run scripts; for migrations. One that moves
   * a whole ledger says how long it may take.
   */
  exclusive<T>(work: (run: Run, script: Script) => Promise<T>, longestMs?: number): Promise<T>
  /** A transaction whose statements answer immediately; only for a database inside this process. */
  readonly inline?: Inline
  /**
   * When all that was read in this turn of the loop has asked. Transactions that end within the turn they began in would
   * otherwise never find company (batched.ts).
   */
  readonly gathered?: (() => Promise<void>) | undefined
  close(): Promise<void>
}

export type Inline = <T>(lane: Lane, work: (now: Now) => T) => Promise<T>

/** Runs one statement on its own: a text with its parameters, or one that was made before. */
export const once = async (
  engine: Engine,
  lane: Lane,
  asked: string | Statement,
  ...params: Value[]
): Promise<readonly Row[]> =>
  (await engine.batch(lane, [typeof asked === 'string' ? { text: asked, params } : asked]))[0] ?? []

/** Runs statements that need no other's answer inside a transaction. */
export const runAll = (run: Run, statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> =>
  Promise.all(statements.map((one) => runOne(run, one)))

/** Runs one statement inside a transaction. */
export const runOne = (run: Run, { text, params }: Statement): Promise<readonly Row[]> => run(text, params)

export const statement = (text: string, ...params: Value[]): Statement => ({ text, params })

/** Gives a value its place among the parameters of a statement. */
export type Bind = (value: Value) => string

/** The parameters of a statement that is put together: those given come first. */
export const binding = (...given: Value[]): { readonly params: Value[]; readonly bind: Bind } => {
  const params = [...given]
  return { params, bind: (value) => `$${params.push(value)}` }
}

/**
 * A change that the database refuses for good: sending it again cannot help. Names the constraint if one was violated.
 */
export class Violation extends Error {
  readonly constraint: string

  constructor(constraint: string, cause: unknown) {
    super(`the database refused the change: ${constraint}`, { cause })
    this.constraint = constraint
  }
}

/**
 * Somebody else uses a row or a table for longer than this transaction waits. It is rolled back and may be tried again.
 */
export class Busy extends Error {
  constructor(cause: unknown) {
    super('the database is busy with what was to be changed', { cause })
  }
}

/**
 * Runs the work of a transaction. What one branch of it sends after another has failed is refused: on either engine it would
 * come after the rollback, and stand by itself. With the result comes what is to go with the commit.
 */
export const untilEnded = async <T>(
  run: Run,
  work: Work<T>,
): Promise<{ readonly result: T; readonly last: readonly Statement[] }> => {
  let ended = false
  const last: Statement[] = []
  try {
    const result = await work(
      (text, params) => (ended ? Promise.reject(new Error('the transaction has ended')) : run(text, params)),
      (statements) => void last.push(...statements),
    )
    return { result, last }
  } finally {
    ended = true
  }
}
