/**
 * Products that are not chat, over HTTP: checked, priced before they are sent, stored, charged for what came, and
 * answered in each style.
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openFolder } from '../../src/assets/folder.ts'
import { silentLog } from '../../src/core/log.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { until } from '../until.ts'
import { sold } from '../vendor-media.ts'
import { ASSET_SETTINGS, type AssetServer, png, startAssetServer } from './asset-rig.ts'
import { jsonOf, mockSetup, startTestServer } from './harness.ts'

const record: MediaModel = {
  name: 'painter',
  category: 'image',
  title: 'Painter',
  description: 'Paints.',
  inputs: z.strictObject({
    prompt: z.string().min(1).max(1000),
    n: z.int().min(1).max(4).default(1),
    size: z.enum(['512x512', '1024x1024']).default('512x512'),
  }),
  example: { prompt: 'a fox' },
  shape: {
    flow: 'once',
    ask: (inputs, model) => ({ method: 'POST', path: '/paint', body: { json: { ...inputs, model } } }),
    read: ({ status, json }) => {
      const body = json as { images?: string[]; blocked?: boolean; wrong?: string }
      if (body?.blocked === true) return { verdict: 'blocked' }
      if (body?.wrong !== undefined) return { verdict: 'failed', fault: 'inputs', message: body.wrong }
      if (status !== 200) return undefined
      const images = body.images ?? []
      return {
        verdict: 'done',
        outputs: images.map((base64) => ({ type: 'image', from: { base64 } })),
        body: { seed: 7 },
      }
    },
  },
  card: {
    rows: [{ when: { size: '1024x1024' }, rates: { image: usd('0.04') } }, { rates: { image: usd('0.01') } }],
    most: { image: ({ n }) => Number(n) },
  },
  source: 'test, November 2026',
}

/** Makes one picture a call. */
const single: MediaModel = {
  ...record,
  name: 'single',
  inputs: z.strictObject({ prompt: z.string() }),
  card: { rows: [{ rates: { image: usd('0.01') } }], most: { image: () => 1 } },
}

const PICTURE = png(3, 2).toString('base64')

let server: AssetServer

beforeAll(async () => {
  server = await startAssetServer({
    server: {
      models: [modelOf('mock', record), modelOf('mock', single)],
      vendor: { media: { models: [record, single] } },
    },
  })
})
afterAll(() => server.stop())

const paints = (...images: string[]) => server.answerWith(() => Response.json({ images }))
const run = (inputs: unknown, headers: Record<string, string> = {}) =>
  server.post('/v1/run', { model: 'mock/painter', inputs }, headers)

describe('POST /v1/run', () => {
  test('gives the vendor’s body with what is stored, and charges what came', async () => {
    paints(PICTURE, PICTURE)
    const before = await server.balance()
    const response = await run({ prompt: 'a fox', n: 3 })
    const body = await jsonOf(response)
    expect(response.status).toBe(200)
    expect(body).toMatchObject({ object: 'run', model: 'mock/painter', seed: 7, usage: { cost: 0.02 } })
    expect(body.outputs).toHaveLength(2)
    expect(body.outputs[0]).toMatchObject({ type: 'image', media_type: 'image/png', width: 3 })
    expect(response.headers.get('x-cost-usd')).toBe('0.02')
    expect(response.headers.get('x-receipt')).toBeTruthy()
    expect(before - (await server.balance())).toBe(20_000_000n)
    expect(server.asked.at(-1)?.body).toEqual({ prompt: 'a fox', n: 3, size: '512x512', model: 'painter' })
  })

  test('refuses inputs it does not know, with the name that was meant', async () => {
    const asked = server.asked.length
    const response = await run({ prompt: 'a fox', sise: '512x512' })
    expect(response.status).toBe(400)
    const { error } = await jsonOf(response)
    expect(error).toMatchObject({ code: 'invalid_parameter', param: 'inputs.sise' })
    expect(error.message).toContain("Did you mean 'size'?")
    expect((await run({ n: 1 })).status).toBe(400)
    expect((await run({ prompt: 'a', n: 5 })).status).toBe(400)
    expect(server.asked.length).toBe(asked)
  })

  test('is held to the caller’s ceiling before the vendor is asked', async () => {
    const asked = server.asked.length
    const response = await run({ prompt: 'a', size: '1024x1024', n: 2 }, { 'x-max-cost-usd': '0.07' })
    expect(response.status).toBe(402)
    expect((await jsonOf(response)).error).toMatchObject({ code: 'max_cost_exceeded' })
    expect(server.asked.length).toBe(asked)
  })

  test('is free when the vendor blocks it or fails', async () => {
    const before = await server.balance()
    server.answerWith(() => Response.json({ blocked: true }, { status: 400 }))
    const blocked = await run({ prompt: 'bad' })
    expect([blocked.status, (await jsonOf(blocked)).error.code]).toEqual([400, 'content_policy_violation'])
    server.answerWith(() => Response.json({}, { status: 500 }))
    expect((await run({ prompt: 'a' })).status).toBe(503)
    expect(await server.balance()).toBe(before)
  })

  test('is free when its result is no picture, or cannot be stored', async () => {
    const before = await server.balance()
    paints(Buffer.from('<html>').toString('base64'))
    const wrong = await run({ prompt: 'a' })
    expect([wrong.status, (await jsonOf(wrong)).error]).toEqual([
      503,
      expect.objectContaining({ code: 'upstream_error', provider: 'mock' }),
    ])
    expect(await server.balance()).toBe(before)
    expect(await server.store.assets.endedAssets(1)).toEqual([])
  })

  test.each([
    ['all room is used', { settings: { ...ASSET_SETTINGS, bytesMax: 0 } }],
    ['the disk is nearly full', { settings: { ...ASSET_SETTINGS, freeBytesMin: 1e18 } }],
    ['their folder is gone', { bytes: openFolder('/dev/null/assets') }],
  ])('is refused before the vendor is asked, and the status says so, while %s', async (_name, change) => {
    const full = await startAssetServer({
      server: {
        models: [modelOf('mock', record), modelOf('mock', single)],
        vendor: { media: { models: [record, single] } },
      },
      change,
    })
    const response = await full.post('/v1/run', { model: 'mock/painter', inputs: { prompt: 'a' } })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '60'])
    const { error } = await jsonOf(response)
    expect(error.code).toBe('service_unavailable')
    const { status, services } = await jsonOf(await full.get('/api/status', ''))
    expect([status, services.assets]).toEqual(['degraded', { status: 'degraded', error: error.message }])
    expect(full.asked).toEqual([])
    expect(await full.heldAfterAll()).toBe(0n)
    await full.stop()
  })

  test('repeats under an Idempotency-Key are the same to the byte, and charged once', async () => {
    paints(PICTURE)
    const before = await server.balance()
    const headers = { 'idempotency-key': 'fox-1' }
    const first = await (await run({ prompt: 'a fox' }, headers)).text()
    const again = await run({ prompt: 'a fox' }, headers)
    expect(await again.text()).toBe(first)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(before - (await server.balance())).toBe(10_000_000n)
  })
})

describe('what is not delivered', () => {
  test('is told without the vendor’s key', async () => {
    server.answerWith(() => Response.json({ wrong: 'the key house-key may not paint foxes' }))
    const { error } = await jsonOf(await run({ prompt: 'a fox' }))
    expect(error).toMatchObject({ code: 'invalid_parameter', param: 'inputs' })
    expect(error.message).toBe('the key [hidden] may not paint foxes')
  })

  /** Asks, and hangs up as soon as the vendor has it. */
  const hangUp = async (at: AssetServer, answer: (gone: AbortSignal | undefined) => Promise<Response>) => {
    const before = await at.balance()
    const gone = new AbortController()
    at.answerWith(({ signal }) => {
      gone.abort()
      return answer(signal)
    })
    const { token } = await at.newKey()
    const asked = at.fetch(
      new Request('http://turnpike.test/v1/run', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'mock/painter', inputs: { prompt: 'a fox', n: 2 } }),
        signal: gone.signal,
      }),
    )
    const { status } = await asked
    await until(() => at.openCalls() === 0)
    return { status, charged: before - (await at.balance()) }
  }
  const later = async (answer: Response): Promise<Response> => {
    await Bun.sleep(5)
    return answer
  }

  test('of a vendor that bills what it has begun is read to its end for who hung up, stored and charged', async () => {
    const { status, charged } = await hangUp(server, () => later(Response.json({ images: [PICTURE] })))
    expect([status, charged]).toEqual([200, 10_000_000n])
    const failed = await hangUp(server, () => later(new Response('{}', { status: 500 })))
    expect([failed.status, failed.charged]).toEqual([499, 0n])
  })

  test('of a vendor that can be stopped costs nothing when its caller hangs up', async () => {
    const media = { models: [record], stops: true } as const
    const stops = await startAssetServer({ server: { models: [modelOf('mock', record)], vendor: { media } } })
    const { status, charged } = await hangUp(stops, async (signal) => {
      await until(() => signal?.aborted === true)
      throw new Error('stopped')
    })
    expect([status, charged]).toEqual([499, 0n])
    expect(await stops.heldAfterAll()).toBe(0n)
    await stops.stop()
  })
})

describe('other styles', () => {
  test('POST /v1/image/generate gives one address', async () => {
    paints(PICTURE)
    const response = await server.post('/v1/image/generate', {
      model: 'mock/painter',
      prompt: 'a fox',
      size: '1024x1024',
    })
    const body = await jsonOf(response)
    expect(body.image_url).toStartWith('http://turnpike.test/v1/assets/')
    expect(body.usage.cost).toBe(0.04)
  })

  test('POST /v1/images/generations gives base64 or addresses', async () => {
    paints(PICTURE)
    const ask = { model: 'mock/painter', prompt: 'a fox' }
    const base64 = await jsonOf(await server.post('/v1/images/generations', ask))
    expect(base64.data).toEqual([{ b64_json: PICTURE }])
    const urls = await server.post('/v1/images/generations', { ...ask, response_format: 'url' })
    expect((await jsonOf(urls)).data[0].url).toStartWith('http://turnpike.test/v1/assets/')
    const wrong = await server.post('/v1/images/generations', { ...ask, quality: 'high' })
    expect((await jsonOf(wrong)).error).toMatchObject({ code: 'invalid_parameter', param: 'quality' })
  })

  test('one picture may be asked for of a model that makes one, as clients do', async () => {
    paints(PICTURE)
    const ask = { model: 'mock/single', prompt: 'a fox' }
    const one = await server.post('/v1/images/generations', { ...ask, n: 1 })
    expect([one.status, server.asked.at(-1)?.body]).toEqual([200, { model: 'single', prompt: 'a fox' }])
    const { error } = await jsonOf(await server.post('/v1/images/generations', { ...ask, n: 2 }))
    expect(error).toMatchObject({ code: 'invalid_parameter', param: 'n' })
    expect(error.message).toContain('one image per call')
  })

  test('an address of pictures sells no chat, and one of chat no pictures', async () => {
    const wrong = await server.post('/v1/audio/speech', { model: 'mock/painter', input: 'hello' })
    expect((await jsonOf(wrong)).error.code).toBe('model_not_found')
    const chat = await server.post('/v1/chat/completions', {
      model: 'mock/painter',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(chat.status).toBe(400)
  })
})

describe('POST /v1/moderations', () => {
  const moderation = sold.get('openai/omni-moderation-latest') as MediaModel
  const openai = { id: 'openai', media: { models: [moderation, record] } }

  test('needs no place for results; pictures do, and are refused before their vendor is asked', async () => {
    const bare = await startTestServer({
      models: [modelOf('openai', moderation), modelOf('openai', record)],
      more: [mockSetup(openai, async () => Response.json({ id: 'm', results: [{ flagged: false }] }))],
    })
    const response = await bare.post('/v1/moderations', { input: 'a text' })
    expect([response.status, await jsonOf(response)]).toEqual([
      200,
      expect.objectContaining({ results: [{ flagged: false }], model: 'openai/omni-moderation-latest' }),
    ])
    const picture = await bare.post('/v1/run', { model: 'openai/painter', inputs: { prompt: 'a fox' } })
    expect((await jsonOf(picture)).error).toMatchObject({ code: 'service_unavailable' })
    await bare.stop()
  })

  test('says that the vendor of the usual model has no key here, named or not', async () => {
    for (const ask of [{ input: 'a' }, { input: 'a', model: 'omni-moderation-latest' }]) {
      const response = await server.post('/v1/moderations', ask)
      const { error } = await jsonOf(response)
      expect([response.status, error.code, error.param]).toEqual([400, 'model_not_found', 'model'])
      expect(error.message).toContain('OPENAI_API_KEY')
    }
  })
})

test('a vendor’s own bill is kept with the charge, and warned of when it is above it', async () => {
  const billed: MediaModel = {
    ...record,
    shape: {
      flow: 'once',
      ask: () => ({ method: 'POST', path: '/paint', body: { json: {} } }),
      read: ({ json }) => ({
        verdict: 'done',
        outputs: [{ type: 'image', from: { base64: PICTURE } }],
        body: {},
        vendorCost: BigInt((json as { bill: number }).bill),
      }),
    },
  }
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-drift-'))
  const warned: unknown[] = []
  const url = `sqlite:${join(folder, 'turnpike.db')}`
  const billing = await startAssetServer({
    url,
    server: {
      models: [modelOf('mock', billed)],
      vendor: { media: { models: [billed] } },
      log: { ...silentLog, warn: (event, { vendor, excess } = {}) => warned.push([event, vendor, excess]) },
    },
  })
  for (const bill of [9_000_000, 10_000_000, 12_000_000]) {
    billing.answerWith(() => Response.json({ bill }))
    await billing.post('/v1/run', { model: 'mock/painter', inputs: { prompt: 'a fox' } })
  }
  expect(warned).toEqual([['the vendor billed more than was charged', 'mock', 2_000_000n]])
  await billing.stop()
  const books = new Database(join(folder, 'turnpike.db'), { readonly: true })
  const details = books.query('select detail from usage_detail order by call_id').all() as {
    detail: string
  }[]
  books.close()
  expect(details.map(({ detail }) => JSON.parse(detail).at(-1).vendorCost)).toEqual([
    '9000000',
    '10000000',
    '12000000',
  ])
  await rm(folder, { recursive: true, force: true })
})
