/** Budgets of tags and end users: as hard as a key's cap, over processes, periods and changes; and who they are for. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DAY_MS } from '../../src/core/time.ts'
import { serverEngines, stopSound, type TestEngine } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel, USD } from './harness.ts'

/** One call holds and costs 0.01 USD. */
const models = [
  testModel('cent', {
    maxOutputTokens: 1_000,
    price: { rates: { input: 0, output: 10_000_000 }, tiers: [], version: 't' },
  }),
]
const MONDAY = Date.UTC(2031, 5, 2)
const TAGS = 'x-turnpike-tags'

for (const kind of serverEngines)
  describe(`budgets on ${kind.name}`, () => {
    let database: Awaited<ReturnType<TestEngine['fresh']>>
    let server: TestServer
    let other: TestServer
    let owner: { id: string; token: string }
    /** Wednesday noon when the tests begin. */
    let ahead = MONDAY + 2.5 * DAY_MS - Date.now()
    const now = () => Date.now() + ahead

    beforeAll(async () => {
      database = await kind.fresh()
      const start = () => startTestServer({ url: database.url, fund: 100n * USD, models, now })
      server = await start()
      // In memory there is one process only.
      other = kind.name === 'PostgreSQL' ? await start() : server
      for (const one of new Set([server, other]))
        one.answerWith(() =>
          completion('x', { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
        )
      owner = await server.newKey({}, { canManage: true })
    })
    afterAll(async () => {
      if (other !== server) await other.stop()
      await stopSound(server, database)
    })

    const set = async (tag: string, body: object, token = owner.token) => {
      const put = await server.send('PUT', `/v1/budgets/${tag}`, body, token)
      expect([put.status, put.status === 200 ? '' : await put.clone().text()]).toEqual([200, ''])
      return jsonOf(put)
    }
    const shown = async (tag: string, value: string) =>
      jsonOf(await server.get(`/v1/budgets/${tag}?value=${encodeURIComponent(value)}`, owner.token))
    const call = (tags: string, { at = server, token = owner.token, body = {} } = {}) =>
      at.post(
        '/v1/chat/completions',
        chat({ model: 'mock/cent', max_tokens: 1_000, ...body }),
        tags === '' ? {} : { [TAGS]: tags },
        token,
      )
    const statusOf = async (...it: Parameters<typeof call>) => (await call(...it)).status

    test('are never exceeded by calls that come at once to all processes, and everything that fits is admitted', async () => {
      await set('user', { value: 'alice', monthly_cap_usd: 0.5 })
      const statuses = await Promise.all(
        Array.from({ length: 100 }, (_, n) => statusOf('user=alice', { at: n % 2 === 0 ? server : other })),
      )
      expect(Map.groupBy(statuses, (one) => one).get(200)).toHaveLength(50)
      // Who waited too long for what others hold is told to come back.
      expect(statuses.filter((one) => ![200, 402, 429].includes(one))).toEqual([])
      expect(await shown('user', 'alice')).toMatchObject({
        spent_this_month_usd: 0.5,
        held_usd: 0,
        remaining_usd: 0,
      })
      // Others are not bound by it.
      expect(await statusOf('user=bob')).toBe(200)
      expect(await statusOf('')).toBe(200)
    })

    test('a refusal says which budget binds, what is left, and when it begins anew', async () => {
      await set('team', { value: 'red', weekly_cap_usd: 0.025, spend_cap_usd: 5 })
      expect(await statusOf('team=red')).toBe(200)
      expect(await statusOf('team=red,feature=search')).toBe(200)
      const refused = await call('team=red', { at: other })
      const { error } = await jsonOf(refused)
      expect([refused.status, error.code]).toEqual([402, 'insufficient_balance'])
      expect(error).toMatchObject({
        limit: 'budget',
        budget: 'team=red',
        period: 'week',
        resets_at: new Date(MONDAY + 7 * DAY_MS).toISOString(),
        available_credits: 0.5,
      })
      expect(error.message).toContain('the weekly budget of team=red has 0.5 available')
      const dry = await jsonOf(await call('team=red'))
      expect(dry.error.message).toContain('Raise the limit')
    })

    test('each new end user gets the default budget, once; what goes beyond it is refused by name or counted as other', async () => {
      await set('customer', { daily_cap_usd: 0.02, values_max: 2 })
      const first = await Promise.all(
        Array.from({ length: 8 }, (_, n) => statusOf('customer=one', { at: n % 2 === 0 ? server : other })),
      )
      expect(first.filter((one) => one === 200)).toHaveLength(2)
      expect(await statusOf('customer=two')).toBe(200)
      const third = await call('customer=three', { at: other })
      const { error } = await jsonOf(third)
      expect([third.status, error.code, error.budget]).toEqual([403, 'budget_full', 'customer=three'])
      expect(await statusOf('customer=two', { at: other })).toBe(200)
      await set('customer', { daily_cap_usd: 0.03, values_max: 2, beyond: 'other' })
      // What the default made changes with it.
      expect(await shown('customer', 'two')).toMatchObject({ daily_cap_usd: 0.03, from_default: true })
      const many = await Promise.all(
        Array.from({ length: 10 }, (_, n) => statusOf(`customer=new${n}`, { at: n % 2 ? other : server })),
      )
      expect(many.filter((one) => one === 200)).toHaveLength(3)
      expect(await shown('customer', 'other')).toMatchObject({ spent_today_usd: 0.03 })
      const list = await jsonOf(await server.get('/v1/budgets?tag=customer', owner.token))
      expect(list.data.map(({ value }: { value: string }) => value)).toEqual([null, 'one', 'other', 'two'])
      expect(list.data[0]).toMatchObject({ values: 2, values_max: 2, beyond: 'other' })
      const after = await jsonOf(
        await server.get(`/v1/budgets?tag=customer&limit=1&after=${list.data[0].id}`, owner.token),
      )
      expect([after.data[0].value, after.has_more]).toEqual(['one', true])
    })

    test('tenants share no value of a default by accident, and all share a budget that the account set', async () => {
      await set('member', { daily_cap_usd: 0.02 })
      const [one, two] = [
        await server.newKey({}, { parentId: owner.id, canManage: true }),
        await server.newKey({}, { parentId: owner.id }),
      ]
      const below = await server.newKey({}, { parentId: one.id })
      const ann = (token: string, at = server) => statusOf('member=ann', { at, token })
      expect([await ann(one.token), await ann(below.token, other)]).toEqual([200, 200])
      expect([await ann(one.token, other), await ann(below.token)]).toEqual([402, 402])
      for (const { token } of [two, owner]) {
        expect([await ann(token), await ann(token, other)]).toEqual([200, 200])
        expect(await ann(token)).toBe(402)
      }
      expect(await shown('member', `${one.id}/ann`)).toMatchObject({ spent_today_usd: 0.02 })
      await set('member', { value: 'bob', daily_cap_usd: 0.02 })
      const bob = (token: string, at = server) => statusOf('member=bob', { at, token })
      expect([await bob(one.token), await bob(two.token, other), await bob(owner.token)]).toEqual([
        200, 200, 402,
      ])
    })

    test('a budget that is lowered or raised binds the next call of every process, and counts what was spent before', async () => {
      await set('user', { value: 'carol', monthly_cap_usd: 10 })
      for (const at of [server, other]) expect(await statusOf('user=carol', { at })).toBe(200)
      await set('user', { value: 'carol', monthly_cap_usd: 0.02 })
      for (const at of [server, other]) expect(await statusOf('user=carol', { at })).toBe(402)
      await set('user', { value: 'carol', monthly_cap_usd: 0.03 })
      expect(await statusOf('user=carol', { at: other })).toBe(200)
      expect(await statusOf('user=carol')).toBe(402)
      const gone = await server.send('DELETE', '/v1/budgets/user?value=carol', undefined, owner.token)
      expect(await jsonOf(gone)).toEqual({ tag: 'user', value: 'carol', deleted: true })
      for (const at of [server, other]) expect(await statusOf('user=carol', { at })).toBe(200)
      expect((await server.get('/v1/budgets/user?value=carol', owner.token)).status).toBe(404)
    })

    test('a refund counts back against the budget', async () => {
      await set('user', { value: 'dan', spend_cap_usd: 0.01 })
      const answered = await call('user=dan')
      expect(answered.status).toBe(200)
      expect(await statusOf('user=dan')).toBe(402)
      const id = answered.headers.get('x-request-id') ?? ''
      const [usage] = await server.store.ledger.transfersOf(id)
      await server.store.ledger.post({
        kind: 'refund',
        ref: id,
        debit: 'revenue',
        credit: usage!.debit,
        amount: usage!.amount,
      })
      expect(await statusOf('user=dan', { at: other })).toBe(200)
    })

    test('days, weeks and months turn', async () => {
      await set('user', { value: 'eve', daily_cap_usd: 0.01, weekly_cap_usd: 0.02, monthly_cap_usd: 0.03 })
      const dayOfMonth = async (days: number) => {
        ahead += days * DAY_MS
        const statuses = [await statusOf('user=eve'), await statusOf('user=eve', { at: other })]
        return statuses.filter((one) => one === 200).length
      }
      // Wednesday, Thursday: the week is used up on Friday; Monday, then the month is; the 1st of July.
      expect(await dayOfMonth(0)).toBe(1)
      expect(await dayOfMonth(1)).toBe(1)
      expect(await dayOfMonth(1)).toBe(0)
      expect(await dayOfMonth(3)).toBe(1)
      expect(await dayOfMonth(1)).toBe(0)
      expect(await dayOfMonth(21)).toBe(1)
    })

    test('a key below another one has no budgets to set, and one that may not manage sets none', async () => {
      const tenant = await server.newKey({}, { parentId: owner.id, canManage: true })
      const plain = await server.newKey({})
      for (const { token } of [tenant, plain]) {
        const put = await server.send('PUT', '/v1/budgets/user', { value: 'x', spend_cap_usd: 1 }, token)
        expect(put.status).toBe(403)
      }
      expect((await server.get('/v1/budgets', tenant.token)).status).toBe(403)
    })

    test.each<[string, object, string]>([
      ['user', { value: 'x' }, 'monthly_cap_usd'],
      ['user', { value: 'x', monthly_cap_usd: -1 }, 'monthly_cap_usd'],
      ['user', { value: 'x', monthly_cap: 1 }, 'monthly_cap'],
      ['user', { value: 'x', spend_cap_usd: 1, values_max: 3 }, 'values_max'],
      ['user', { value: 'x'.repeat(257), spend_cap_usd: 1 }, 'value'],
      ['user', { spend_cap_usd: 1, values_max: 100_001 }, 'values_max'],
      ['us%20er', { spend_cap_usd: 1 }, 'tag'],
    ])('a budget of %s with %j is refused and names %s', async (tag, body, param) => {
      const put = await server.send('PUT', `/v1/budgets/${tag}`, body, owner.token)
      expect([put.status, (await jsonOf(put)).error.param]).toEqual([400, param])
    })
  })
