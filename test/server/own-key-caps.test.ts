/** Caps count what vendors bill an organisation for its own keys, by their list prices; nothing else does. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { ownKeySettings } from '../../src/settings/own-keys.ts'
import { readSettings } from '../../src/settings/setting.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import {
  chat,
  completion,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
  USD,
} from './harness.ts'

const OWN = 'sk-own-0123456789abcdef-tail'
const CENT = USD / 100n
/** The list price of one call is a cent, and the fee for it a tenth of that. */
const models = [
  testModel('cent', {
    maxOutputTokens: 1_000,
    price: { rates: { input: 0, output: 10_000_000 }, tiers: [], version: 't' },
  }),
  testModel('long', {
    maxOutputTokens: 100_000,
    price: { rates: { input: 0, output: 10_000_000 }, tiers: [], version: 't' },
  }),
]

for (const kind of serverEngines)
  describe(`own keys under caps, ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: TestServer
    let ownKey = ''

    beforeAll(async () => {
      database = await kind.fresh()
      const ownKeys = readSettings(ownKeySettings, { OWN_KEY_FEE_BASIS_POINTS: '1000' })
      server = await startTestServer({ url: database.url, fund: USD, models, options: { ownKeys } })
      const added = await server.send('POST', '/v1/own-keys', { vendor: 'mock', value: OWN, untested: true })
      ownKey = (await jsonOf(added)).id
    })
    beforeEach(() =>
      server.answerWith(() =>
        completion('x', { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
      ),
    )
    afterAll(() => stopSound(server, database))

    const send = (
      token: string,
      { more = {}, headers = {} }: { more?: object; headers?: Record<string, string> },
    ) =>
      server.post(
        '/v1/chat/completions',
        chat({ model: 'mock/cent', max_tokens: 1_000, ...more }),
        headers,
        token,
      )
    const call = (token: string) => send(token, {})
    const spentToday = () => server.store.wallets.spentToday(server.wallet)
    const statuses = async (calls: number, token: string) =>
      (await Promise.all(Array.from({ length: calls }, () => call(token)))).map(({ status }) => status)
    const served = (all: readonly number[]) => all.filter((status) => status === 200).length

    test.each(['spendCap', 'monthlyCap', 'weeklyCap', 'dailyCap'] as const)(
      '%s counts fee and estimate, however many calls come at once, and of keys above as well',
      async (cap) => {
        const maker = await server.newKey({ [cap]: 4n * CENT })
        const below = await server.newKey({}, { parentId: maker.id })
        const before = await server.balance()
        // Three of 1.1 cents.
        expect(served([...(await statuses(6, maker.token)), ...(await statuses(6, below.token))])).toBe(3)
        expect(before - (await server.balance())).toBe((3n * CENT) / 10n)
        const spend = await server.store.keys.spend(maker.id)
        expect([spend.spent, spend.estimated.spent, spend.requests]).toEqual([
          (33n * CENT) / 10n,
          3n * CENT,
          3,
        ])
      },
    )

    test('the refusal names the limit, and says that the amount is estimated', async () => {
      const { token } = await server.newKey({ dailyCap: CENT / 2n })
      const refused = await call(token)
      const { error } = await jsonOf(refused)
      expect([refused.status, error.limit, error.limit_owner, error.estimated]).toEqual([
        402,
        'daily_cap_usd',
        'key',
        true,
      ])
      expect(error.required_credits).toBe(1)
      expect(error.message).toContain("for your vendor key, estimated by the vendor's list price")
    })

    const TAGS = 'x-turnpike-tags'
    test.each<[string, () => Promise<Record<string, string>>]>([
      [
        'sub_wallet',
        async () => {
          const sub = { id: 'few', walletId: server.wallet, label: 'few', budget: 4n * CENT }
          await server.store.subWallets.createSubWallet(sub, byTest)
          return { 'x-sub-wallet': 'few' }
        },
      ],
      [
        'budget',
        async () => {
          const { token } = await server.newKey({}, { canManage: true })
          const body = { value: 'alice', monthly_cap_usd: 0.04 }
          expect((await server.send('PUT', '/v1/budgets/user', body, token)).status).toBe(200)
          return { [TAGS]: 'user=alice' }
        },
      ],
      [
        'daily_limit_usd',
        async () => {
          const { spent } = await spentToday()
          await server.store.wallets.changeWalletRules(
            server.wallet,
            { dailyLimit: spent + 4n * CENT },
            byTest,
          )
          return {}
        },
      ],
    ])('%s counts them as well', async (limit, given) => {
      const headers = await given()
      const { token } = await server.newKey()
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(token, { headers })))
      expect(served(answers.map(({ status }) => status))).toBe(3)
      const { error } = await jsonOf(await send(token, { headers }))
      expect([error.limit, error.estimated]).toEqual([limit, true])
      await server.store.wallets.changeWalletRules(server.wallet, { dailyLimit: null }, byTest)
    })

    test('a stream that grows is cut where the cap ends', async () => {
      const { token, id } = await server.newKey({ spendCap: 30n * CENT })
      const words = Array.from({ length: 60 }, () => 'w '.repeat(1_000))
      server.answerWith(() => streaming(streamEvents(words, null)))
      const stream = await send(token, { more: { model: 'mock/long', max_tokens: undefined, stream: true } })
      expect(stream.status).toBe(200)
      expect((await stream.text()).includes('"finish_reason":"length"')).toBe(true)
      const { spent, estimated, held } = await server.store.keys.spend(id)
      expect([held, spent <= 30n * CENT, estimated.spent > 20n * CENT]).toEqual([0n, true, true])
      expect(spent - estimated.spent).toBeLessThan(3n * CENT)
    })

    test('where the house answers in place of the own key, nothing is estimated', async () => {
      await server.send('PUT', `/v1/own-keys/${ownKey}`, { fall_back: true })
      server.answerWith(({ headers }) =>
        headers.get('authorization')?.includes(OWN) === true
          ? Response.json({ error: { message: 'no' } }, { status: 401 })
          : completion('x', { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
      )
      const { token, id } = await server.newKey({ spendCap: 4n * CENT })
      expect((await call(token)).headers.get('x-vendor-key')).toBe('house')
      const { spent, estimated, held } = await server.store.keys.spend(id)
      expect([spent, estimated.spent, held]).toEqual([CENT, 0n, 0n])
      await server.send('PUT', `/v1/own-keys/${ownKey}`, { fall_back: false })
    })

    test('a call that comes to nothing leaves nothing held or counted', async () => {
      const { token, id } = await server.newKey({ spendCap: 4n * CENT })
      server.answerWith(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
      expect((await call(token)).status).toBe(400)
      const { spent, held, requests } = await server.store.keys.spend(id)
      expect([spent, held, requests]).toEqual([0n, 0n, 0])
    })

    test('usage, lists of calls and the balance have the fee alone, and tell the estimate apart', async () => {
      const { token } = await server.newKey({ monthlyCap: 10n * CENT })
      const before = await server.balance()
      expect(await statuses(2, token)).toEqual([200, 200])
      expect(before - (await server.balance())).toBe((2n * CENT) / 10n)
      const { data } = await jsonOf(await server.get('/v1/calls', token))
      expect(
        data.map((one: Record<string, unknown>) => [one.cost_usd, one.estimated_vendor_cost_usd]),
      ).toEqual([
        [0.001, 0.01],
        [0.001, 0.01],
      ])
      const usage = await jsonOf(await server.get('/v1/usage?group_by=model&own=true', token))
      expect(usage.data.rows).toMatchObject([{ model: 'mock/cent', requests: 2, cost_usd: 0.002 }])
      const key = (await jsonOf(await server.get('/v1/key/wholesale/me/usage', token))).data
      expect(key).toMatchObject({
        ...{ requests: 2, spent_this_month_usd: 0.022, estimated_this_month_usd: 0.02 },
        ...{ remaining_usd: 0.078, limited_by: { limit: 'monthly_cap_usd', of: 'key' } },
      })
    })
  })
