/** The ledger as an outsider reads it, on either engine: every value as a text. */
import { Database } from 'bun:sqlite'
import { SQL } from 'bun'

export type Row = Readonly<Record<string, string | null>>
export type View = { rows(text: string): Promise<readonly Row[]>; close(): Promise<void> }

const BUSY_MS = 10_000

const textsOf = (rows: readonly Record<string, unknown>[]): readonly Row[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value === null || value === undefined ? null : String(value),
      ]),
    ),
  )

export const openView = (url: string): View => {
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    const sql = new SQL(url, { max: 1 })
    return {
      rows: async (text) => textsOf(await sql.unsafe(text)),
      close: () => sql.close({ timeout: 0 }).catch(() => undefined),
    }
  }
  const file = new Database(path, { readwrite: true, safeIntegers: true })
  file.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
  return {
    rows: async (text) => textsOf(file.query<Record<string, unknown>, []>(text).all()),
    close: async () => file.close(),
  }
}
