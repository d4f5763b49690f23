/** A release: each of its forms passes the start test of the checkout, and the same sources give the same bytes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readSums } from '../../scripts/release/check.ts'
import { form, here, makeExecutable } from '../../scripts/release/executables.ts'
import { run } from '../../scripts/release/run.ts'
import { makeStage } from '../../scripts/release/stage.ts'
import { makeRelease } from '../made-program.ts'
import { endPrograms, startProgram } from '../program.ts'
import { startTest } from './start-test.ts'

const root = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-release-test-'))
/** That of the whole run, or one of our own. */
let executable = process.env.TEST_PROGRAM ?? ''
let first: string
const tarball = () => join(first, readdirSync(first).find((name) => name.endsWith('.tgz')) ?? '')

const home = (name: string): string => {
  const path = join(folder, `home-${name}`)
  mkdirSync(path)
  return path
}

beforeAll(async () => {
  if (executable === '') executable = await makeRelease(join(folder, 'first'))
  first = dirname(executable)
})
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true, force: true })
})

test('the same sources give the same bytes, in the package and in the executable', async () => {
  const second = dirname(await makeRelease(join(folder, 'second')))
  const [one, two] = [first, second].map((release) => readFileSync(join(release, 'SHA256SUMS'), 'utf8'))
  expect(one).toBe(two)
  const listed = [...(one ?? '').matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)]
  expect(listed.map(([, , name]) => name)).toEqual(
    readdirSync(first)
      .filter((name) => name !== 'SHA256SUMS')
      .sort(),
  )
  for (const [, sum = '', name = ''] of listed) {
    const bytes = readFileSync(join(first, name))
    expect(new Bun.CryptoHasher('sha256').update(bytes).digest('hex')).toBe(sum)
  }
})

test('every package that is loaded late loads in an executable too', async () => {
  const sources = [...new Bun.Glob('src/**/*.{ts,tsx}').scanSync({ cwd: root })]
  const late = new Set(
    sources.flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/import\('([^.#'][^']*)'\)/g)].map(
        ([, name]) => name,
      ),
    ),
  )
  expect(late.size).toBeGreaterThan(5)
  // Beside the sources, so that it finds their packages.
  mkdirSync(join(root, 'dist'), { recursive: true })
  const entry = join(mkdtempSync(join(root, 'dist', 'late-')), 'late.ts')
  const loads = [...late].map((name) => `await import('${name}')`)
  writeFileSync(entry, [...loads, `process.stdout.write('all')`].join('\n'))
  const made = join(folder, 'late')
  await run([process.execPath, 'build', '--compile', ...form, entry, '--outfile', made], root)
  rmSync(dirname(entry), { recursive: true })
  const child = Bun.spawn([made], { stdout: 'pipe', stderr: 'pipe' })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  expect([out, errors]).toEqual(['all', ''])
})

test('the bill names what runs with its version and checksum, and nothing of the tests', () => {
  const path = readdirSync(first).find((name) => name.endsWith('.cdx.json')) ?? ''
  const bill = JSON.parse(readFileSync(join(first, path), 'utf8'))
  const { dependencies, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const listed = new Map<string, { version: string; hashes?: unknown[] }>(
    bill.components.map((one: { name: string }) => [one.name, one]),
  )
  for (const [name, pinned] of Object.entries(dependencies))
    expect([name, listed.get(name)?.version, listed.get(name)?.hashes?.length]).toEqual([
      name,
      pinned as string,
      1,
    ])
  for (const name of ['typescript', 'playwright-core', '@biomejs/biome', 'turnpike-chain-node'])
    expect([name, listed.has(name)]).toEqual([name, false])
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'turnpike', version } },
  })
  expect(bill.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  )
})

test('the provenance names the commit, the lock file and each file but itself', async () => {
  const name = readdirSync(first).find((one) => one.endsWith('.intoto.json')) ?? ''
  const { subject, predicate, ...statement } = JSON.parse(readFileSync(join(first, name), 'utf8'))
  expect(statement).toEqual({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
  })
  const sums = readSums(readFileSync(join(first, 'SHA256SUMS'), 'utf8'))
  const stated = subject.map((one: { name: string; digest: { sha256: string } }) => [
    one.name,
    one.digest.sha256,
  ])
  expect(new Map([...stated, [name, sums.get(name)]])).toEqual(new Map(sums))
  const [source] = predicate.buildDefinition.resolvedDependencies
  expect(source.digest.gitCommit).toBe((await run(['git', 'rev-parse', 'HEAD'], root)).trim())
})

test('the checkout passes the start test', async () => {
  expect(await startTest({ program: [join(root, 'bin', 'turnpike')], home: home('checkout') })).not.toContain(
    'Not sold',
  )
})

test('the package, installed elsewhere without scripts, passes it by npx', async () => {
  const path = home('package')
  writeFileSync(join(path, 'package.json'), '{"private":true}')
  const command = ['npm', 'install', '--prefer-offline', '--ignore-scripts', '--no-audit']
  await run([...command, tarball()], path)
  expect(existsSync(join(path, 'node_modules/react'))).toBe(false)
  await startTest({ program: [join(path, 'node_modules/.bin/turnpike')], home: path })
  expect(readdirSync(join(path, 'node_modules/turnpike'))).not.toContain('dist')
  expect(await run(['npx', '--no-install', 'turnpike', '--version'], path)).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('the one file passes it, and says which products it cannot hold', async () => {
  const greeting = await startTest({ program: [executable], home: home('executable') })
  expect(greeting).toContain(
    'Not sold, as their packages are not installed: local/speech-1, local/ocr-1, local/pdf-text-1, local/image-tools-1\n',
  )
})

test('the file for data planes is without console, bills as PDFs and built-in media, and serves calls', async () => {
  const stage = join(folder, 'stage', 'turnpike')
  mkdirSync(stage, { recursive: true })
  await makeStage(root, stage)
  const making = { name: here(), root, stage, out: folder, dataPlane: true }
  expect(await makeExecutable(making)).toBeUndefined()
  const program = [join(folder, `turnpike-data-plane-${here()}`)]
  expect(statSync(executable).size - statSync(program[0] ?? '').size).toBeGreaterThan(10_000_000)
  const settings = { DATABASE_URL: 'sqlite:./data/ledger.db', CONSOLE: 'on' }
  const { child, greeting, address, token, link } = await startProgram(
    home('data-plane'),
    settings,
    'inherit',
    program,
  )
  expect([link, greeting.includes('/console')]).toEqual(['', false])
  const asked = (path: string, body?: object) =>
    fetch(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const hello = { model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }
  expect((await asked('/v1/chat/completions', hello)).status).toBe(200)
  expect((await asked('/v1/chat/completions', { ...hello, stream: true })).status).toBe(200)
  const film = await asked('/v1/run', { model: 'local/sketch-1', inputs: { prompt: 'sea' } })
  expect([film.status, (await asked('/console')).status]).toEqual([400, 404])
  expect((await asked('/v1/usage')).status).toBe(200)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

/** Like a container: another root with the kernel's own folders in it, which the C library and the runtime read. */
const IN_ROOT =
  'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /turnpike "$@"'

/** How this machine hides all other files from a process, if it can. */
const inRoot = (path: string): readonly string[] | undefined =>
  [['--user', '--map-root-user'], []]
    .map((rights) => ['unshare', ...rights, '--mount', 'sh', '-c', IN_ROOT, path])
    .find((command) => {
      try {
        return Bun.spawnSync([...command, '--version']).exitCode === 0
      } catch {
        return false
      }
    })

test('the one file passes it in a root with nothing else but the C library and the kernel', async () => {
  const path = home('root')
  await copyFile(executable, join(path, 'turnpike'))
  for (const name of ['tmp', 'proc', 'dev']) mkdirSync(join(path, name))
  const libraries = await run(['ldd', executable], path).catch(() => '')
  for (const [library] of libraries.matchAll(/\/\S+/g)) {
    mkdirSync(join(path, dirname(library)), { recursive: true })
    await copyFile(library, join(path, library))
  }
  const program = inRoot(path)
  if (program === undefined) {
    process.stdout.write('no empty root on this machine: it lets nobody unshare\n')
    return
  }
  await startTest({
    program,
    home: path,
    settings: { DATABASE_URL: 'sqlite:/data/ledger.db', ASSETS: '/data/assets' },
  })
  expect(readdirSync(join(path, 'data')).sort()).toContain('ledger.db')
})
