/** GET /v1/models as the official clients read it, with the cost of products, and for those who pay call by call. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { jsonOf } from '../server/harness.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let key: string
beforeAll(async () => {
  shop = await openShop()
  key = (await shop.newKey()).token
})
afterAll(() => shop.stop())

const own = (input: string | URL | Request, init?: RequestInit) =>
  shop.fetch(new Request(input as string, init))

test('the OpenAI client lists all, media too', async () => {
  const client = new OpenAI({ apiKey: key, baseURL: 'http://turnpike.test/v1', fetch: own as typeof fetch })
  const seen = new Map<
    string,
    { category?: string; cost?: number; cost_unit?: string; capabilities?: string[] }
  >()
  for await (const model of client.models.list()) seen.set(model.id, model as object)
  expect(seen.get('local/sketch-1')).toMatchObject({
    object: 'model',
    owned_by: 'local',
    category: 'image',
    cost: 0.0011,
    cost_unit: 'credits / image',
    capabilities: ['image_generation'],
  })
  expect(seen.get('local/echo-1')).toMatchObject({
    category: 'chat',
    cost: 0.0033,
    cost_unit: 'credits / 1,000 input and 1,000 output tokens',
  })
  expect(seen.get('local/echo-1')?.capabilities).toEqual([
    'intelligence',
    'llm',
    'text_generation',
    'streaming',
    'function_calling',
    'structured_output',
  ])
  expect([...new Set([...seen.values()].map(({ category }) => category))].sort()).toEqual(
    [
      'chat',
      'embeddings',
      'image',
      'music',
      'speech',
      'transcription',
      'utility',
      'video',
      'video_editing',
    ].sort(),
  )
  for (const [id, { cost }] of seen) expect([id, typeof cost]).toEqual([id, 'number'])
})

test('capabilities are those of the descriptor', async () => {
  const { data } = await jsonOf(await shop.get('/v1/models', key))
  for (const { id, capabilities } of data.slice(0, 40)) {
    const one = await jsonOf(await shop.get(`/products/${id}.json`))
    expect([id, capabilities]).toEqual([id, one.capabilities])
  }
})

test('the Anthropic client reads every member that it knows', async () => {
  const client = new Anthropic({ apiKey: key, baseURL: 'http://turnpike.test', fetch: own as typeof fetch })
  const all: Anthropic.ModelInfo[] = []
  for await (const model of client.models.list()) all.push(model)
  const one = all.find(({ id }) => id === 'anthropic/claude-sonnet-4-6')
  expect(one).toMatchObject({
    type: 'model',
    display_name: 'claude-sonnet-4-6',
    created_at: '1970-01-01T00:00:00.000Z',
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    line: null,
    retires_at: null,
  })
  expect(one?.max_tokens).toBeGreaterThan(1_000)
  expect(one?.max_input_tokens).toBeGreaterThan(10_000)
  expect((await client.models.retrieve('anthropic/claude-sonnet-4-6')).id).toBe('anthropic/claude-sonnet-4-6')
})

test('without a key and without x402 it is asked for a key', async () => {
  expect((await shop.get('/v1/models', '')).status).toBe(401)
})
