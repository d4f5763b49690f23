/** Stored results on whole servers: kept once, read by their address or with the key, in ranges, until they expire. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../../src/core/refusal.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { byTest } from '../by-test.ts'
import { serverEngines } from '../store/engines.ts'
import {
  type AssetServer,
  IN_FILES,
  mp4Head,
  png,
  startAssetServer,
  startWeb,
  type Web,
} from './asset-rig.ts'
import { jsonOf } from './harness.ts'

const HOUR = 3_600_000
const digest = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
const codeOf = async (response: Response) => [response.status, (await jsonOf(response)).error.code]
/** The status of an answer whose reader goes away. */
const statusOf = async (response: Response): Promise<number> => {
  await response.body?.cancel()
  return response.status
}
const film = Buffer.concat([mp4Head, Buffer.alloc(2_000_000, 'film')])

describe.each(serverEngines)('on $name', ({ fresh }) => {
  let database: { readonly url: string; readonly stop: () => Promise<void> }
  let server: AssetServer
  let web: Web
  let key: { id: string; token: string }
  let nowMs = Date.now()

  beforeAll(async () => {
    database = await fresh()
    web = startWeb((path) =>
      path === '/film' ? new Response(new Uint8Array(film)) : new Response('gone', { status: 404 }),
    )
    server = await startAssetServer({
      url: database.url,
      now: () => nowMs,
      web,
      change: { settings: IN_FILES },
    })
  })
  beforeEach(async () => {
    key = await server.newKey()
  })
  // All capacity was given back.
  afterEach(() => expect(server.gateway.capacity.calls.used()).toBe(0))
  afterAll(async () => {
    await server.stop()
    web.stop()
    await database.stop()
  })

  const files = async (): Promise<string[]> =>
    (await readdir(server.folder, { recursive: true })).filter((path) => path.length > 2)

  test('HEAD has the headers of GET and no body, and lets go of what it began', async () => {
    const at = async (method: string, url: string) => {
      const response = await server.fetchUrl(url, {}, method)
      const { 'x-request-id': _, ...headers } = Object.fromEntries(response.headers)
      return { status: response.status, headers, bytes: (await response.bytes()).length }
    }
    for (const [type, bytes] of [
      ['image', png(30, 20)],
      ['video', film],
    ] as const) {
      const { url } = await server.keep({ keyId: key.id, type, from: { bytes } })
      const whole = await at('GET', url)
      expect(whole.bytes).toBe(bytes.length)
      expect(await at('HEAD', url)).toEqual({ ...whole, bytes: 0 })
    }
  })

  test('a picture is measured, and read by its address with no key', async () => {
    const bytes = png(30, 20)
    const kept = await server.keep({ keyId: key.id, from: { bytes } })
    expect(kept).toMatchObject({
      type: 'image',
      media_type: 'image/png',
      bytes: bytes.length,
      sha256: digest(bytes),
      width: 30,
      height: 20,
    })
    expect(kept.id).toMatch(/^[0-9a-f]{32}$/)
    expect(kept.url).toStartWith(`http://turnpike.test/v1/assets/${kept.id}.png?exp=`)
    const response = await server.fetchUrl(kept.url)
    expect(response.status).toBe(200)
    expect(digest(await response.bytes())).toBe(digest(bytes))
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
      'content-disposition': 'inline',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600',
      'accept-ranges': 'bytes',
    })
  })

  test('results come as base64, as a data URL, and from an address', async () => {
    const bytes = png(1, 1)
    const base64 = bytes.toString('base64')
    for (const from of [{ base64 }, { base64: `data:text/html;base64,${base64}` }])
      expect(await server.keep({ keyId: key.id, from })).toMatchObject({
        sha256: digest(bytes),
        media_type: 'image/png',
      })
    const fetched = await server.keep({
      keyId: key.id,
      type: 'video',
      from: { url: 'https://cdn.example.com/film' },
    })
    expect(fetched).toMatchObject({ sha256: digest(film), media_type: 'video/mp4', bytes: film.length })
    expect(digest(await (await server.fetchUrl(fetched.url)).bytes())).toBe(digest(film))
  })

  test('a place of a run is stored once, whatever comes later, and also when two store it at a time', async () => {
    const it = { keyId: key.id, runId: crypto.randomUUID(), index: 3 }
    const before = (await files()).length
    const [one, two] = await Promise.all([
      server.keep({ ...it, from: { bytes: png(1, 1) } }),
      server.keep({ ...it, from: { bytes: png(2, 2) } }),
    ])
    expect(two.sha256).toBe(one.sha256)
    const again = await server.keep({ ...it, from: { url: 'https://cdn.example.com/gone' } })
    expect([again.id, again.sha256]).toEqual([one.id, one.sha256])
    expect(digest(await (await server.fetchUrl(again.url)).bytes())).toBe(one.sha256)
    expect((await files()).length).toBe(before + 1)
  })

  test('its key and those above it read it without a signature; to others it is not there', async () => {
    const child = await server.newKey({}, { parentId: key.id })
    const other = await server.newKey()
    const { id } = await server.keep({ keyId: child.id })
    const name = `/v1/assets/${id}.png`
    expect(await statusOf(await server.get(name, child.token))).toBe(200)
    expect(await statusOf(await server.get(name, key.token))).toBe(200)
    const nothing = await codeOf(await server.get(`/v1/assets/${'0'.repeat(32)}.png`, other.token))
    expect(nothing).toEqual([404, 'not_found'])
    expect(await codeOf(await server.get(name, other.token))).toEqual(nothing)
    const mine = await server.keep({ keyId: key.id })
    expect(await codeOf(await server.get(`/v1/assets/${mine.id}.png`, child.token))).toEqual(nothing)
    expect(await codeOf(await server.get(name.replace('.png', '.html'), child.token))).toEqual(nothing)
    expect(await codeOf(await server.get(name, ''))).toEqual([401, 'missing_authorization'])
  })

  test('a key that is disabled still reads what it paid for', async () => {
    const { id } = await server.keep({ keyId: key.id })
    await server.gateway.book.changeKey(key.id, { disabledReason: 'operator', byCreator: true }, byTest)
    expect(await statusOf(await server.get('/v1/models', key.token))).toBe(403)
    expect(await statusOf(await server.get(`/v1/assets/${id}.png`, key.token))).toBe(200)
  })

  test.each([
    ['bytes=0-9', 206, 0, 9],
    ['bytes=700000-', 206, 700_000, film.length - 1],
    ['bytes=-5', 206, film.length - 5, film.length - 1],
    ['bytes=0-999999999', 206, 0, film.length - 1],
    ['bytes=300000-600001', 206, 300_000, 600_001],
    ['bytes=-99999999', 206, 0, film.length - 1],
    ['bytes=5-2', 200, 0, film.length - 1],
    ['bytes=0-1,4-5', 200, 0, film.length - 1],
    ['items=0-1', 200, 0, film.length - 1],
    [`bytes=${'9'.repeat(20)}-`, 200, 0, film.length - 1],
  ])('the range %s gives %i', async (range, status, first, last) => {
    const { url } = await server.keep({ keyId: key.id, type: 'video', from: { bytes: film } })
    const response = await server.fetchUrl(url, { range })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-range')).toBe(
      status === 206 ? `bytes ${first}-${last}/${film.length}` : null,
    )
    expect(digest(await response.bytes())).toBe(digest(film.subarray(first, last + 1)))
  })

  test('over the wire a part of up to 1 MiB has its length, a longer one is whole too', async () => {
    const { url } = await server.keep({ keyId: key.id, type: 'video', from: { bytes: film } })
    const { port, stop } = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
    const { pathname, search } = new URL(url)
    for (const [last, length] of [
      [1024 ** 2 - 1, String(1024 ** 2)],
      [1024 ** 2, null],
    ] as const) {
      const headers = { range: `bytes=0-${last}` }
      const response = await fetch(`http://127.0.0.1:${port}${pathname}${search}`, { headers })
      expect([response.status, response.headers.get('content-length')]).toEqual([206, length])
      expect(digest(await response.bytes())).toBe(digest(film.subarray(0, last + 1)))
    }
    stop()
  })

  test('a range of nothing is 416, one of another version is all of it, and what is known is not sent', async () => {
    const { url, sha256, bytes } = await server.keep({ keyId: key.id })
    const beyond = await server.fetchUrl(url, { range: `bytes=${bytes}-` })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${bytes}`])
    expect(await statusOf(await server.fetchUrl(url, { range: 'bytes=-0' }))).toBe(416)
    const part = { range: 'bytes=0-1' }
    expect(await statusOf(await server.fetchUrl(url, { ...part, 'if-range': '"other"' }))).toBe(200)
    expect(await statusOf(await server.fetchUrl(url, { ...part, 'if-range': `"${sha256}"` }))).toBe(206)
    const known = await server.fetchUrl(url, { 'if-none-match': `"a", W/"${sha256}"` })
    expect([known.status, (await known.bytes()).length]).toEqual([304, 0])
  })

  test('deleted is deleted for everybody, by its key or one above it', async () => {
    const child = await server.newKey({}, { parentId: key.id })
    const other = await server.newKey()
    const { id, url } = await server.keep({ keyId: child.id })
    expect(await codeOf(await server.send('DELETE', `/v1/assets/${id}`, undefined, other.token))).toEqual([
      404,
      'not_found',
    ])
    expect(await statusOf(await server.fetchUrl(url))).toBe(200)
    const deleted = await server.send('DELETE', `/v1/assets/${id}.png`, undefined, key.token)
    expect(await jsonOf(deleted)).toEqual({ id, object: 'asset', deleted: true })
    expect(await codeOf(await server.fetchUrl(url))).toEqual([410, 'asset_expired'])
    expect(await statusOf(await server.get(`/v1/assets/${id}.png`, child.token))).toBe(404)
    expect((await server.send('DELETE', `/v1/assets/${id}`, undefined, key.token)).status).toBe(404)
    await server.assets.sweep()
    expect(await files()).not.toContain(join(id.slice(0, 2), id))
  })

  test('an address runs out, the asset later, and the sweep takes both bytes and row', async () => {
    const { id, url } = await server.keep({ keyId: key.id })
    const read = () => server.get(`/v1/assets/${id}.png`, key.token)
    expect(await files()).toContain(join(id.slice(0, 2), id))
    nowMs += 25 * HOUR
    expect(await codeOf(await server.fetchUrl(url))).toEqual([410, 'asset_expired'])
    expect(await statusOf(await read())).toBe(200)
    nowMs += 24 * HOUR
    expect(await statusOf(await read())).toBe(404)
    expect(await server.assets.sweep()).toBeGreaterThan(0)
    expect(await files()).toEqual([])
    expect(await server.assets.sweep()).toBe(0)
  })

  test('what a writer that died left behind is swept after an hour, and no sooner', async () => {
    const id = crypto.randomUUID().replaceAll('-', '')
    const row = { id, keyId: key.id, runId: crypto.randomUUID(), place: 0, source: '' }
    await server.store.assets.beginAsset(row, HOUR)
    await mkdir(join(server.folder, id.slice(0, 2)), { recursive: true })
    for (const name of [id, `${id}.part`]) await writeFile(join(server.folder, id.slice(0, 2), name), 'half')
    expect((await server.get(`/v1/assets/${id}.png`, key.token)).status).toBe(404)
    await server.assets.sweep()
    expect((await files()).filter((path) => path.includes(id))).toHaveLength(2)
    nowMs += 2 * HOUR
    await server.assets.sweep()
    expect((await files()).filter((path) => path.includes(id))).toEqual([])
    expect(await server.store.assets.endedAssets(1)).toEqual([])
  })

  test('bytes that cannot be removed keep their row, and nobody else waits for them, however many', async () => {
    const kept = []
    for (let n = 0; n < 60; n++) kept.push(await server.keep({ keyId: key.id }))
    const [gone, ...stuck] = kept.toReversed().map(({ id }) => id)
    const paths = stuck.map((id) => join(server.folder, id.slice(0, 2), id))
    for (const path of paths) {
      await rm(path)
      await mkdir(path)
    }
    for (const id of [...stuck, gone ?? '']) await server.assets.end(id, key.id)
    await expect(server.assets.sweep()).rejects.toThrow()
    expect((await server.store.assets.endedAssets(100)).toSorted()).toEqual(stuck.toSorted())
    for (const path of paths) await rm(path, { recursive: true })
    expect(await server.assets.sweep()).toBe(stuck.length)
  })

  test('a late address lives no longer than its asset', async () => {
    const it = { keyId: key.id, runId: crypto.randomUUID() }
    await server.keep(it)
    nowMs += 40 * HOUR
    const { url, expires_at } = await server.keep(it)
    expect(Number(new URL(url).searchParams.get('exp'))).toBe(Math.floor(Date.parse(expires_at) / 1000))
  })

  test('what cannot be had or is not what it should be is not stored', async () => {
    const before = await files()
    const rows = (await server.store.assets.assetBytes(0)).all
    for (const [type, from] of [
      ['image', { url: 'https://cdn.example.com/gone' }],
      ['image', { url: 'https://inside.example.com/film' }],
      ['image', { url: 'https://cdn.example.com/film' }],
      ['image', { bytes: Buffer.from('<html>') }],
      ['audio', { base64: '' }],
    ] as const)
      await expect(server.keep({ keyId: key.id, type, from })).rejects.toMatchObject({ side: 'source' })
    const large = server.keep({
      keyId: key.id,
      from: { bytes: Buffer.concat([png(1, 1), Buffer.alloc(64 * 1024 ** 2)]) },
    })
    const refusal = await large.catch((thrown: unknown) => thrown)
    expect(refusal instanceof Refusal && refusal.code).toBe('asset_too_large')
    expect(await files()).toEqual(before)
    expect((await server.store.assets.assetBytes(0)).all).toBe(rows)
    expect(await server.store.assets.endedAssets(10)).toEqual([])
  })

  test('files and folders are for this user only', async () => {
    const { id } = await server.keep({ keyId: key.id })
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777
    expect(await modeOf(join(server.folder, id.slice(0, 2), id))).toBe(0o600)
    expect(await modeOf(join(server.folder, id.slice(0, 2)))).toBe(0o700)
    expect(await modeOf(server.folder)).toBe(0o700)
  })
})
