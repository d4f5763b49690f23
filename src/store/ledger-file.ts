/** A SQLite ledger as one file: copied while it is served, and read beside its server, for backups. */
import { Database } from 'bun:sqlite'
import type { Instant } from '../core/time.ts'
import type { Asset } from './calls/asset-port.ts'
import { integer, rowsOf, text } from './engine/columns.ts'
import { once } from './engine/engine.ts'
import { migrate, migrations, newestOf } from './engine/migrate.ts'
import { openEngine } from './engine/open-engine.ts'
import { countOf, onlyRow, textOf } from './engine/row.ts'
import { auditOn } from './ledger/audit.ts'
import type { AuditRow } from './ledger/ledger-port.ts'

const BUSY_MS = 60_000

/** The file's path, or undefined for an address of another engine. */
export const fileOf = (url: string): string | undefined => {
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  return path === ':memory:' ? undefined : path
}

const withFile = <T>(path: string, work: (database: Database) => T): T => {
  const database = new Database(path, { create: false, readwrite: true })
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    return work(database)
  } finally {
    database.close()
  }
}

type Measures = { readonly bytes: number; readonly schema: number }

/** The most space that a copy of the ledger takes, and the last migration that was applied to it. */
export const measureLedger = (path: string): Measures =>
  withFile(path, (database) => {
    const row = database
      .query<Measures, []>(
        `select page_count * page_size as bytes, (select max(version) from schema_migration) as schema
         from pragma_page_count, pragma_page_size`,
      )
      .get()
    return row ?? { bytes: 0, schema: 0 }
  })

/**
 * Copies the ledger as of one moment, while servers continue: SQLite reads it in one transaction and writes a whole new
 * file, which is not synced yet. The schema is copied unchanged.
 */
export const copyLedger = (path: string, to: string): void =>
  withFile(path, (database) => void database.query('vacuum into ?1').run(to))

/** A stored result whose bytes are beside the ledger. */
export type FiledAsset = Pick<Asset, 'id' | 'sha256' | 'bytes'>

export type LedgerFacts = {
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** Whether it contains the secret that hashes the keys. */
  readonly hasSecret: boolean
  readonly audit: readonly AuditRow[]
}

type LedgerFile = {
  /** Reads all of it, for the audit. Only for a ledger with this program's schema. */
  facts(): Promise<LedgerFacts>
  /** All results whose bytes are beside the ledger. */
  assets(): AsyncGenerator<FiledAsset>
  /** Afterwards the file stands alone, without a log beside it. */
  close(): Promise<void>
}

/** The last migration of this program. */
export const newestSchema = newestOf(migrations)

const filed = rowsOf({ id: text('id'), sha256: text('sha256'), bytes: integer('bytes') })
const PAGE = 1_000

/** Opens a ledger that nobody serves. With `upgrade` it gets this program's schema, as a start would give it. */
export const openLedgerFile = async (
  path: string,
  now: () => Instant,
  { upgrade = false }: { readonly upgrade?: boolean } = {},
): Promise<LedgerFile> => {
  // A clock of its own: everything is read on one connection, so that no file stays beside it.
  const engine = openEngine({ url: `sqlite:${path}`, now })
  const ask = (text: string, ...params: string[]) => once(engine, 'control', text, ...params)
  const facts = async (): Promise<LedgerFacts> => {
    const tables = await ask(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`,
    )
    const rows: Record<string, number> = {}
    for (const name of tables.map((row) => textOf(row, 'name')))
      rows[name] = countOf(onlyRow(await ask(`select count(*) as n from "${name}"`)), 'n')
    const secret = await ask('select 1 as one from setting where name = $1', 'key_secret')
    return { rows, hasSecret: secret.length > 0, audit: await auditOn(engine) }
  }
  async function* assets(): AsyncGenerator<FiledAsset> {
    for (let after = ''; ; ) {
      const page = await ask(
        `select id, sha256, bytes from asset where id > $1 and ready = 1 and body is null order by id limit ${PAGE}`,
        after,
      )
      for (const row of page) yield filed.read(row)
      const last = page.at(-1)
      if (last === undefined) return
      after = textOf(last, 'id')
    }
  }
  try {
    if (upgrade) await migrate(engine)
  } catch (error) {
    await engine.close()
    throw error
  }
  return { facts, assets, close: () => engine.close() }
}
