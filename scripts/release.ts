/**
 * `npm run release`: everything of a release from this commit, in one folder: the package, the executables, the bill of
 * materials and the checksums. The same commit gives the same bytes.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { billOfMaterials } from './release/bill.ts'
import { here, makeExecutable, targets } from './release/executables.ts'
import { run } from './release/run.ts'
import { leaveOutPages, makeStage } from './release/stage.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/release' },
    /** Names of targets, `here` for this machine's, or `all`. */
    targets: { type: 'string', default: 'all' },
    /** Also takes uncommitted changes: for tests. */
    dirty: { type: 'boolean', default: false },
  },
})

const root = resolve(import.meta.dir, '..')
const out = resolve(values.out)

const wanted = (): readonly string[] => {
  if (values.targets === 'all') return Object.keys(targets)
  const names = values.targets.split(',').map((name) => (name === 'here' ? here() : name))
  for (const name of names)
    if (!(name in targets))
      throw new Error(`--targets: '${name}' is none of ${Object.keys(targets).join(', ')}, here, all`)
  return names
}

const sha256 = (path: string): string =>
  new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')

if (!values.dirty && (await run(['git', 'status', '--porcelain'], root)) !== '')
  throw new Error('a release is made from a commit: commit or take back what has changed')
const names = wanted()
const work = mkdtempSync(join(tmpdir(), 'turnpike-release-'))
// npm names the program in the bill after its folder.
const stage = join(work, 'turnpike')
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
try {
  mkdirSync(stage)
  const { version } = await makeStage(root, stage)
  writeFileSync(join(out, `turnpike-${version}.cdx.json`), await billOfMaterials(root, stage))
  await leaveOutPages(stage)
  await run(['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', out], stage)
  for (const name of names) {
    const failed = await makeExecutable({ name, root, stage, out })
    if (failed === undefined) process.stdout.write(`made the executable for ${name}\n`)
    // Without the network only the installed runtime can be used; the release then says what it lacks.
    else if (name === here()) throw new Error(failed)
    else process.stderr.write(`no executable for ${name}: ${failed}\n`)
  }
  const files = readdirSync(out).sort()
  const sums = files.map((name) => `${sha256(join(out, name))}  ${name}\n`).join('')
  writeFileSync(join(out, 'SHA256SUMS'), sums)
  process.stdout.write(`${sums}\nThe release is in ${out}\n`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
