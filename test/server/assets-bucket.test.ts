/**
 * Stored results in a bucket, on a real server of the protocol: sent in parts, and read there by an address that lives
 * five minutes.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { openBucket } from '../../src/assets/bucket.ts'
import { Secret } from '../../src/core/secret.ts'
import { webm } from '../local-media/files.ts'
import { leastGrowth } from '../memory-growth.ts'
import { type AssetServer, IN_FILES, mp4Head, png, startAssetServer, type Web } from './asset-rig.ts'
import { jsonOf } from './harness.ts'

let folder = ''
let bucket: S3rver
let server: AssetServer
let key: { id: string; token: string }

const settings = (port: number, change: object = {}) => ({
  bucket: 'media',
  prefix: 'turnpike/',
  endpoint: `http://127.0.0.1:${port}`,
  region: 'us-east-1',
  keyId: 'S3RVER',
  secret: new Secret('S3RVER'),
  ...change,
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-bucket-'))
  bucket = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'media' }],
  })
  const { port } = await bucket.run()
  server = await startAssetServer({ change: { bytes: openBucket(settings(port)), settings: IN_FILES } })
  key = await server.newKey()
})
afterAll(async () => {
  await server.stop()
  await bucket.close()
  await rm(folder, { recursive: true, force: true })
})

const digest = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
const objects = async () =>
  (await readdir(folder, { recursive: true }))
    .filter((path) => path.endsWith('_object'))
    .map((path) => path.replace('._S3rver_object', ''))

test('a result goes into the bucket as what it is, and its reader is sent there', async () => {
  const bytes = png(30, 20)
  const kept = await server.keep({ keyId: key.id, from: { bytes } })
  expect(await objects()).toEqual([`media/turnpike/${kept.id}`])
  expect(digest(await server.assets.bytes(kept.id))).toBe(digest(bytes))
  const sent = await server.fetchUrl(kept.url)
  expect([sent.status, sent.headers.get('cache-control')]).toEqual([302, 'no-store'])
  const location = sent.headers.get('location') ?? ''
  expect(new URL(location).searchParams.get('X-Amz-Expires')).toBe('300')
  const read = await fetch(location)
  expect(read.headers.get('content-type')).toStartWith('image/png')
  expect(read.headers.get('content-disposition')).toBe('inline')
  expect(digest(await read.bytes())).toBe(digest(bytes))
  const part = await fetch(location, { headers: { range: 'bytes=1-3' } })
  expect([part.status, await part.text()]).toEqual([206, 'PNG'])
  expect(
    (await fetch(location.replace(/Signature=(.)/, (_, first) => `Signature=${first === '0' ? '1' : '0'}`)))
      .status,
  ).toBe(403)
})

test('what no page may show is a download there too', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  const { url, id } = await server.keep({ keyId: key.id, from: { bytes: svg } })
  const read = await fetch((await server.fetchUrl(url)).headers.get('location') ?? '')
  expect(read.headers.get('content-disposition')).toBe(`attachment; filename="${id}.svg"`)
})

test('a long result goes in parts and comes back whole', async () => {
  const film = Buffer.concat([mp4Head, Buffer.alloc(23_000_000, 'a film of some length')])
  const kept = await server.keep({ keyId: key.id, type: 'video', from: { bytes: film } })
  const read = await fetch((await server.fetchUrl(kept.url)).headers.get('location') ?? '')
  expect(digest(await read.bytes())).toBe(digest(film))
  expect(kept.sha256).toBe(digest(film))
})

test('a result of 300 MB goes through in constant memory', async () => {
  const sending = await startAssetServer({
    web: webOf(() => new Response(piecesOf(300_000_000, 'close'))),
    change: { bytes: openBucket(settings(portOf())) },
  })
  const { id } = await sending.newKey()
  const from = { url: 'https://cdn.example.com/a' }
  // The bucket is in this process too.
  const limit = 250_000_000
  const growth = await leastGrowth(limit, async () => {
    expect((await sending.keep({ keyId: id, type: 'video', from })).bytes).toBeGreaterThan(300_000_000)
  })
  expect(growth).toBeLessThan(limit)
  await sending.stop()
})

test('a result that breaks off leaves nothing in the bucket', async () => {
  const before = await objects()
  const breaking = await startAssetServer({
    web: webOf(() => new Response(piecesOf(12_000_000, 'break'))),
    change: { bytes: openBucket(settings(portOf())) },
  })
  const { id } = await breaking.newKey()
  const kept = breaking.keep({ keyId: id, type: 'video', from: { url: 'https://cdn.example.com/a' } })
  await expect(kept).rejects.toMatchObject({ side: 'source', again: true })
  expect(await objects()).toEqual(before)
  await breaking.stop()
})

const portOf = (): number => {
  const address = bucket.httpServer?.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** An Internet that gives one answer to everything. */
const webOf = (answer: () => Response): Web => ({
  resolve: async () => ['1.1.1.1'],
  fetch: async () => answer(),
  port: 0,
  stop: () => undefined,
})

/** A film that ends after as many bytes, or breaks off there. */
const piecesOf = (bytes: number, then: 'close' | 'break'): ReadableStream<Uint8Array> => {
  const piece = new Uint8Array(1_000_000)
  let sent = 0
  return new ReadableStream({
    pull: (controller) => {
      if (sent === 0) controller.enqueue(mp4Head)
      if (sent < bytes) controller.enqueue(piece)
      else if (then === 'close') controller.close()
      else controller.error(new Error('connection reset'))
      sent += piece.length
    },
  })
}

test('deleted is gone from the bucket after the sweep', async () => {
  const { id, url } = await server.keep({ keyId: key.id })
  expect((await server.send('DELETE', `/v1/assets/${id}`, undefined, key.token)).status).toBe(200)
  expect((await server.fetchUrl(url)).status).toBe(410)
  expect(await server.assets.sweep()).toBe(1)
  expect(await objects()).not.toContain(`media/turnpike/${id}`)
})

test('how long a film in the bucket is', async () => {
  const { id } = await server.keep({ keyId: key.id, type: 'video', from: { bytes: await webm(3) } })
  expect(await server.assets.lengthMs(id)).toBe(3_000)
})

test.each([
  ['that is not there', { endpoint: 'http://127.0.0.1:1' }],
  ['that takes another key', { keyId: 'nobody' }],
  ['that has no such name', { bucket: 'other' }],
])('a bucket %s is a fault of storage, and nothing is kept', async (_what, change) => {
  const away = await startAssetServer({
    change: { bytes: openBucket(settings(portOf(), change)), settings: IN_FILES },
  })
  const { id } = await away.newKey()
  await expect(away.keep({ keyId: id })).rejects.toMatchObject({ side: 'storage', again: true })
  expect((await away.store.assets.assetBytes(0)).all).toBe(0)
  await away.stop()
})

test('a bucket that does not answer is waited for so long and no longer', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  const bytes = openBucket(settings(silent.port), 200)
  const away = await startAssetServer({ change: { bytes, settings: IN_FILES } })
  const { id } = await away.newKey()
  await expect(away.keep({ keyId: id })).rejects.toMatchObject({ side: 'storage', again: true })
  await away.stop()
  silent.stop(true)
})

test('the status tells that the bucket is gone, or that nothing answers there', async () => {
  const statusOf = async (one: AssetServer) => (await jsonOf(await one.get('/api/status'))).services.assets
  expect(await statusOf(server)).toEqual({ status: 'ok' })
  const { port } = new URL(
    (await server.fetchUrl((await server.keep({ keyId: key.id })).url)).headers.get('location') ?? '',
  )
  for (const wrong of [settings(Number(port), { bucket: 'gone' }), settings(1)]) {
    const without = await startAssetServer({ change: { bytes: openBucket(wrong), settings: IN_FILES } })
    expect(await statusOf(without)).toMatchObject({
      status: 'degraded',
      error: expect.stringContaining('their place cannot be reached'),
    })
    await without.stop()
  }
})
