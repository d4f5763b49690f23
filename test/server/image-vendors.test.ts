/**
 * Vendors of pictures behind the whole server: their own requests and answers, what the caller gets and what it pays.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Assets } from '../../src/assets/assets.ts'
import { Secret } from '../../src/core/secret.ts'
import { modelOf } from '../../src/media/models.ts'
import { type MediaModel, type UnpricedModel, unpricedOf } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { openai } from '../../src/vendors/openai/openai.ts'
import type { VendorFetch } from '../../src/vendors/setup.ts'
import { stability } from '../../src/vendors/stability/stability.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { xai } from '../../src/vendors/xai/xai.ts'
import { unread } from './asset-rig.ts'
import { jsonOf, startTestServer, type TestServer } from './harness.ts'

const kept = new Map<string, string>()

const assets: Assets = {
  ...unread,
  full: async () => undefined,
  bytes: async (id) => new TextEncoder().encode(kept.get(id) ?? ''),
  keep: async ({ runId, index, type, from }) => {
    const id = `${runId}-${index}`
    const bytes =
      'base64' in from ? Buffer.from(from.base64, 'base64') : 'bytes' in from ? from.bytes : new Uint8Array()
    kept.set(id, new TextDecoder().decode(bytes))
    const url = `https://turnpike.test/v1/assets/${id}.png`
    return { id, url, type, media_type: 'image/png', bytes: bytes.length, sha256: '', expires_at: '' }
  },
}

type Sent = { readonly url: string; readonly headers: Headers; readonly text: string }

const sent: Sent[] = []
let answer: () => Response = () => new Response()
const vendorFetch: VendorFetch = async (url, init) => {
  const text = await new Response(init.body as never).text()
  sent.push({ url, headers: new Headers(init.headers), text })
  return answer()
}

/** The operator's price of a picture: 0.03 USD. */
const pricedHere = (record: UnpricedModel): MediaModel => ({
  ...record,
  card: { rows: [{ rates: { image: usd('0.03') } }], most: record.most },
})

const withPrices = (vendor: Vendor): Vendor => {
  const { media } = vendor
  return media === undefined
    ? vendor
    : { ...vendor, media: { ...media, models: [...media.models, ...unpricedOf(media).map(pricedHere)] } }
}

const sold: readonly Vendor[] = [openai, stability, xai].map(withPrices)
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({
    models: sold.flatMap(({ id, media }) => (media?.models ?? []).map((record) => modelOf(id, record))),
    more: sold.map((vendor) => ({
      vendor,
      baseUrl: vendor.baseUrl,
      secrets: [new Secret('house-key')],
      fetch: vendorFetch,
    })),
    assets: () => assets,
  })
})
afterAll(() => server.stop())

const b64 = (text: string) => Buffer.from(text).toString('base64')

/** Runs a model against a scripted answer; returns what its caller got, and its cost in nano-USD. */
const run = async (model: string, inputs: object, script: () => Response) => {
  answer = script
  const before = await server.balance()
  const response = await server.post('/v1/run', { model, inputs })
  const body = await jsonOf(response)
  return { status: response.status, body, paid: before - (await server.balance()) }
}

describe('openai, by tokens', () => {
  const usage = (image: number) => ({
    input_tokens: 14,
    input_tokens_details: { text_tokens: 14, image_tokens: 0 },
    output_tokens: image,
    output_tokens_details: { image_tokens: image, text_tokens: 0 },
    total_tokens: 14 + image,
  })

  test('the vendor’s body with our addresses, charged as the vendor counted', async () => {
    const { status, body, paid } = await run('openai/gpt-image-2', { prompt: 'a fox', quality: 'low' }, () =>
      Response.json({ created: 1, quality: 'low', data: [{ b64_json: b64('fox') }], usage: usage(196) }),
    )
    expect(status).toBe(200)
    // 14 tokens at 5 USD and 196 at 30 USD a million.
    expect(paid).toBe(5_950_000n)
    expect(body).toMatchObject({
      model: 'openai/gpt-image-2',
      quality: 'low',
      usage: { cost: 0.00595, ...usage(196) },
    })
    expect(body.data).toEqual([{ url: body.outputs[0].url }])
    expect(kept.get(`${body.id}-0`)).toBe('fox')
    expect(JSON.stringify(body)).not.toContain(b64('fox'))
    const { url, headers, text } = sent.at(-1) ?? {}
    expect(url).toBe('https://api.openai.com/v1/images/generations')
    expect(headers?.get('authorization')).toBe('Bearer house-key')
    expect(JSON.parse(text ?? '')).toMatchObject({
      model: 'gpt-image-2',
      quality: 'low',
      n: 1,
      size: '1024x1024',
    })
  })

  test('a count above what was held is the house’s', async () => {
    const held = 217 * 30_000 + 100 * 30_000 + 105 * 5_000
    const { paid } = await run('openai/gpt-image-2', { prompt: 'a fox', quality: 'low' }, () =>
      Response.json({ data: [{ b64_json: b64('fox') }], usage: usage(90_000) }),
    )
    expect(paid).toBe(BigInt(held))
  })

  test('a blocked call says so and costs nothing', async () => {
    const { status, body, paid } = await run('openai/gpt-image-2', { prompt: 'bad' }, () =>
      Response.json({ error: { message: 'Rejected.', code: 'moderation_blocked' } }, { status: 400 }),
    )
    expect([status, body.error.code, paid]).toEqual([400, 'content_policy_violation', 0n])
  })

  test('errors and broken answers cost nothing', async () => {
    const rows: readonly (readonly [() => Response, number, string])[] = [
      [
        () => Response.json({ error: { message: 'Invalid value.', code: 'invalid_value' } }, { status: 400 }),
        400,
        'invalid_parameter',
      ],
      [() => Response.json({ data: [] }), 503, 'upstream_error'],
      [
        () => new Response('{"data":[{"b64_', { headers: { 'content-type': 'application/json' } }),
        503,
        'upstream_error',
      ],
    ]
    for (const [script, status, code] of rows) {
      const result = await run('openai/gpt-image-2', { prompt: 'a fox' }, script)
      expect([result.status, result.body.error.code, result.paid]).toEqual([status, code, 0n])
    }
  })
})

describe('xai, by pictures', () => {
  test('three asked, two delivered: two charged, and the answer leaves out the vendor’s bill', async () => {
    const { status, body, paid } = await run('xai/grok-imagine-image', { prompt: 'a fox', n: 3 }, () =>
      Response.json({
        data: [
          { b64_json: b64('one'), respect_moderation: true },
          { url: null, b64_json: null, respect_moderation: false },
          { b64_json: b64('two'), respect_moderation: true },
        ],
        usage: { cost_in_usd_ticks: 600_000_000 },
      }),
    )
    expect([status, paid]).toEqual([200, 40_000_000n])
    expect(body.outputs.map(({ url }: { url: string }) => url)).toEqual([body.data[0].url, body.data[2].url])
    expect(body.data[1]).toEqual({ url: null, respect_moderation: false })
    expect(body.usage.cost).toBe(0.04)
    expect(JSON.stringify(body)).not.toContain('ticks')
  })

  test('all withheld by filters: nothing charged', async () => {
    const { status, body, paid } = await run('xai/grok-imagine-image', { prompt: 'a fox', n: 2 }, () =>
      Response.json({ data: [{ respect_moderation: false }, { respect_moderation: false }] }),
    )
    expect([status, body.error.code, paid]).toEqual([400, 'content_policy_violation', 0n])
  })
})

describe('stability, form to bytes', () => {
  const bytes = (reason: string) => () =>
    new Response('picture', { headers: { 'content-type': 'image/png', 'finish-reason': reason, seed: '7' } })

  test('one picture, at the price that the operator gives', async () => {
    const { status, body, paid } = await run('stability/core', { prompt: 'a "fox"' }, bytes('SUCCESS'))
    expect([status, paid]).toEqual([200, 30_000_000n])
    expect(body).toMatchObject({ finish_reason: 'SUCCESS', seed: 7, image: { url: body.outputs[0].url } })
    expect(kept.get(`${body.id}-0`)).toBe('picture')
    const { url, headers, text } = sent.at(-1) ?? {}
    expect(url).toBe('https://api.stability.ai/v2beta/stable-image/generate/core')
    expect(headers?.get('accept')).toBe('image/*')
    const form = await new Response(text, {
      headers: { 'content-type': headers?.get('content-type') ?? '' },
    }).formData()
    expect(form.get('prompt')).toBe('a "fox"')
    expect(form.get('output_format')).toBe('png')
  })

  test('a picture goes in as bytes', async () => {
    const image = `data:image/webp;base64,${b64('small')}`
    const { status, paid } = await run('stability/upscale', { image }, bytes('SUCCESS'))
    expect([status, paid]).toEqual([200, 20_000_000n])
    const { headers, text } = sent.at(-1) ?? {}
    const form = await new Response(text, {
      headers: { 'content-type': headers?.get('content-type') ?? '' },
    }).formData()
    const file = form.get('image') as File
    expect([file.type, file.name, await file.text()]).toEqual(['image/webp', 'image.webp', 'small'])
  })

  test('blocked, refused, over its rate, without credits or broken: told apart, and free', async () => {
    const error = (status: number, name: string) => () =>
      Response.json({ id: 'x', name, errors: ['prompt: cannot be blank'] }, { status })
    const rows: readonly (readonly [() => Response, number, string, RegExp])[] = [
      [bytes('CONTENT_FILTERED'), 400, 'content_policy_violation', /safety/],
      [error(403, 'content_moderation'), 400, 'content_policy_violation', /safety/],
      [error(400, 'bad_request'), 400, 'invalid_parameter', /prompt: cannot be blank/],
      [error(402, 'payment_required'), 503, 'upstream_error', /Nothing was charged/],
      [error(429, 'rate_limit_exceeded'), 503, 'upstream_error', /rate limit/],
      [
        () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
        503,
        'upstream_error',
        /failed/,
      ],
    ]
    for (const [script, status, code, message] of rows) {
      const { body, ...rest } = await run('stability/core', { prompt: 'x' }, script)
      expect([rest.status, body.error.code, rest.paid]).toEqual([status, code, 0n])
      expect(body.error.message).toMatch(message)
    }
  })
})
