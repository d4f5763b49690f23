/** Which models are sold under which names, as callers see it: aliases, last days, and suggestions for a wrong name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { buildCatalogue, type Catalogue } from '../../src/pricing/catalogue.ts'
import { chat, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

let server: TestServer
let now = Date.parse('2026-12-10T23:59:59Z')
beforeAll(async () => {
  server = await startTestServer()
  const catalogue = buildCatalogue({
    vendors: [{ id: 'openai', shortIds: true }, { id: 'anthropic', shortIds: true }, { id: 'mock' }],
    extra: [testModel('small'), testModel('old', { endsAt: Date.parse('2026-12-11') })],
    overrides: {},
    aliases: { fast: 'mock/small' },
    markup: '1',
    discount: '0.5',
    now: () => now,
  })
  ;(server.gateway.offering as { catalogue: Catalogue }).catalogue = catalogue
})
afterAll(() => server.stop())

const refusalOf = async (path: string, body: object) => {
  const response = await server.post(path, body)
  const { error } = await jsonOf(response)
  return [response.status, error.code, error.message]
}
const listed = async (): Promise<readonly { id: string; ends?: string; aliases?: string[] }[]> =>
  (await jsonOf(await server.get('/v1/models'))).data

test.each([
  [
    'claude-sonnet-4.5',
    "There is no chat model 'claude-sonnet-4.5'; did you mean 'anthropic/claude-sonnet-4-5'?",
  ],
  ['mock/smal', "There is no chat model 'mock/smal'; did you mean 'mock/small'?"],
  // Its vendor sells it in one tier, so half the price would be the house's loss.
  ['mock/smalll', "There is no chat model 'mock/smalll'; did you mean 'mock/small'?"],
  ['openai/o1-preview', "The vendor of 'openai/o1-preview' ended it on 2025-07-28;"],
  ['nothing-like-it', "There is no chat model 'nothing-like-it';"],
])('%s is a 400 that helps', async (model, message) => {
  expect(await refusalOf('/v1/chat/completions', chat({ model }))).toEqual([
    400,
    'model_not_found',
    `${message} GET /v1/models lists those your key can use.`,
  ])
})

test('a model of another kind is named as what it is, with the address that takes it', async () => {
  const told = async (path: string, body: object) => (await refusalOf(path, body))[2]
  const embeddings = 'openai/text-embedding-3-small'
  expect(await told('/v1/chat/completions', chat({ model: embeddings }))).toBe(
    `'${embeddings}' is no chat model but one of embeddings: POST /v1/embeddings takes it.`,
  )
  expect(await told('/v1/image/generate', { model: embeddings, prompt: 'x' })).toBe(
    `'${embeddings}' is no image model but one of embeddings: POST /v1/embeddings takes it.`,
  )
  expect(await told('/v1/embeddings', { model: 'fast', input: 'x' })).toBe(
    "'fast' is no embeddings model but one of chat: POST /v1/chat/completions takes it.",
  )
  expect(await told('/v1beta/models/mock/small:embedContent', { content: { parts: [{ text: 'x' }] } })).toBe(
    "'mock/small' is no embeddings model but one of chat: POST /v1/chat/completions takes it.",
  )
  const predict = { instances: [{ content: 'x' }] }
  expect(await told(`/v1beta/models/${embeddings}:predict`, predict)).toBe(
    `There is no model '${embeddings}' that takes predict; embedContent and batchEmbedContents make embeddings.`,
  )
})

test('a model of embeddings has no discounted twin, and the full-price one is named', async () => {
  const asked = server.asked.length
  expect(await refusalOf('/v1/embeddings', { model: 'openai/text-embedding-3-smalll', input: 'x' })).toEqual([
    400,
    'model_not_found',
    "There is no embeddings model 'openai/text-embedding-3-smalll'; did you mean 'openai/text-embedding-3-small'? " +
      'GET /v1/models lists those your key can use.',
  ])
  expect(server.asked.length).toBe(asked)
  expect((await server.get('/v1/models/claude-sonnet-4.5')).status).toBe(400)
})

test('an alias is asked for, billed and limited as its model, and answers name it as the caller did', async () => {
  const response = await server.post('/v1/messages', { ...chat({ model: 'fast' }), max_tokens: 10 })
  expect([response.status, (await jsonOf(response)).model, server.asked.at(-1)?.body.model]).toEqual([
    200,
    'fast',
    'small',
  ])
  const [row] = (await jsonOf(await server.get('/v1/usage?group_by=model'))).data.rows
  expect(row.model).toBe('mock/small')
  expect((await listed()).find(({ id }) => id === 'mock/small')?.aliases).toEqual(['fast'])
})

test('a model is listed with its last day and sold until that begins', async () => {
  expect((await listed()).find(({ id }) => id === 'mock/old')?.ends).toBe('2026-12-11')
  expect((await server.post('/v1/chat/completions', chat({ model: 'mock/old' }))).status).toBe(200)
  now += 1_000
  expect((await listed()).some(({ id }) => id === 'mock/old')).toBe(false)
  expect((await refusalOf('/v1/chat/completions', chat({ model: 'mock/old' })))[2]).toContain(
    'ended it on 2026-12-11',
  )
})

test('clients of messages also find Claude by its name alone, and can call and retrieve it by that', async () => {
  const list = async (headers: Record<string, string>) => {
    const { token } = await server.newKey()
    const asked = new Request('http://x/v1/models', {
      headers: { authorization: `Bearer ${token}`, ...headers },
    })
    return (await jsonOf(await server.fetch(asked))).data.map(({ id }: { id: string }) => id) as string[]
  }
  const ids = await list({ 'anthropic-version': '2023-06-01' })
  const at = ids.indexOf('claude-sonnet-4-5')
  expect(ids[at + 1]).toBe('anthropic/claude-sonnet-4-5')
  const full = ids.filter((id) => id.startsWith('anthropic/claude'))
  expect(full.length).toBeGreaterThan(0)
  for (const id of full) expect([id, ids.includes(id.replace('anthropic/', ''))]).toEqual([id, true])
  expect(new Set(ids).size).toBe(ids.length)
  expect((await server.get('/v1/models/claude-sonnet-4-5')).status).toBe(200)
  expect(await list({})).not.toContain('claude-sonnet-4-5')
})
