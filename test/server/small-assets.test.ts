/** Small results lie in their rows: kept, read, ended and swept like those in files, on every engine. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { serverEngines } from '../store/engines.ts'
import { ASSET_SETTINGS, type AssetServer, png, startAssetServer } from './asset-rig.ts'

const HOUR = 3_600_000
const digest = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

describe.each(serverEngines)('on $name', ({ fresh }) => {
  let server: AssetServer
  let database: Awaited<ReturnType<typeof fresh>>
  let key: { id: string; token: string }
  let nowMs = Date.now()

  beforeAll(async () => {
    database = await fresh()
    server = await startAssetServer({ url: database.url, now: () => nowMs })
  })
  beforeEach(async () => {
    key = await server.newKey()
  })
  afterAll(async () => {
    await server.stop()
    await database.stop()
  })

  const files = async (of = server): Promise<string[]> =>
    (await readdir(of.folder, { recursive: true }).catch(() => [])).filter((path) => path.length > 2)

  test('it is read by its address, by its key, in parts, and by who answers with its bytes', async () => {
    const bytes = png(30, 20, 20_000)
    const kept = await server.keep({ keyId: key.id, from: { base64: bytes.toString('base64') } })
    expect(kept).toMatchObject({
      media_type: 'image/png',
      bytes: bytes.length,
      sha256: digest(bytes),
      width: 30,
    })
    expect(await files()).toEqual([])
    const answer = await server.fetchUrl(kept.url)
    expect(digest(await answer.bytes())).toBe(digest(bytes))
    expect(answer.headers.get('content-type')).toBe('image/png')
    expect(digest(await (await server.get(`/v1/assets/${kept.id}.png`, key.token)).bytes())).toBe(
      digest(bytes),
    )
    const part = await server.fetchUrl(kept.url, { range: 'bytes=100-299' })
    expect([part.status, digest(await part.bytes())]).toEqual([206, digest(bytes.subarray(100, 300))])
    expect(digest(await server.assets.bytes(kept.id))).toBe(digest(bytes))
  })

  test('a larger one is a file', async () => {
    const bytes = png(3, 2, ASSET_SETTINGS.small.bytes)
    const kept = await server.keep({ keyId: key.id, from: { bytes } })
    expect(await files()).toEqual([`${kept.id.slice(0, 2)}/${kept.id}`])
    expect(digest(await (await server.fetchUrl(kept.url)).bytes())).toBe(digest(bytes))
    await server.assets.end(kept.id, key.id)
    await server.assets.sweep()
  })

  test('a place of a run is stored once, also when several store it at a time, and others beside it are', async () => {
    const it = { keyId: key.id, runId: crypto.randomUUID(), index: 3 }
    const [one, two, other] = await Promise.all([
      server.keep({ ...it, from: { bytes: png(1, 1) } }),
      server.keep({ ...it, from: { bytes: png(2, 2) } }),
      server.keep({ keyId: key.id, from: { bytes: png(4, 4) } }),
    ])
    expect(two.id).toBe(one.id)
    expect(other.sha256).toBe(digest(png(4, 4)))
    const again = await server.keep({ ...it, from: { bytes: png(5, 5, 40_000) } })
    expect(again.id).toBe(one.id)
    expect(digest(await (await server.fetchUrl(again.url)).bytes())).toBe(one.sha256)
    expect(await files()).toEqual([])
  })

  test('it ends when it is deleted or over, and the sweep takes it', async () => {
    const [deleted, over] = [await server.keep({ keyId: key.id }), await server.keep({ keyId: key.id })]
    expect((await server.send('DELETE', `/v1/assets/${deleted.id}.png`, undefined, key.token)).status).toBe(
      200,
    )
    expect((await server.fetchUrl(deleted.url)).status).toBe(410)
    nowMs += 49 * HOUR
    expect((await server.get(`/v1/assets/${over.id}.png`, key.token)).status).toBe(404)
    expect(await server.store.assets.bodyOf(over.id)).toBeUndefined()
    expect(await server.assets.sweep()).toBeGreaterThan(1)
    expect(await server.store.assets.assetBytes(0)).toEqual({ all: 0, small: 0 })
  })
})

test('when the rows hold as much as they may, small results are files again', async () => {
  const settings = { ...ASSET_SETTINGS, small: { bytes: 32 * 1024, allBytes: 100 } }
  const server = await startAssetServer({ change: { settings } })
  const { id: keyId } = await server.newKey()
  expect(await server.assets.full()).toBeUndefined()
  for (let kept = 0; kept < 4; kept++) await server.keep({ keyId })
  const names = (await readdir(server.folder, { recursive: true })).filter((path) => path.length > 2)
  expect(names.length).toBeGreaterThan(0)
  expect(names.length).toBeLessThan(4)
  await server.stop()
})
