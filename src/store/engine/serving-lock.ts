/**
 * One server at a time on a file of SQLite. The mark is a lock that the operating system holds for the process, so that no
 * end of it, kill -9 included, leaves one behind; commands do not ask for it.
 */
import { Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, realpathSync } from 'node:fs'
import { makePrivate, OWN_FILE } from './sqlite.ts'

/** What ends the lock; so does the end of the process. */
type Lock = { readonly release: () => void }

/**
 * Takes an empty file as a mark; undefined while another process has it. SQLite takes such locks on every system alike.
 * Nobody may open the file in another way meanwhile: the end of any other opening in this process would end the lock.
 */
export const takeMark = (path: string): Lock | undefined => {
  const database = new Database(path, { create: true, readwrite: true })
  try {
    chmodSync(path, OWN_FILE)
    database.run('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (!(error instanceof SQLiteError) || error.code !== 'SQLITE_BUSY') throw error
    return undefined
  }
  return { release: () => database.close() }
}

/**
 * Takes the lock of the ledger that an address names, before anybody changes the file. Throws while another
 * server, of this process or another, has it. A ledger that several may serve has none.
 */
export const lockForServing = (url: string): Lock => {
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined || path === ':memory:') return { release: () => undefined }
  makePrivate(path)
  // Another name of the same file is the same ledger.
  const lock = takeMark(`${realpathSync(path)}-server`)
  if (lock === undefined)
    throw new Error(
      `another server runs on ${url}: end it first, give this one a DATABASE_URL of its own, or use PostgreSQL for several servers`,
    )
  return lock
}
