/** The code of the reading thread: takes statements, returns rows. */
import { Database } from 'bun:sqlite'
import type { Row, Value } from './engine.ts'
import type { ReadAnswer, ReadRequest } from './reading-thread.ts'
import { sqliteText } from './sqlite-text.ts'

declare const self: Worker

const BUSY_MS = 5_000
let database: Database | undefined

const open = (path: string): Database => {
  const opened = new Database(path, { readonly: true, safeIntegers: true })
  opened.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
  return opened
}

self.onmessage = ({ data: { id, path, statements } }: MessageEvent<ReadRequest>) => {
  const answer = (it: ReadAnswer) => self.postMessage(it)
  try {
    database ??= open(path)
    const run = database.transaction((on: Database) =>
      statements.map(({ text, params }) => on.query<Row, Value[]>(sqliteText(text)).all(...params)),
    )
    answer({ id, rows: run(database) })
  } catch (error) {
    answer({ id, error: error instanceof Error ? error.message : String(error) })
  }
}
