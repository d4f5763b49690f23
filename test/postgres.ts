/** A fresh PostgreSQL database for one test run: on a running server, or on one started from npm's binaries. */
import { SQL } from 'bun'
import { openStore } from '../src/store/open-store.ts'
import { type Server, startEmbedded } from './embedded-postgres.ts'

export type TestDatabase = { readonly url: string; readonly stop: () => Promise<void> }

const LOCAL = 'postgres://postgres@127.0.0.1:5432/postgres'

const answers = async (url: string): Promise<boolean> => {
  const sql = new SQL({ url, max: 1, connectionTimeout: 2 })
  try {
    await sql.unsafe('select 1')
    return true
  } catch {
    return false
  } finally {
    await sql.close({ timeout: 0 })
  }
}

/** A test by itself ends sooner on a server that runs already. A whole run brings its own, which waits for no disk. */
const findServer = async (run: 'one test' | 'whole'): Promise<Server> => {
  const found = (url: string): Server => ({ url, ours: false, stop: async () => undefined })
  if (process.env.DATABASE_TEST_URL !== undefined) return found(process.env.DATABASE_TEST_URL)
  if (run === 'one test' && (await answers(LOCAL))) return found(LOCAL)
  try {
    return await startEmbedded()
  } catch (error) {
    if (await answers(LOCAL)) return found(LOCAL)
    throw error
  }
}

/** A name on the server that no other run has, not longer than PostgreSQL allows. */
const freshName = (): string =>
  `turnpike_test_${process.pid}_${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`

const nameOf = (url: string): string => new URL(url).pathname.slice(1)

/** A connection waits for a busy machine: there a new one was seen to take more than the product's two seconds. */
const PATIENCE_SECONDS = '120'

const urlOf = (server: string, name: string): string => {
  const url = new URL(server)
  url.pathname = `/${name}`
  url.searchParams.set('connect_timeout', PATIENCE_SECONDS)
  return url.href
}

/** Each statement, or what it becomes for a server that waits for no disk. */
type Asked = string | ((waitsForNoDisk: boolean) => string)

const asked = async (url: string, ...statements: Asked[]): Promise<void> => {
  const sql = new SQL({ url, max: 1 })
  try {
    const [{ fsync }] = await sql.unsafe('show fsync')
    for (const one of statements) await sql.unsafe(typeof one === 'string' ? one : one(fsync === 'off'))
  } finally {
    await sql.close()
  }
}

/** Another database of the same server, from which one may be copied or dropped. */
const besides = (url: string): string => urlOf(url, 'postgres')

/**
 * Makes an empty database: on the server of `DATABASE_TEST_URL`, else on one at 127.0.0.1:5432 or one started for this
 * purpose. `stop` drops it, and ends the server if it was started.
 */
const emptyDatabase = async (
  run: 'one test' | 'whole',
): Promise<TestDatabase & { readonly ours: boolean }> => {
  const server = await findServer(run)
  const name = freshName()
  const admin = new SQL({ url: server.url, max: 1 })
  try {
    await admin.unsafe(`create database ${name}`)
    // No test asks what a commit keeps when the machine dies.
    await admin.unsafe(`alter database ${name} set synchronous_commit = off`)
  } catch (error) {
    await admin.close()
    await server.stop()
    throw error
  }
  return {
    url: urlOf(server.url, name),
    ours: server.ours,
    stop: async () => {
      if (!server.ours) await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.close()
      await server.stop()
    },
  }
}

/**
 * A database with the schema, which a whole run copies for its tests: its address is their `DATABASE_TEST_TEMPLATE`.
 * `stop` drops it and the copies. Dropped one after the other while tests run, each would wait for the server to write
 * out all others.
 */
export const templateForTests = async (): Promise<TestDatabase> => {
  const template = await emptyDatabase('whole')
  await (await openStore({ url: template.url })).close()
  const dropCopies = async (): Promise<void> => {
    // Side by side they wait for the same write.
    const admin = new SQL({ url: besides(template.url), max: 10 })
    const made = await admin.unsafe(
      `select datname from pg_database where starts_with(datname, '${nameOf(template.url)}_')`,
    )
    await Promise.all(
      made.map(({ datname }: { datname: string }) => admin.unsafe(`drop database ${datname} with (force)`)),
    )
    await admin.close()
  }
  return {
    url: template.url,
    stop: async () => {
      if (!template.ours) await dropCopies()
      await template.stop()
    },
  }
}

let serial = 0

/** A database for one test or suite: with the schema where a run gives one, else empty. */
export const postgresForTests = async (): Promise<TestDatabase> => {
  const template = process.env.DATABASE_TEST_TEMPLATE
  if (template === undefined) return emptyDatabase('one test')
  const name = `${nameOf(template)}_${process.pid}_${++serial}`
  // Files are copied at a third of the cost, but the server then writes out all others.
  const copy = (files: boolean) =>
    `create database ${name} template ${nameOf(template)} ${files ? 'strategy file_copy' : ''}`
  await asked(besides(template), copy, `alter database ${name} set synchronous_commit = off`)
  const close = [
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  ]
  return { url: urlOf(template, name), stop: () => asked(besides(template), ...close) }
}

/** A database that nobody has opened yet, for a first start. */
export const untouchedPostgres = async (): Promise<TestDatabase> => {
  const database = await postgresForTests()
  await asked(database.url, 'drop schema public cascade; create schema public')
  return database
}
