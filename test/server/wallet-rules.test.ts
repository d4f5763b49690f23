/** Wallet rules: who may set them, what they refuse, and when a change takes effect. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines, serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  jsonOf,
  pausedStream,
  startTestServer,
  streamEvents,
  type TestServer,
  testModel,
  USD,
} from './harness.ts'

const path = '/api/wallet/rules'
const none = {
  per_call_max_usd: null,
  daily_limit_usd: null,
  allowed_models: null,
  blocked_models: null,
  guardrails: null,
  requires: null,
  alert_below_usd: null,
  alert_webhook_url: null,
  auto_top_up: null,
  tenants_see: 'cost',
}

for (const engine of serverEngines)
  describe(`wallet rules on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      const models = ['small', 'large', 'large-2'].map((name) => testModel(name))
      server = await startTestServer({ url: database.url, models })
    })
    afterAll(async () => {
      await stopSound(server, database)
    })

    const put = (body: unknown, token?: string) => server.send('PUT', path, body, token)
    const call = (more: object = {}) => server.post('/v1/chat/completions', chat(more))

    test('are read and changed member by member; null removes one', async () => {
      const { wallet_id, alert_webhook_secret, auto_top_up_status, ...rules } = await jsonOf(
        await server.get(path),
      )
      expect(auto_top_up_status).toMatchObject({ payment_method_saved: false, active: false })
      expect([wallet_id, alert_webhook_secret, rules]).toEqual([server.wallet, null, { ...none, version: 0 }])
      const first = { per_call_max_usd: 0.5, allowed_models: ['mock/*'], daily_limit_usd: 90.000000001 }
      expect(await jsonOf(await put(first))).toMatchObject({ ...none, ...first })
      const alert_below_usd = 5
      expect(await jsonOf(await put({ alert_below_usd, per_call_max_usd: null }))).toMatchObject({
        ...none,
        ...first,
        per_call_max_usd: null,
        alert_below_usd,
      })
      expect(await jsonOf(await server.get(path))).toMatchObject({
        allowed_models: ['mock/*'],
        alert_below_usd,
      })
      const empty = { allowed_models: null, daily_limit_usd: null, alert_below_usd: null, auto_top_up: null }
      expect(await jsonOf(await put(empty))).toMatchObject(none)
    })

    test('are for the account only', async () => {
      for (const method of ['GET', 'PUT']) {
        const anonymous = await server.send(method, path, method === 'PUT' ? {} : undefined, '')
        expect([anonymous.status, (await jsonOf(anonymous)).error]).toEqual([401, 'Unauthorized'])
      }
      const wrong = await server.get(path, 'sk-nobody1234567890123')
      expect([wrong.status, (await jsonOf(wrong)).code]).toEqual([401, 'invalid_api_key'])
      const parent = await server.newKey()
      const child = await server.newKey({}, { parentId: parent.id })
      const trial = await server.newKey({}, { trialUntil: Date.now() + 60_000 })
      for (const { token } of [child, trial])
        for (const answer of [await server.get(path, token), await put({ per_call_max_usd: null }, token)])
          expect([answer.status, (await jsonOf(answer)).code]).toEqual([403, 'forbidden'])
    })

    test.each([
      [{ per_call_max_usd: -1 }, 'per_call_max_usd'],
      [{ daily_limit_usd: '5' }, 'daily_limit_usd'],
      [{ allowed_models: 'mock/*' }, 'allowed_models'],
      [{ allowed_models: ['mock/*', 5] }, 'allowed_models'],
      [{ blocked_models: Array.from({ length: 101 }, () => 'a') }, 'blocked_models'],
      [{ blocked_models: ['a b'] }, 'blocked_models'],
      [{ auto_top_up: { below_usd: 1 } }, 'auto_top_up.amount_usd'],
      [{ auto_top_up: { below_usd: 1, amount_usd: 1 } }, 'auto_top_up'],
      [{ auto_top_up: { below_usd: 1, amount_usd: 1, more: 1 } }, 'auto_top_up.more'],
      [{ daily_limit: 5 }, 'daily_limit'],
      [{ alert_webhook_url: 'http://hooks.example.com/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://127.0.0.1/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://2130706433/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://0x7f.1/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://[::ffff:10.0.0.1]/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://[fd00::1]/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://169.254.169.254/latest' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://localhost/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://metadata.google.internal/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://user:pass@hooks.example.com/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'https://hooks.example.com:8443/' }, 'alert_webhook_url'],
      [{ alert_webhook_url: 'ftp://hooks.example.com/' }, 'alert_webhook_url'],
    ])('%j is refused, and nothing of it is kept', async (body, param) => {
      const refused = await put({ per_call_max_usd: 7, ...body })
      const answer = await jsonOf(refused)
      expect([refused.status, answer.code, answer.param]).toEqual([400, 'invalid_parameter', param])
      expect(await jsonOf(await server.get(path))).toMatchObject(none)
    })

    test('choose the models that may be called, and that are listed', async () => {
      server.answerWith(() => completion('x'))
      const listed = async () =>
        (await jsonOf(await server.get('/v1/models'))).data.map((model: { id: string }) => model.id)
      await put({ allowed_models: ['mock/large*', 'mock/small'], blocked_models: ['*-2', 'mock/s?all'] })
      expect(await listed()).toEqual(['mock/large'])
      expect((await call({ model: 'mock/large' })).status).toBe(200)
      for (const model of ['mock/small', 'mock/large-2']) {
        const refused = await call({ model })
        const { error } = await jsonOf(refused)
        expect([refused.status, error.code, error.param]).toEqual([403, 'model_not_allowed', 'model'])
        expect((await server.get(`/v1/models/${model}`)).status).toBe(403)
      }
      await put({ allowed_models: [], blocked_models: null })
      expect(await listed()).toEqual([])
      await put({ allowed_models: null })
      expect(await listed()).toHaveLength(3)
      expect((await call({ model: 'mock/small' })).status).toBe(200)
    })

    test('bound what one call may cost, as the caller may too', async () => {
      await put({ per_call_max_usd: 0.001 })
      expect((await call()).status).toBe(200)
      expect(Number(server.asked.at(-1)?.body.max_tokens)).toBeLessThan(100)
      const insisting = await call({ max_tokens: 8_000 })
      const { error } = await jsonOf(insisting)
      expect([insisting.status, error.code, error.limit, error.available_credits]).toEqual([
        402,
        'max_cost_exceeded',
        'per_call_max_usd',
        0.1,
      ])
      const both = await server.post('/v1/chat/completions', chat({ max_tokens: 8_000 }), {
        'x-max-cost-usd': '0.0005',
      })
      expect((await jsonOf(both)).error).toMatchObject({ limit: 'max_cost', available_credits: 0.05 })
      await put({ per_call_max_usd: null })
      expect((await call({ max_tokens: 8_000 })).status).toBe(200)
    })

    test('bound what a day may cost, also over parallel calls, and count what was spent before', async () => {
      server.answerWith(() =>
        completion('x', { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 }),
      )
      const before = await server.balance()
      expect((await call({ max_tokens: 90 })).status).toBe(200)
      const spent = 100n * USD - (await server.balance())
      expect(before - (await server.balance())).toBe(910_000n)
      // Room for five more answers of 910 000 nano-dollars.
      const limit = spent + 5_000_000n
      await put({ daily_limit_usd: Number(limit) / 1e9 })
      const answers = await Promise.all(Array.from({ length: 30 }, () => call({ max_tokens: 90 })))
      const charged = answers.filter(({ status }) => status === 200).length
      expect(charged).toBeGreaterThan(1)
      expect(charged).toBeLessThanOrEqual(5)
      expect(100n * USD - (await server.balance())).toBe(spent + BigInt(charged) * 910_000n)
      expect(await server.store.wallets.spentToday(server.wallet)).toEqual({
        spent: spent + BigInt(charged) * 910_000n,
        held: 0n,
      })
      await put({ daily_limit_usd: Number(spent) / 1e9 })
      const refused = await call({ max_tokens: 90 })
      const { error } = await jsonOf(refused)
      expect([refused.status, error.code, error.limit, error.available_credits]).toEqual([
        402,
        'insufficient_balance',
        'daily_limit_usd',
        0,
      ])
      await put({ daily_limit_usd: null })
      expect((await call({ max_tokens: 90 })).status).toBe(200)
    })

    test.each([
      ['blocks its model', { blocked_models: ['mock/small'] }],
      ['lowers what a call may cost', { per_call_max_usd: 0.045 }],
      ['lowers what a day may cost', { daily_limit_usd: 0.0001 }],
    ])(
      'that change while a stream runs end it when its hold would grow: one that %s',
      async (_what, rules) => {
        const words = Array.from({ length: 6_000 }, () => 'x ')
        server.answerWith(() => pausedStream(streamEvents(words, null), 1_000, () => put(rules)))
        const text = await (await call({ stream: true })).text()
        expect(text.includes('"finish_reason":"length"')).toBe(true)
        const delivered = text.split('"content":"x "').length - 1
        expect(delivered).toBeGreaterThan(3_000)
        expect(delivered).toBeLessThanOrEqual(4_096)
        await put(none)
      },
    )

    test('that would end a stream come too late for an answer that has ended: it is whole, and costs what its vendor counted', async () => {
      const words = Array.from({ length: 5_000 }, () => 'x ')
      const usage = { prompt_tokens: 10, completion_tokens: 3_000, total_tokens: 3_010 }
      const events = streamEvents(words, usage)
      const pieces = [...events.slice(0, 1_000), events.slice(1_000, -2).join(''), ...events.slice(-2)]
      server.answerWith(() => pausedStream(pieces, 500, () => put({ per_call_max_usd: 0.045 })))
      const before = await server.balance()
      const text = await (await call({ stream: true })).text()
      expect([...text.matchAll(/"finish_reason":"(\w+)"/g)].map(([, reason]) => reason)).toEqual(['stop'])
      expect(before - (await server.balance())).toBe(30_010_000n)
      await put(none)
    })
  })

test('rules set through one process hold on another when the answer is there', async () => {
  const postgres = engines.find(({ name }) => name === 'PostgreSQL')
  const database = await postgres?.fresh()
  if (database === undefined) throw new Error('no PostgreSQL')
  const [one, other] = [
    await startTestServer({ url: database.url }),
    await startTestServer({ url: database.url }),
  ]
  const { id, token } = await one.newKey({}, { canManage: true })
  const there = () => other.post('/v1/chat/completions', chat({ max_tokens: 90 }), {}, token)
  expect((await there()).status).toBe(200)
  for (let round = 0; round < 5; round++) {
    await one.send('PUT', path, { blocked_models: ['*'] }, token)
    expect((await there()).status).toBe(403)
    await one.send('PUT', path, { blocked_models: null, daily_limit_usd: 0 }, token)
    expect((await there()).status).toBe(402)
    await one.send('PUT', path, { daily_limit_usd: null }, token)
    expect((await there()).status).toBe(200)
  }
  expect((await one.store.keys.spend(id)).requests).toBe(6)
  await one.stop()
  await other.stop()
  await database.stop()
})
