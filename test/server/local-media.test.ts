/** The built-in products through the whole server: run, stored, charged by what came; refused inputs cost nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Assets } from '../../src/assets/assets.ts'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { local } from '../../src/vendors/local/local.ts'
import { dataUrl, products } from '../local-media/ask.ts'
import { blankPng, pdfOf, pdfPage, wav } from '../local-media/files.ts'
import { until } from '../until.ts'
import { unread } from './asset-rig.ts'
import { jsonOf, startTestServer, type TestServer } from './harness.ts'

/** The bytes that were kept, by type. */
const kept: { type: string; bytes: Uint8Array }[] = []

const assets: Assets = {
  ...unread,
  full: async () => undefined,
  bytes: async () => new Uint8Array(),
  keep: async ({ runId, index, type, from }) => {
    if ('url' in from || 'pieces' in from) throw new Error('the built-in vendor gives bytes')
    const bytes = 'bytes' in from ? from.bytes : Buffer.from(from.base64, 'base64')
    kept.push({ type, bytes })
    return {
      id: `${runId}-${index}`,
      url: `https://assets.example/${runId}-${index}`,
      type,
      media_type: 'application/octet-stream',
      bytes: bytes.length,
      sha256: '',
      expires_at: '2026-12-01T00:00:00.000Z',
    }
  },
}

let server: TestServer

beforeAll(async () => {
  const vendor = { ...local, media: { models: products } }
  server = await startTestServer({
    models: products.map((record) => modelOf('local', record)),
    more: [{ vendor, baseUrl: local.baseUrl, secrets: [], fetch: localFetch }],
    assets: () => assets,
  })
})
afterAll(() => server.stop())

const run = (model: string, inputs: object) => server.post('/v1/run', { model: `local/${model}`, inputs })

const sound = dataUrl('audio/wav', wav(3))

test.each([
  ['sketch-1', { prompt: 'a hill', n: 2, size: '64x64' }, 20_000n, ['image', 'image']],
  ['qr-1', { text: 'https://example.com/' }, 10_000n, ['image']],
  ['page-text-1', { html: '<p>Hello' }, 10_000n, []],
  ['trim-1', { url: sound, start: 1, end: 2 }, 10_000n, ['audio']],
  ['media-info-1', { url: sound }, 10_000n, []],
  ['speech-1', { text: 'Hello there.' }, 1_200n, ['audio']],
  ['ocr-1', { image: dataUrl('image/png', blankPng(200, 60)) }, 10_000n, []],
  ['pdf-text-1', { url: dataUrl('application/pdf', pdfOf([pdfPage('one')])) }, 10_000n, []],
  ['image-tools-1', { image: dataUrl('image/png', blankPng(200, 60)), width: 50 }, 10_000n, ['image']],
] as const)('local/%s is run, kept and charged', async (name, inputs, cost, types) => {
  const before = await server.balance()
  kept.length = 0
  const response = await run(name, inputs)
  expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, ''])
  expect(kept.map(({ type }) => type)).toEqual([...types])
  for (const { bytes } of kept) expect(bytes.length).toBeGreaterThan(60)
  expect(before - (await server.balance())).toBe(cost)
})

test.each([
  ['ocr-1', { image: dataUrl('image/png', blankPng(16_000, 16_000)) }],
  ['pdf-text-1', { url: dataUrl('application/pdf', Buffer.from('no PDF')) }],
  ['page-text-1', { url: 'https://169.254.169.254/' }],
])('local/%s refuses inputs that it cannot work on, for nothing', async (name, inputs) => {
  const before = await server.balance()
  const response = await run(name, inputs)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: 'invalid_parameter' } })
  expect(await server.balance()).toBe(before)
})

test('slow-1 is a job: asked for until it is done, and another one cancelled', async () => {
  const begin = async (seconds: number) => {
    const body = { model: 'local/slow-1', inputs: { prompt: 'a lighthouse at dawn', seconds } }
    const response = await server.post('/v1/run', body, { prefer: 'respond-async' })
    expect(response.status).toBe(202)
    return (await jsonOf(response)).id as string
  }
  const standing = async (id: string) => (await jsonOf(await server.get(`/v1/run/${id}`))).status
  const [quick, long] = [await begin(1), await begin(600)]
  expect((await jsonOf(await server.send('DELETE', `/v1/run/${long}`))).status).toMatch(/running|cancelled/)
  const before = kept.length
  await until(async () => (await standing(quick)) === 'succeeded' && (await standing(long)) === 'cancelled')
  expect(kept.length).toBe(before + 1)
})

test('a refusal of speech names the member that the caller sent', async () => {
  const ask = (body: object) => server.post('/v1/audio/speech', { model: 'local/speech-1', ...body })
  const say = async (body: object) => (await jsonOf(await ask(body))).error
  expect(await say({ input: 'hi', response_format: 'mp3' })).toMatchObject({
    code: 'invalid_parameter',
    param: 'response_format',
    message: "'response_format' must be wav.",
  })
  // A reader of events would find none in a sound.
  expect(await say({ input: 'hi', stream_format: 'sse' })).toMatchObject({ param: 'stream_format' })
  expect((await ask({ input: 'hi', stream_format: 'audio' })).status).toBe(200)
  expect(await say({})).toMatchObject({ code: 'invalid_parameter', param: 'input' })
  expect(await say({ input: 'x'.repeat(2_000) })).toMatchObject({ code: 'invalid_parameter', param: 'input' })
})
