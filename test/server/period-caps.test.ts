/** Caps of a day and of a week: as hard as that of a month, and over with their day or week. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DAY_MS } from '../../src/core/time.ts'
import { serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import { until } from '../until.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel, USD } from './harness.ts'

/** One call holds and costs 0.01 USD. */
const models = [
  testModel('cent', {
    maxOutputTokens: 1_000,
    price: { rates: { input: 0, output: 10_000_000 }, tiers: [], version: 't' },
  }),
]
const MONDAY = Date.UTC(2031, 5, 2)

for (const kind of serverEngines) {
  describe(`caps of a day and a week, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: TestServer
    /** Wednesday noon when the tests begin. */
    let ahead = MONDAY + 2.5 * DAY_MS - Date.now()
    const now = () => Date.now() + ahead

    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({ url: database.url, fund: 100n * USD, models, now })
      server.answerWith(() =>
        completion('x', { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
      )
    })
    afterAll(() => stopSound(server, database))

    const call = (token: string) =>
      server.post('/v1/chat/completions', chat({ model: 'mock/cent', max_tokens: 1_000 }), {}, token)
    const statusOf = async (token: string) => (await call(token)).status
    const limitOf = async (token: string) => {
      const response = await call(token)
      const { error } = await jsonOf(response)
      return [response.status, error.limit, error.limit_owner]
    }
    const put = (token: string, body: object, whose = 'me') =>
      server.send('PUT', `/v1/key/wholesale/${whose}/limits`, body, token)
    const CENT = USD / 100n

    test('are never exceeded, however many calls come at once, and bind the keys below', async () => {
      for (const cap of ['dailyCap', 'weeklyCap'] as const) {
        const maker = await server.newKey({ [cap]: 5n * CENT })
        const below = await server.newKey({}, { parentId: maker.id })
        const tokens = Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? maker.token : below.token))
        const statuses = await Promise.all(tokens.map(statusOf))
        expect(statuses.filter((status) => status === 200)).toHaveLength(5)
        const name = { dailyCap: 'daily_cap_usd', weeklyCap: 'weekly_cap_usd' }[cap]
        expect(await limitOf(below.token)).toEqual([402, name, 'parent'])
        expect(await limitOf(maker.token)).toEqual([402, name, 'key'])
        expect((await server.store.keys.spend(maker.id)).spent).toBe(5n * CENT)
      }
    })

    test('count what was spent before they were set, and end when they are removed', async () => {
      const { token } = await server.newKey()
      expect([await statusOf(token), await statusOf(token)]).toEqual([200, 200])
      expect((await jsonOf(await put(token, { daily_cap_usd: 0.02 }))).data).toMatchObject({
        daily_cap_usd: 0.02,
        weekly_cap_usd: null,
        disabled: false,
      })
      expect(await limitOf(token)).toEqual([402, 'daily_cap_usd', 'key'])
      await put(token, { daily_cap_usd: null, weekly_cap_usd: '0.03' })
      expect(await statusOf(token)).toBe(200)
      expect(await limitOf(token)).toEqual([402, 'weekly_cap_usd', 'key'])
      await put(token, { weekly_cap_usd: 0.04 })
      expect(await statusOf(token)).toBe(200)
      const usage = await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))
      expect(usage.data).toMatchObject({
        remaining_usd: 0,
        limited_by: { limit: 'weekly_cap_usd', of: 'key' },
      })
    })

    test('may only be narrowed by the key, and below a key only within its own', async () => {
      const { token } = await server.newKey({ dailyCap: USD, weeklyCap: 2n * USD }, { canManage: true })
      expect((await put(token, { daily_cap_usd: 2 })).status).toBe(403)
      expect((await put(token, { weekly_cap_usd: null })).status).toBe(403)
      expect((await put(token, { daily_cap_usd: 0.5 })).status).toBe(200)
      const make = (body: object) => server.send('POST', '/v1/key/wholesale', { label: 'b', ...body }, token)
      expect((await make({ daily_cap_usd: 0.6 })).status).toBe(403)
      expect((await make({ daily_cap_usd: 0.4 })).status).toBe(201)
    })

    test('a refund gives back what was spent in the week and day of its call', async () => {
      const { id, token } = await server.newKey({ dailyCap: CENT, weeklyCap: CENT })
      const answer = await call(token)
      expect(await statusOf(token)).toBe(402)
      const ref = answer.headers.get('x-request-id') ?? ''
      const wallet = (await server.store.keys.key(id))?.walletId ?? ''
      await server.store.ledger.post({ kind: 'refund', ref, debit: 'revenue', credit: wallet, amount: CENT })
      expect(await statusOf(token)).toBe(200)
    })

    test('are over with their day and week, without anybody enabling the key', async () => {
      const { token } = await server.newKey({ dailyCap: CENT, weeklyCap: 2n * CENT })
      expect(await statusOf(token)).toBe(200)
      expect(await limitOf(token)).toEqual([402, 'daily_cap_usd', 'key'])
      ahead += DAY_MS
      await until(async () => (await statusOf(token)) === 200)
      // The week began on Monday: two days, a cent each, are all of it.
      ahead += DAY_MS
      await until(async () => (await limitOf(token))[1] === 'weekly_cap_usd')
      ahead += 3 * DAY_MS
      await until(async () => (await statusOf(token)) === 200)
      expect(await limitOf(token)).toEqual([402, 'daily_cap_usd', 'key'])
    })
  })
}
