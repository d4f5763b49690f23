/** Versions of the product as packages of their own: one of an earlier commit, and the one after this. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { migrations, newestOf } from '../../src/store/engine/migrate.ts'
import { copyProduct, folderWithPackages, replaceOnce } from '../copy-product.ts'

const root = resolve(import.meta.dir, '../..')

export type Package = {
  readonly name: string
  /** Its folder, which the caller removes. */
  readonly folder: string
  /** The command that starts it. */
  readonly program: readonly string[]
}

const packageIn = (name: string, folder: string): Package => ({
  name,
  folder,
  program: [join(folder, 'bin', 'turnpike')],
})

/** The product as it was at a commit; undefined where the history does not reach so far. */
export const packageOf = (commit: string): Package | undefined => {
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: root, stderr: 'ignore' })
  if (git('cat-file', '-e', `${commit}^{commit}`).exitCode !== 0) return undefined
  const folder = folderWithPackages('before')
  const archive = git('archive', commit, 'src', 'bin', 'package.json', 'tsconfig.json')
  const { exitCode } = Bun.spawnSync(['tar', '-x', '-C', folder], { stdin: archive.stdout })
  if (archive.exitCode !== 0 || exitCode !== 0) throw new Error(`${commit} could not be unpacked`)
  return packageIn(commit.slice(0, 7), folder)
}

/** This checkout. */
export const present: Package = packageIn('this checkout', root)

/** Columns on the tables that calls read and write, an index, and a table of its own. */
const ADDED = `${[
  'api_key',
  'lease',
  'inflight',
  'usage_detail',
  'transfer',
  'wallet_rules',
  'account',
  'budget',
]
  .map((table) => `ALTER TABLE ${table} ADD COLUMN next_word TEXT NOT NULL DEFAULT 'none';`)
  .join('\n')}
CREATE INDEX lease_next_word ON lease (next_word);
CREATE TABLE next_table (id TEXT PRIMARY KEY);
`

/** The version after this one: a copy that takes the schema a step further. */
export const nextPackage = (): Package => {
  const folder = copyProduct('next')
  writeFileSync(join(folder, 'src/store/migrations/next.sql'), ADDED)
  const path = join(folder, 'src/store/engine/migrate.ts')
  const list = 'export const migrations: readonly Migration[] ='
  replaceOnce(path, list, list.replace('export const migrations', 'const before'))
  const next = `{ version: ${newestOf(migrations) + 1}, name: 'next', common: next, own: {}, adds: true }`
  appendFileSync(
    path,
    `\nimport next from '../migrations/next.sql' with { type: 'text' }\n${list} [...before, ${next}]\n`,
  )
  return packageIn('the next version', folder)
}
