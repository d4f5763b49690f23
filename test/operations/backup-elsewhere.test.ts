/**
 * Backups in a bucket, on a real server of the protocol; and of PostgreSQL, by its own tools, as the command names
 * them.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { SQL } from 'bun'
import { openFolder } from '../../src/assets/folder.ts'
import { bucketPlace, bucketSource } from '../../src/backup/bucket-place.ts'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { Secret } from '../../src/core/secret.ts'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runCommand, runProgram, startProgram } from '../program.ts'
import { createOneKey } from '../store/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'))
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  await endPrograms()
  for (const stop of stops) await stop()
  rmSync(folder, { recursive: true })
})

const startBucket = async () => {
  const bucket = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(folder, 'bucket'),
    configureBuckets: [{ name: 'safe' }],
  })
  const { port } = await bucket.run()
  stops.push(() => bucket.close())
  const objects = () =>
    readdirSync(join(folder, 'bucket'), { recursive: true })
      .map(String)
      .filter((path) => path.endsWith('_object'))
      .map((path) => path.replace('._S3rver_object', ''))
  return { port, objects }
}

const ID = 'cd'.repeat(16)
const BYTES = new Uint8Array(12_000_000).map((_, at) => at % 251)

/** A stored result beside a ledger. */
const fileAsset = async (home: string): Promise<void> => {
  const store = await openStore({ url: `sqlite:${join(home, 'ledger.db')}` })
  await store.assets.beginAsset({ id: ID, keyId: 'k', runId: 'run', place: 0, source: 'test' }, 3_600_000)
  const sha256 = new Bun.CryptoHasher('sha256').update(BYTES).digest('hex')
  const kind = { mediaType: 'image/png', extension: 'png' }
  await store.assets.finishAsset(ID, { sha256, bytes: BYTES.length, ...kind }, 3_600_000)
  await store.close()
  const pieces = async function* () {
    yield BYTES
  }
  await openFolder(join(home, 'assets')).write(ID, pieces(), { ...kind, disposition: 'inline' })
}

test('a backup in a bucket is restored from there; what has no manifest is none', async () => {
  const home = join(folder, 'home')
  mkdirSync(home)
  const { port, objects } = await startBucket()
  const bucket = {
    BACKUP_ENDPOINT: `http://127.0.0.1:${port}`,
    BACKUP_REGION: 'us-east-1',
    BACKUP_KEY_ID: 'S3RVER',
    BACKUP_SECRET: 'S3RVER',
  }
  const settings = { DATABASE_URL: 'sqlite:./ledger.db', ASSETS: './assets', ...bucket }
  const copy = { DATABASE_URL: 'sqlite:./back/ledger.db', ASSETS: './back/assets', ...bucket }
  const server = await startProgram(home, settings)
  await fileAsset(home)
  const { BACKUP_SECRET: _, ...lacking } = settings
  expect((await runProgram(home, lacking, 'backup', 's3://safe')).errors).toBe(
    'turnpike: a backup in a bucket needs BACKUP_KEY_ID and BACKUP_SECRET\n',
  )
  const made = await runProgram(home, settings, 'backup', 's3://safe/turnpike/daily', '--json')
  expect([made.code, made.errors]).toEqual([0, ''])
  const { backup, assets } = JSON.parse(made.out)
  expect(backup).toStartWith('s3://safe/turnpike/daily/turnpike-2')
  expect(assets).toEqual({ files: 1, bytes: BYTES.length, gone: 0 })
  const at = backup.replace('s3://', '')
  expect(objects().toSorted()).toEqual([`${at}/assets/${ID}`, `${at}/ledger.db`, `${at}/manifest.json`])
  // Nothing is left in the temporary place of the ledger's copy.
  expect(readdirSync(join(home, '.turnpike-backup'))).toEqual(['.turnpike-backup'])

  const back = await runProgram(home, copy, 'restore', backup)
  expect([back.code, back.errors]).toEqual([0, ''])
  expect((await runProgram(home, copy, 'audit')).code).toBe(0)
  expect(await openFolder(join(home, 'back/assets')).whole(ID)).toEqual(Buffer.from(BYTES))
  const other = { ...copy, DATABASE_URL: 'sqlite:./other.db' }
  expect((await runProgram(home, other, 'restore', 's3://safe/turnpike/daily')).errors).toContain(
    'is no whole backup',
  )
  server.child.kill('SIGTERM')
  await server.child.exited
})

test('a bucket that breaks off in the middle has no whole backup', async () => {
  const home = join(folder, 'breaking')
  mkdirSync(home)
  await (await openStore({ url: `sqlite:${join(home, 'ledger.db')}` })).close()
  await fileAsset(home)
  // Refuses results; it would take a manifest.
  const asked: string[] = []
  const bucket = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      await request.bytes()
      const { pathname } = new URL(request.url)
      if (request.method === 'GET')
        return new Response('<Error><Code>NoSuchKey</Code></Error>', { status: 404 })
      asked.push(pathname)
      if (pathname.includes('/assets/')) return new Response('', { status: 500 })
      return new Response('', { headers: { etag: '"1"' } })
    },
  })
  stops.push(() => bucket.stop(true))
  const settings = {
    bucket: 'safe',
    prefix: '',
    endpoint: `http://127.0.0.1:${bucket.port}`,
    region: 'us-east-1',
    keyId: 'id',
    secret: new Secret('secret'),
  }
  const staging = join(home, 'staging')
  const making = makeBackup({
    ledger: join(home, 'ledger.db'),
    assets: openFolder(join(home, 'assets')),
    place: bucketPlace(settings, staging),
    now: Date.now,
    madeBy: 'test',
    proof: undefined,
  })
  expect(await making.catch(() => 'not made')).toBe('not made')
  expect(asked.filter((path) => path.endsWith(ID)).length).toBeGreaterThan(0)
  expect(asked.filter((path) => path.endsWith('manifest.json'))).toEqual([])
  expect(readdirSync(staging)).toEqual(['.turnpike-backup'])
  const restoring = restoreBackup({
    source: bucketSource({ ...settings, prefix: 'turnpike-x/' }),
    from: 's3://safe/turnpike-x',
    url: `sqlite:${join(home, 'new.db')}`,
    assets: undefined,
    now: Date.now,
  })
  expect(await restoring.catch((error: Error) => error.message)).toContain('is no whole backup')
})

/** Whether PostgreSQL's tools are installed and not older than the server. */
const toolsFit = async (url: string): Promise<boolean> => {
  if (['pg_dump', 'pg_restore', 'createdb'].some((tool) => Bun.which(tool) === null)) return false
  const said = Bun.spawnSync(['pg_dump', '--version']).stdout.toString()
  const sql = new SQL(url, { max: 1 })
  const [{ server_version }] = await sql.unsafe('show server_version')
  await sql.close()
  return Number(/(\d+)/.exec(said)?.[1]) >= Number.parseInt(server_version, 10)
}

test('PostgreSQL is left to its own tools; the command names them without the password, and they do what it says', async () => {
  const database = await postgresForTests()
  stops.push(database.stop)
  const url = new URL(database.url)
  url.password = url.password === '' ? 'hidden' : url.password
  const store = await openStore({ url: database.url })
  await createOneKey(store)
  await store.close()
  const settings = { DATABASE_URL: url.href }
  const result = await runProgram(folder, settings, 'backup', folder)
  expect([result.code, result.errors]).toEqual([
    1,
    'turnpike: nothing was backed up: PostgreSQL has its own tools for that, as shown above\n',
  ])
  expect(result.out).not.toContain(`:${url.password}@`)
  const restore = await runProgram(folder, settings, 'restore', join(folder, 'turnpike.dump'))
  expect([restore.code, restore.out.includes('pg_restore')]).toEqual([1, true])
  const file = { DATABASE_URL: `sqlite:${join(folder, 'other.db')}` }
  await (await openStore({ url: file.DATABASE_URL })).close()
  const { backup } = JSON.parse((await runProgram(folder, file, 'backup', folder, '--json')).out)
  const across = await runProgram(folder, settings, 'restore', backup)
  expect([across.code, across.out]).toEqual([1, ''])
  expect(across.errors).toContain('is of a ledger in SQLite')
  if (!(await toolsFit(database.url))) return
  // Another run may do the same on this server.
  const name = `turnpike_restored_${process.pid}`
  const [dump = '', ...rest] = result.out
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.replaceAll('turnpike_restored', name).trim())
  expect([dump, ...rest].map((line) => line.split(' ')[0]?.split('=')[0])).toEqual([
    'pg_dump',
    'createdb',
    'pg_restore',
    'DATABASE_URL',
  ])
  const password = { PGPASSWORD: url.password }
  for (const line of [dump, ...rest.slice(0, 2)]) {
    const { code, errors } = await runCommand(['bash', '-c', line], folder, password)
    expect([line, code, errors]).toEqual([line, 0, ''])
  }
  const restored = new URL(url)
  restored.pathname = `/${name}`
  const audit = await runProgram(folder, { DATABASE_URL: restored.href }, 'audit')
  const admin = new SQL(database.url, { max: 1 })
  await admin.unsafe(`drop database ${name} with (force)`)
  await admin.close()
  expect([audit.code, audit.errors]).toEqual([0, ''])
})
