/** What vendors' caches save: in the report of use by any group, in the metrics by vendor key, and in each receipt. */
import { expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { isObject } from '../../src/core/json-body.ts'
import { nanoFromDecimal } from '../../src/core/money.ts'
import { recompute } from '../../src/receipts/recompute.ts'
import { anthropic } from '../../src/vendors/anthropic.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { jsonOf, METRICS_TOKEN, startTestServer, type TestServer, testModel } from './harness.ts'

/** As Anthropic prices: reading a tenth, writing a quarter more, writing for an hour twice as much. */
const rates = {
  input: 1_000_000,
  cache_read: 100_000,
  cache_write: 1_250_000,
  cache_write_1h: 2_000_000,
  output: 10_000_000,
}
const price = { rates, tiers: [], version: 'test-1' }

type Counts = {
  readonly input: number
  readonly read: number
  readonly written: number
  readonly hour?: number
}

const answer = ({ input, read, written, hour = 0 }: Counts) =>
  Response.json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: {
      input_tokens: input,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written + hour,
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: hour },
      output_tokens: 5,
    },
  })

const started = (url: string, more: object = {}) =>
  startTestServer({
    url,
    vendor: { ...anthropic, id: 'mock' },
    secrets: ['one', 'two'],
    models: ['a', 'b'].map((name) => testModel(name, { price })),
    ...more,
  })

const ask = async (server: TestServer, model: string, counts: Counts, token?: string): Promise<Response> => {
  server.answerWith(() => answer(counts))
  const body = { model: `mock/${model}`, max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] }
  const response = await server.post('/v1/messages', body, {}, token)
  expect(response.status).toBe(200)
  await response.clone().text()
  return response
}

const counts = (input: number, cached: number, written: number, saved: number) => ({
  input_tokens: input,
  cached_tokens: cached,
  cache_write_tokens: written,
  cache_hit_rate: Math.floor((cached * 10_000) / input) / 10_000,
  cache_saved_usd: saved,
})

const report = async (server: TestServer, query: string) =>
  (await jsonOf(await server.get(`/v1/usage?${query}`))).data

for (const { name, fresh } of serverEngines) {
  test(`the report of use shows hit rate and savings by model and key, and adds up, on ${name}`, async () => {
    const database = await fresh()
    const server = await started(database.url)
    const first = await ask(server, 'a', { input: 100, read: 900, written: 0 })
    await ask(server, 'a', { input: 0, read: 500, written: 400, hour: 100 })
    await ask(server, 'b', { input: 10, read: 0, written: 1_000 })
    await ask(server, 'b', { input: 50, read: 0, written: 0 })
    // 1,400 tokens saved 900 nano-USD each; writing cost 250 and, for an hour, 1,000 more a token.
    const ofA = counts(2_000, 1_400, 500, 0.00106)
    const ofB = counts(1_060, 0, 1_000, -0.00025)
    const all = counts(3_060, 1_400, 1_500, 0.00081)
    for (const rolledUp of [false, true]) {
      if (rolledUp) await server.store.reports.rollUp()
      const byModel = await report(server, 'group_by=model')
      expect(byModel.rows).toMatchObject([
        { model: 'mock/a', ...ofA },
        { model: 'mock/b', ...ofB },
      ])
      expect(byModel.total).toMatchObject(all)
      for (const by of ['key', 'day,vendor', 'month,status', 'sub_wallet', 'payment_mode']) {
        const { rows, total } = await report(server, `group_by=${by}`)
        expect([by, rows.length]).toEqual([by, 1])
        expect(rows[0]).toMatchObject(all)
        expect(total).toMatchObject(all)
      }
      expect((await report(server, 'group_by=day,key&top=1')).total).toMatchObject(all)
    }
    // A receipt tells it too: the plain price is beside that of the cache, also if no token was plain.
    const claims = decodeJwt(first.headers.get('x-receipt') ?? '')
    expect(claims.usage).toEqual({ cache_read: 900, input: 100, output: 5 })
    expect(claims.cost).toMatchObject({ prices_usd_per_million: { cache_read: '0.1', input: '1' } })
    const cached = await ask(server, 'a', { input: 0, read: 100, written: 0 })
    const second: unknown = decodeJwt(cached.headers.get('x-receipt') ?? '')
    if (!isObject(second) || !isObject(second.cost)) throw new Error('no receipt')
    expect(second.usage).toEqual({ cache_read: 100, output: 5 })
    expect(second.cost.prices_usd_per_million).toEqual({ cache_read: '0.1', input: '1', output: '10' })
    expect(recompute(second)).toBe(nanoFromDecimal(String(second.cost.amount)))
    await stopSound(server, database)
  })

  test(`savings are known without receipts, and by a key and what is below it, on ${name}`, async () => {
    const database = await fresh()
    const server = await started(database.url, { receipts: 'off' })
    const [one, two] = [await server.newKey(), await server.newKey()]
    await ask(server, 'a', { input: 100, read: 100, written: 0 }, one.token)
    await ask(server, 'a', { input: 100, read: 0, written: 300 }, two.token)
    const shown = async ({ token }: { token: string }) =>
      (await jsonOf(await server.get('/v1/usage?group_by=model', token))).data.rows
    expect(await shown(one)).toMatchObject([counts(200, 100, 0, 0.00009)])
    expect(await shown(two)).toMatchObject([counts(400, 0, 300, -0.000075)])
    await stopSound(server, database)
  })
}

test('the metrics count caches by vendor key, from which a rate can be made', async () => {
  const server = await started('sqlite::memory:')
  await ask(server, 'a', { input: 100, read: 900, written: 0 })
  await ask(server, 'a', { input: 0, read: 0, written: 500 })
  await ask(server, 'b', { input: 10, read: 0, written: 0 })
  const places = new Set(server.asked.map(({ headers }) => (headers.get('x-api-key') === 'one' ? 0 : 1)))
  expect(places.size).toBe(1)
  const of = `vendor="mock",key="${[...places][0]}"`
  const text = await (await server.get('/metrics', METRICS_TOKEN)).text()
  for (const line of [
    `turnpike_vendor_key_input_tokens_total{${of},cached="true"} 900`,
    `turnpike_vendor_key_input_tokens_total{${of},cached="false"} 610`,
    `turnpike_cache_saved_usd_total{${of},model="mock/a"} 0.00081`,
    `turnpike_cache_added_usd_total{${of},model="mock/a"} 0.000125`,
  ])
    expect(text.split('\n')).toContain(line)
  // A call without a cache has nothing to count there.
  expect(text).not.toContain(`turnpike_cache_saved_usd_total{${of},model="mock/b"}`)
  await server.stop()
})
