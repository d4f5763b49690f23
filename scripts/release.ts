/**
 * `npm run release`: everything of a release from this commit, in one folder: the package, the executables, the bill of
 * materials, the provenance, the checksums and, with a key, their signature. The same commit gives the same bytes, which
 * `npm run release -- --check` shows.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { billOfMaterials } from './release/bill.ts'
import { checkTwice } from './release/check.ts'
import { here, makeExecutable, targets } from './release/executables.ts'
import { provenance } from './release/provenance.ts'
import { run } from './release/run.ts'
import { signature } from './release/sign.ts'
import { leaveOutPages, makeStage } from './release/stage.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/release' },
    /** Names of targets, `here` for this machine's, or `all`. */
    targets: { type: 'string', default: 'all' },
    /** Also makes files without console, bills as PDFs and built-in media. */
    'data-plane': { type: 'boolean', default: false },
    /** Also takes uncommitted changes: for tests. */
    dirty: { type: 'boolean', default: false },
    /** The file of the secret key that signs, as `minisign -G -W` makes one. */
    key: { type: 'string' },
    /** Makes it twice in different folders and compares; also with the SHA256SUMS of another release. */
    check: { type: 'boolean', default: false },
    against: { type: 'string' },
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
if (values.check) {
  const sums = await checkTwice(root, names.join(','), values.against && resolve(values.against))
  for (const [name, sum] of sums) process.stdout.write(`${sum}  ${name}\n`)
  process.stdout.write(
    `Two builds in different folders are equal${values.against === undefined ? '' : ', and equal the other release'}.\n`,
  )
  process.exit(0)
}
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
  const kinds = values['data-plane'] ? [false, true] : [false]
  for (const [name, dataPlane] of names.flatMap((one) => kinds.map((kind) => [one, kind] as const))) {
    const failed = await makeExecutable({ name, root, stage, out, dataPlane })
    if (failed === undefined) process.stdout.write(`made the executable for ${name}\n`)
    // Without the network only the installed runtime can be used; the release then says what it lacks.
    else if (name === here()) throw new Error(failed)
    else process.stderr.write(`no executable for ${name}: ${failed}\n`)
  }
  const listed = () =>
    readdirSync(out)
      .sort()
      .map((name) => ({ name, sha256: sha256(join(out, name)) }))
  const statement = await provenance({ root, files: listed(), targets: names })
  writeFileSync(join(out, `turnpike-${version}.intoto.json`), statement)
  const sums = listed()
    .map(({ name, sha256: sum }) => `${sum}  ${name}\n`)
    .join('')
  writeFileSync(join(out, 'SHA256SUMS'), sums)
  if (values.key !== undefined)
    writeFileSync(
      join(out, 'SHA256SUMS.minisig'),
      signature(Buffer.from(sums), `file:SHA256SUMS version:${version}`, resolve(values.key)),
    )
  process.stdout.write(`${sums}\nThe release is in ${out}\n`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
