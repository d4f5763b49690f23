/** Opens the engine for an address. */
import type { Instant } from '../../core/time.ts'
import type { Engine } from './engine.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

export type StoreAddress = {
  /** `sqlite:<path>`, `sqlite::memory:` or `postgres://…`. */
  readonly url: string
  /** The file's bytes that memory begins with, in tests: their ledgers need not be made anew. */
  readonly image?: Uint8Array
  /** Replaces the database's clock, for simulations; all stores on one database must use the same. */
  readonly now?: () => Instant
  /**
   * Replaces how long PostgreSQL may take for a statement, a transaction and a pause in it: for a move of a whole ledger,
   * and for tests that hold these up.
   */
  readonly longestMs?: number
  /**
   * Leaves out what an engine does in its own way, so that simulations also run the statements that the engines share.
   */
  readonly shared?: boolean
}

/** Connects to the engine of an address. Throws for an address in another form. */
export const openEngine = ({ url, image, now, longestMs, shared }: StoreAddress): Engine => {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, now, longestMs)
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new Error('DATABASE_URL must be sqlite:<path> or postgres://…')
  const { inline, ...plain } = openSqlite(image ?? path, now)
  return shared === true || inline === undefined ? plain : { ...plain, inline }
}
