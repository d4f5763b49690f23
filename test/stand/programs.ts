/** The programs of the stand: Debian's and ours, each with its log in the stand's folder; all end with it. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { until } from '../until.ts'

const POSTGRES_BIN = globSync('/usr/lib/postgresql/*/bin').sort().at(-1) ?? ''
const PATH = [process.env.PATH, '/usr/sbin', POSTGRES_BIN].join(':')
/** Each program with the package of Debian that has it. */
const NEEDED = {
  postgres: 'postgresql',
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  setpriv: 'util-linux',
  pgrep: 'procps',
}

/** The packages that are missing here. */
export const missingPackages = (): readonly string[] =>
  Object.entries(NEEDED).flatMap(([program, of]) => (Bun.which(program, { PATH }) === null ? [of] : []))

export const isRoot = process.getuid?.() === 0

/** What a command prints. Throws with its errors if it fails. */
export const output = (...args: string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(args, { env: { PATH } })
  if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  return stdout.toString().trim()
}

/** Who runs the databases: PostgreSQL refuses to run as root. */
const ownerHere = () =>
  isRoot
    ? { uid: Number(output('id', '-u', 'postgres')), gid: Number(output('id', '-g', 'postgres')) }
    : undefined

/** One program: it is started, killed as by a crash, and started again. */
export type Program = {
  start(): void
  kill(): Promise<void>
  readonly pid: () => number
}

type Asked = {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Runs as who owns the databases. */
  readonly owned?: boolean
  /** Starts again by itself, as under a supervisor. */
  readonly again?: boolean
}

const AGAIN_MS = 300

export type Programs = {
  readonly folder: string
  readonly bin: string
  /** A folder of the databases' owner; `megabytes`: on a disk of its own of that size, where the machine lets us make one. */
  ownFolder(name: string, megabytes?: number): string
  /** Starts one, with its log in a file. */
  start(asked: Asked): Program
  /** The children of one that outlive it, such as the postmaster of Patroni: ended with all the rest. */
  also(pid: () => number | undefined): void
  /** Copies the logs of all into a folder. */
  keepLogs(to: string): void
  stop(): Promise<void>
}

/** Kills one and its children at once, as the loss of a machine does. */
export const killTree = (pid: number): void => {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid)])
  for (const one of [pid, ...stdout.toString().trim().split('\n').map(Number)]) killOne(one)
}

const killOne = (pid: number, signal: NodeJS.Signals = 'SIGKILL'): void => {
  try {
    if (pid > 0) process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** Whether a process is still there. */
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export const openPrograms = (): Programs => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-stand-'))
  chmodSync(folder, 0o755)
  const owner = ownerHere()
  const asOwner =
    owner === undefined ? [] : ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups']
  const programs: Program[] = []
  const others: (() => number | undefined)[] = []
  const mounts: string[] = []
  let stopping = false
  const start = ({ name, args, env = {}, owned = false, again = false }: Asked): Program => {
    const log = openSync(join(folder, `${name}.log`), 'a')
    let child: Bun.Subprocess | undefined
    let wanted = false
    const run = (): void => {
      const own = Bun.spawn([...(owned ? asOwner : []), ...args], {
        cwd: folder,
        env: { PATH, HOME: folder, ...env },
        stdio: ['ignore', log, log],
      })
      child = own
      void own.exited.then(async () => {
        await Bun.sleep(AGAIN_MS)
        if (again && wanted && !stopping && child === own) run()
      })
    }
    const program: Program = {
      start: () => {
        wanted = true
        run()
      },
      kill: async () => {
        wanted = again
        child?.kill('SIGKILL')
        await child?.exited
      },
      pid: () => child?.pid ?? 0,
    }
    program.start()
    programs.push(program)
    return program
  }
  return {
    folder,
    bin: POSTGRES_BIN,
    start,
    ownFolder: (name, megabytes) => {
      const path = join(folder, name)
      mkdirSync(path, { recursive: true, mode: 0o700 })
      if (megabytes !== undefined && isRoot) {
        output('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'stand', path)
        mounts.push(path)
      }
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
      chmodSync(path, 0o700)
      return path
    },
    also: (pid) => others.push(pid),
    keepLogs: (to) => {
      mkdirSync(to, { recursive: true })
      for (const log of globSync(join(folder, '*.log'))) copyFileSync(log, join(to, basename(log)))
    },
    stop: async () => {
      stopping = true
      await Promise.all(programs.map((program) => program.kill()))
      const left = others.flatMap((pid) => pid() ?? [])
      // At once, but with its shared memory given back.
      for (const pid of left) killOne(pid, 'SIGQUIT')
      await until(() => !left.some(isAlive))
      for (const path of mounts) output('umount', path)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
