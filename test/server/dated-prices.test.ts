/**
 * Prices with a date: a call costs what was in force when it began, however long it takes, and lists show the next
 * price.
 */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/cli/config/config.ts'
import { parseConfigFile } from '../../src/cli/config/config-file.ts'
import { buildCatalogue } from '../../src/pricing/catalogue.ts'
import { messageOf } from '../cli/bad-setting.ts'
import { runProgram } from '../program.ts'
import { chat, completion, jsonOf, pausedStream, startTestServer, streamEvents } from './harness.ts'

const CHANGE = Date.parse('2027-01-31T00:00:00Z')
const SECOND_CHANGE = Date.parse('2027-02-28T12:00:00Z')
const FILE = `
vendors:
  mock:
    base_url: http://mock.invalid/v1
    models:
      small:
        input_usd_per_1m: "1"
        output_usd_per_1m: "10"
        context_tokens: 100000
        max_output_tokens: 4000
        cheaper_tier: flex
        later:
          - { from: "2027-02-28T12:00Z", input_usd_per_1m: "3" }
          - { from: "2027-01-31", output_usd_per_1m: "20" }
aliases: { fast: mock/small }
markup: 2x
`
const configOf = (text: string) => readConfig({}, parseConfigFile(text, 'turnpike.yaml', {}))

let now = 0
const config = configOf(FILE)
const server = await startTestServer()
const { vendors, failover } = server.gateway.offering
server.sell({
  vendors,
  failover,
  catalogue: buildCatalogue({
    vendors: [{ id: 'mock' }],
    extra: config.models,
    overrides: config.overrides,
    markup: config.markup,
    discount: config.discount,
    aliases: config.aliases,
    now: () => now,
  }),
})
afterAll(() => server.stop())
beforeEach(() => {
  now = CHANGE - 1
})

/** 1,000 tokens of input and 100 of output; at first 2 and 20 dollars a million. */
const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
const FIRST = '0.004'
const SECOND = '0.006'
const THIRD = '0.01'
const call = (model = 'mock/small') => server.post('/v1/chat/completions', chat({ model }))
const costOf = (response: Response) => response.headers.get('x-cost-usd')

test('a call that begins before the change and ends after it costs the price of its start', async () => {
  server.answerWith(() => {
    now = CHANGE
    return completion('hello', usage)
  })
  const across = await call()
  expect([costOf(across), now]).toEqual([FIRST, CHANGE])
  // The receipt's claims name the price.
  const receipt = await jsonOf(await server.get(`/v1/receipts/${across.headers.get('x-request-id')}`))
  expect(JSON.stringify(receipt)).not.toContain('config from')
  expect(costOf(await call())).toBe(SECOND)
  now = SECOND_CHANGE
  expect(costOf(await call())).toBe(THIRD)
  // A clock that is set back sells the former price again.
  now = CHANGE - 1
  server.answerWith(() => completion('hello', usage))
  expect(costOf(await call())).toBe(FIRST)
})

test('so does a stream, and one by an alias', async () => {
  const events = streamEvents(['one', 'two', 'three'], usage)
  const streamed = async (model: string) => {
    now = CHANGE - 1
    server.answerWith(() =>
      pausedStream(events, 3, async () => {
        now = CHANGE
      }),
    )
    const response = await server.post('/v1/chat/completions', chat({ model, stream: true }))
    return /: x-cost-usd: ([\d.]+)/.exec(await response.text())?.[1]
  }
  expect(await streamed('mock/small')).toBe(FIRST)
  expect(await streamed('fast')).toBe(FIRST)
  server.answerWith(() => completion('hello', usage))
  expect(costOf(await call('fast'))).toBe(SECOND)
})

test('a discounted model changes with its own; what it costs at the full price too', async () => {
  server.answerWith(() => Response.json({ ...JSON.parse(wholeText), service_tier: 'flex' }))
  expect(costOf(await call('mock/smalll'))).toBe('0.002')
  now = CHANGE
  expect(costOf(await call('mock/smalll'))).toBe('0.003')
  server.answerWith(() => Response.json({ ...JSON.parse(wholeText), service_tier: 'default' }))
  expect(costOf(await call('mock/smalll'))).toBe(SECOND)
})
const wholeText = await completion('hello', usage).text()

test('the listing shows the next price, and each one in its time', async () => {
  const listed = async (id = 'mock/small') => {
    const { data } = await jsonOf(await server.get('/v1/models'))
    return data.find((model: { id: string }) => model.id === id)
  }
  expect(await listed()).toMatchObject({
    aliases: ['fast'],
    pricing: { per_1m_input_usd: '2', per_1m_output_usd: '20', version: 'config' },
    coming: {
      from: '2027-01-31T00:00:00.000Z',
      pricing: {
        per_1m_input_usd: '2',
        per_1m_output_usd: '40',
        version: 'config from 2027-01-31T00:00:00.000Z',
      },
    },
  })
  expect((await listed('mock/smalll')).coming.pricing).toMatchObject({
    per_1m_output_usd: '20',
    otherwise: { per_1m_output_usd: '40' },
  })
  const described = async () => (await server.get('/products/mock/small.json')).text()
  const before = await described()
  now = CHANGE
  expect(await listed()).toMatchObject({
    pricing: { per_1m_output_usd: '40' },
    coming: { from: '2027-02-28T12:00:00.000Z', pricing: { per_1m_input_usd: '6' } },
  })
  expect(await described()).not.toBe(before)
  now = SECOND_CHANGE
  expect((await listed()).pricing).toMatchObject({ per_1m_input_usd: '6', per_1m_output_usd: '40' })
  expect((await listed()).coming).toBeUndefined()
})

test('prices that replace those of the table have a date too, and products that are not chat', () => {
  const { overrides } = configOf(
    'prices: { groq/llama-3.3-70b-versatile: { later: [{ from: "2027-01-31", input_usd_per_1m: "9" }] }, "local/qr": { call_usd_per_1m: "5", later: [{ from: "2027-01-31", call_usd_per_1m: "7" }] } }',
  )
  const price = { rates: { call: 1_000_000 }, tiers: [], version: 'made' }
  const product = { rows: [], price: () => ({ inputs: {}, price, most: {} }) }
  const qr = { ...config.models[0]!, id: 'local/qr', vendor: 'local', kind: 'media', price, product }
  const { find } = buildCatalogue({
    vendors: [{ id: 'groq' }, { id: 'local' }],
    extra: [qr as never],
    overrides,
    markup: '1',
    discount: '0.5',
    now: () => now,
  })
  const table = find('groq/llama-3.3-70b-versatile')?.price.rates
  const calls = () => {
    const priced = find('local/qr')?.product?.price({})
    return priced !== undefined && 'price' in priced
      ? [find('local/qr')?.price, priced.price].map((one) => one?.rates.call)
      : []
  }
  expect(table?.input).toBeLessThan(9_000_000)
  expect(calls()).toEqual([5_000_000, 5_000_000])
  now = CHANGE
  expect([find('groq/llama-3.3-70b-versatile')?.price.rates.input, calls()]).toEqual([
    9_000_000,
    [7_000_000, 7_000_000],
  ])
  expect(find('groq/llama-3.3-70b-versatile')?.price.rates.output).toBe(table?.output)
})

test('what cannot be a date or says nothing is refused', () => {
  const refused = (later: string) =>
    messageOf(() => configOf(`prices: { groq/llama-3.3-70b-versatile: { later: [${later}] } }`))
  expect(refused('{ from: "tomorrow", input_usd_per_1m: "1" }')).toContain('must be a day such as')
  expect(refused('{ from: "2027-02-31", input_usd_per_1m: "1" }')).toContain("not '2027-02-31'")
  expect(refused('{ from: "2027-01-31T25:00Z", input_usd_per_1m: "1" }')).toContain('not ')
  expect(refused('{ from: "2027-01-31" }')).toContain('has no price')
  expect(refused('{ input_usd_per_1m: "1" }')).toContain('from')
})

test('turnpike models shows the next price', async () => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-dated-'))
  writeFileSync(join(home, 'turnpike.yaml'), FILE.replaceAll('2027', '2999'))
  const { out } = await runProgram(home, {}, 'models')
  const row = out.split('\n').find((line) => line.startsWith('mock/small '))
  expect(row?.split(/ {2,}/)).toEqual(expect.arrayContaining(['2999-01-31T00:00:00.000Z', '40']))
  rmSync(home, { recursive: true })
})
