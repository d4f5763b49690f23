/**
 * One server at a time per SQLite file. The mark is a lock that the operating system holds for the process, so it never
 * outlives the process, not even after kill -9. Commands do not need the lock.
 */
import { Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, realpathSync } from 'node:fs'
import { makePrivate, OWN_FILE } from './sqlite.ts'

/** Releases the lock; so does the end of the process. */
type Lock = { readonly release: () => void }

/**
 * Locks an empty file as a mark; undefined while another process has it. SQLite takes such locks in the same way on
 * every system. Nobody may open the file in any other way meanwhile: closing any other opening in this process would
 * release the lock.
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

/** Another server has the ledger. */
export class Served extends Error {}

/**
 * Takes the lock of the ledger at an address, before anybody changes the file. Throws Served while another server, in
 * this process or another, has it. A ledger that several servers may serve has no lock.
 */
export const lockForServing = (url: string): Lock => {
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined || path === ':memory:') return { release: () => undefined }
  makePrivate(path)
  // Another name of the same file is the same ledger.
  const lock = takeMark(`${realpathSync(path)}-server`)
  if (lock === undefined)
    throw new Served(
      `another server runs on ${url}: end it first, give this one a DATABASE_URL of its own, or use PostgreSQL for several servers`,
    )
  return lock
}
