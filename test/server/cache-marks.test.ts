/** Calls of clients that cannot mark what the vendor should cache, translated for Anthropic. */
import { afterEach, expect, test } from 'bun:test'
import { readConfig } from '../../src/cli/config/config.ts'
import { parseConfigFile } from '../../src/cli/config/config-file.ts'
import type { Model } from '../../src/core/model.ts'
import { anthropic } from '../../src/vendors/anthropic.ts'
import { jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

let server: TestServer
afterEach(() => server.stop())

const LONG = 'All of our rules, which no turn changes. '.repeat(500)
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const turns = [
  { role: 'user', content: 'one' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'sun' },
  { role: 'assistant', content: 'It is sunny.' },
  { role: 'user', content: 'two' },
]
const agent = { messages: [{ role: 'system', content: LONG }, ...turns], tools: [tool] }

const price: Model['price'] = {
  rates: {
    input: 1_000_000,
    cache_read: 100_000,
    cache_write: 1_250_000,
    cache_write_1h: 2_000_000,
    output: 10_000_000,
  },
  tiers: [],
  version: 'test-1',
}

const start = async (vendor: object = anthropic, upstreamName = 'claude-opus-5'): Promise<void> => {
  server = await startTestServer({
    vendor: { ...vendor, id: 'mock' },
    models: [testModel('small', { upstreamName, price })],
  })
  server.answerWith(() =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: upstreamName,
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 4_000,
        cache_read_input_tokens: 1_000,
        output_tokens: 5,
      },
    }),
  )
}

/** The places of the marks in the latest call. */
const marksOf = async (body: object, path = '/v1/chat/completions'): Promise<readonly string[]> => {
  const response = await server.post(path, { model: 'mock/small', max_tokens: 10, ...body })
  expect(response.status).toBe(200)
  const found: string[] = []
  const look = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ('cache_control' in value) found.push(at)
    for (const [name, member] of Object.entries(value)) look(member, `${at}.${name}`)
  }
  look(server.asked.at(-1)?.body, 'body')
  return found
}

test('a long call of an agent is marked at its system, its tools and its two latest turns, four marks at most', async () => {
  await start()
  expect(await marksOf(agent)).toEqual([
    'body.system.0',
    'body.messages.2.content.0',
    'body.messages.4.content.0',
    'body.tools.0',
  ])
  expect(server.asked.at(-1)?.body.messages).toHaveLength(5)
})

test('what the vendor wrote and read is charged at its prices, listed in the usage, and was held', async () => {
  await start()
  const before = await server.balance()
  const response = await server.post('/v1/chat/completions', {
    model: 'mock/small',
    max_tokens: 10,
    ...agent,
  })
  const { usage } = await jsonOf(response)
  expect(usage.prompt_tokens_details).toMatchObject({ cached_tokens: 1_000, cache_write_tokens: 4_000 })
  expect(before - (await server.balance())).toBe(
    10n * 1_000n + 4_000n * 1_250n + 1_000n * 100n + 5n * 10_000n,
  )
})

test('what is short, or will not come again, or is marked by its client, is left as it is', async () => {
  await start()
  expect(await marksOf({ ...agent, messages: turns })).toEqual([])
  expect(
    await marksOf({
      messages: [
        { role: 'system', content: LONG },
        { role: 'user', content: 'one' },
      ],
    }),
  ).toEqual([])
  const own = {
    role: 'system',
    content: [{ type: 'text', text: LONG, cache_control: { type: 'ephemeral' } }],
  }
  expect(await marksOf({ ...agent, messages: [own, ...turns] })).toEqual(['body.system.0'])
  // The vendor's own dialect passes as it came.
  const same = {
    messages: [{ role: 'user', content: LONG }],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  }
  expect(await marksOf(same, '/v1/messages')).toEqual([])
})

test("the least length is the model's", async () => {
  // 5,000 letters: enough for models from 1,024 tokens, not for those from 4,096.
  const some = { ...agent, messages: [{ role: 'system', content: LONG.slice(0, 5_000) }, ...turns] }
  await start(anthropic, 'claude-sonnet-4-5')
  expect(await marksOf(some)).toHaveLength(4)
  await server.stop()
  await start()
  expect(await marksOf(some)).toEqual([])
})

test('a setting turns marks off, and other vendors of the dialect get none', async () => {
  const setups = (environment: Record<string, string>) =>
    readConfig({ ANTHROPIC_API_KEY: 'k', ...environment }).vendors
  const off = setups({ CACHE_MARKS: 'off' })[0]?.vendor
  expect([setups({})[0]?.vendor.cacheMarks, off?.cacheMarks]).toEqual([true, false])
  await start(off)
  expect(await marksOf(agent)).toEqual([])
  await server.stop()
  const { cacheMarks: _none, ...other } = anthropic
  await start(other)
  expect(await marksOf(agent)).toEqual([])
})

test("an hour of Anthropic's cache has a price in turnpike.yaml: shown, held and charged exactly", async () => {
  const file = `
vendors:
  mock:
    base_url: http://mock.invalid/v1
    speaks: messages
    models:
      small:
        { input_usd_per_1m: "1", cache_write_usd_per_1m: "1.25", cache_write_1h_usd_per_1m: "2", output_usd_per_1m: "10",
          context_tokens: 100000, max_output_tokens: 4000 }
`
  const { models } = readConfig({}, parseConfigFile(file, 'turnpike.yaml', {}))
  server = await startTestServer({ vendor: { ...anthropic, id: 'mock' }, models })
  server.answerWith(() =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'small',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 3_000,
        cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 2_000 },
        output_tokens: 5,
      },
    }),
  )
  const [listed] = (await jsonOf(await server.get('/v1/models'))).data
  expect(listed.pricing).toMatchObject({ per_1m_cache_write_usd: '1.25', per_1m_cache_write_1h_usd: '2' })
  const [product] = (await jsonOf(await server.get('/products.json?q=small'))).data
  expect(product.pricing.rows).toEqual([
    {
      rates: { input: '0.000001', cache_write: '0.00000125', cache_write_1h: '0.000002', output: '0.00001' },
    },
  ])
  const before = await server.balance()
  const content = [{ type: 'text', text: LONG, cache_control: { type: 'ephemeral', ttl: '1h' } }]
  const body = { model: 'mock/small', max_tokens: 10, messages: [{ role: 'user', content }] }
  const response = await server.post('/v1/messages', body)
  expect(response.status).toBe(200)
  expect(before - (await server.balance())).toBe(
    10n * 1_000n + 1_000n * 1_250n + 2_000n * 2_000n + 5n * 10_000n,
  )
  // One and a half times the estimated input fits at the price of five minutes, and not at that of an hour.
  const tight = await server.newKey({ spendCap: (BigInt(LONG.length) * 3n * 1_600n) / 8n })
  expect((await server.post('/v1/messages', body, {}, tight.token)).status).toBe(402)
})
