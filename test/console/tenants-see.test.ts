/** A reseller chooses what its tenants are told: prices by month and tenant, bounds that tenants send, and who may choose. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano, nanoFromDecimal } from '../../src/core/money.ts'
import { monthOf, nextMonthStart } from '../../src/core/time.ts'
import { billedFor, costWithin } from '../../src/tenancy/margin.ts'
import { followingClock } from '../following-clock.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

/** People sign in by the real time, so that the first month is this one. */
const START = Date.now()
const DAY = 86_400_000
const [FIRST, SECOND] = [monthOf(START), monthOf(nextMonthStart(START))]
/** 13 tokens of input and 7 of output. */
const COST = 83_000n

type Shown = { id: string; key: string }
const nano = (value: unknown): bigint => nanoFromDecimal(String(value)) ?? -1n

for (const engine of serverEngines)
  describe(`what tenants see, ${engine.name}`, () => {
    let it: TestConsole
    let owner: Visitor
    let acme: Shown
    let blue: Shown
    let ahead = 0
    const now = () => Date.now() + ahead
    beforeAll(async () => {
      it = await startConsoleOn(engine, {
        now,
        clock: { ...followingClock(now), now },
      })
      owner = await it.visit('owner@example.com', 'owner')
      const limits = { monthly_cap_usd: 3.000000007, can_manage: true }
      const { data } = await jsonOf(
        await owner.ask('POST', '/tenants', { tenants: [{ label: 'Acme', limits }, { label: 'Blue' }] }),
      )
      ;[acme, blue] = data
      it.answerWith(() => completion('x', { prompt_tokens: 13, completion_tokens: 7, total_tokens: 20 }))
    })
    afterAll(() => it.stop())

    const call = (token: string, headers: Record<string, string> = {}, more: object = {}) =>
      it.post('/v1/chat/completions', chat({ max_tokens: 50, ...more }), headers, token)
    const told = async (token: string) => {
      const response = await call(token)
      expect(response.status).toBe(200)
      const { usage } = await jsonOf(response)
      expect(nano(usage.cost)).toBe(nano(response.headers.get('x-cost-usd')))
      return nano(usage.cost)
    }
    const price = (percent: number | null, tenant?: Shown, from_month?: string) =>
      owner.ask('PUT', tenant === undefined ? '/tenants/price' : `/tenants/${tenant.id}/price`, {
        margin_percent: percent,
        ...(from_month === undefined ? {} : { from_month }),
      })
    const choose = (tenants_see: unknown) => owner.ask('PUT', '/rules', { tenants_see })
    const usage = async (token: string, query: string) => jsonOf(await it.get(`/v1/usage?${query}`, token))
    const me = '/v1/key/wholesale/me'

    test('nobody but the reseller chooses, and until then tenants are told the cost', async () => {
      expect((await price(20)).status).toBe(200)
      expect((await price(7.25, acme)).status).toBe(200)
      expect([await told(acme.key), await told(blue.key)]).toEqual([COST, COST])
      expect((await choose('everything')).status).toBe(400)
      const child = await it.send('PUT', '/api/wallet/rules', { tenants_see: 'price' }, acme.key)
      expect(child.status).toBe(403)
      const developer = await it.visit('dev@example.com', 'developer')
      expect((await developer.ask('PUT', '/rules', { tenants_see: 'price' })).status).toBe(403)
      expect((await jsonOf(await owner.ask('GET', '/rules'))).tenants_see).toBe('cost')
      expect((await choose('price')).status).toBe(200)
      const { data } = await jsonOf(await owner.ask('GET', '/events?limit=5'))
      expect(data[0]).toMatchObject({
        what: 'wallet.rules_changed',
        before: { tenants_see: 'cost' },
        after: { tenants_see: 'price' },
      })
    })

    test('each tenant is told its own price, keys below it too, and the reseller our price', async () => {
      const below = await jsonOf(await it.post('/v1/key/wholesale', { label: 'below' }, {}, acme.key))
      const rotated = await jsonOf(await owner.ask('POST', `/keys/${acme.id}/rotate`, {}))
      for (const token of [acme.key, below.data.key, rotated.key])
        expect(await told(token)).toBe(billedFor(COST, 725))
      expect(await told(blue.key)).toBe(billedFor(COST, 2_000))
      const { token } = await it.newKey()
      expect(await told(token)).toBe(COST)
    })

    test('a ceiling that a tenant sends is one at its price', async () => {
      const { error } = await jsonOf(await call(acme.key, { 'x-max-cost-usd': '0.000000001' }))
      const needed = /up to (\S+) USD/.exec(error.message)?.[1] ?? ''
      const cost = costWithin(nano(needed), 725)
      expect(billedFor(cost, 725)).toBe(nano(needed))
      expect((await call(acme.key, { 'x-max-cost-usd': needed })).status).toBe(200)
      const less = decimalFromNano(nano(needed) - 1n)
      expect((await call(acme.key, { 'x-max-cost-usd': less })).status).toBe(402)
    })

    test('a limit that a tenant reads or sets is at its price, and binds at ours, never wider', async () => {
      const { data } = await jsonOf(await it.get(me, acme.key))
      expect(nano(data.monthly_cap_usd)).toBe(billedFor(3_000_000_007n, 725))
      const same = { monthly_cap_usd: data.monthly_cap_usd }
      expect((await it.send('PUT', `${me}/limits`, same, acme.key)).status).toBe(200)
      expect((await it.store.keys.key(acme.id))?.limits.monthlyCap).toBe(3_000_000_007n)
      const set = await jsonOf(await it.send('PUT', `${me}/limits`, { monthly_cap_usd: 1 }, acme.key))
      const cap = (await it.store.keys.key(acme.id))?.limits.monthlyCap
      expect(cap).toBe(costWithin(1_000_000_000n, 725))
      expect(nano(set.data.monthly_cap_usd)).toBe(billedFor(cap ?? 0n, 725))
      const wider = await jsonOf(await it.send('PUT', `${me}/limits`, { monthly_cap_usd: 4 }, acme.key))
      expect(wider.error.message).toContain(`was set to ${decimalFromNano(billedFor(3_000_000_007n, 725))}`)
    })

    test('nobody pays us call by call with the key of a tenant', async () => {
      const { error } = await jsonOf(await call(acme.key, { 'x-payment-protocol': 'x402' }))
      expect([error.code, error.message]).toEqual(['forbidden', expect.stringContaining('reseller')])
    })

    test('a month whose price was told keeps it; the next has its own, and reports each its own', async () => {
      expect((await price(30, acme, FIRST)).status).toBe(400)
      // Without a month it is the next one.
      expect((await price(50)).status).toBe(200)
      expect((await price(null, acme, SECOND)).status).toBe(200)
      expect(await told(acme.key)).toBe(billedFor(COST, 725))
      const first = await usage(acme.key, 'group_by=month,model')
      const calls = first.data.total.requests
      ahead = nextMonthStart(START) + DAY - START
      expect(await told(acme.key)).toBe(billedFor(COST, 5_000))
      const both = await usage(acme.key, `group_by=month,model&from=${FIRST}-01`)
      const costs = both.data.rows.map((row: any) => nano(row.cost_usd))
      expect(costs).toEqual([billedFor(COST * BigInt(calls), 725), billedFor(COST, 5_000)])
      expect(nano(both.data.total.cost_usd)).toBe(costs[0] + costs[1])
      expect((await usage(acme.key, `group_by=model&from=${FIRST}-01`)).error.param).toBe('group_by')
      const all = await usage(acme.key, `group_by=&from=${FIRST}-01`)
      expect(nano(all.data.total.cost_usd)).toBe(costs[0] + costs[1])
      // The statement has the call of the rotated key too.
      const billed = async (month: string) => {
        const { tenants } = await jsonOf(
          await owner.ask('GET', `/statement?month=${month}&tenant=${acme.id}`),
        )
        return nano(tenants[0].total.billed_usd)
      }
      expect(await billed(FIRST)).toBe(billedFor(COST * BigInt(calls + 1), 725))
      expect(await billed(SECOND)).toBe(costs[1])
    })

    test('nothing is nothing: neither costs nor what would tell them', async () => {
      expect((await choose('nothing')).status).toBe(200)
      const response = await call(acme.key)
      expect([response.headers.get('x-cost-usd'), response.headers.get('x-receipt')]).toEqual([null, null])
      const { usage: of, ...answer } = await jsonOf(response)
      expect(of).toEqual({ prompt_tokens: 13, completion_tokens: 7, total_tokens: 20 })
      expect(answer._remaining_credits).toBeUndefined()
      const low = await jsonOf(await call(acme.key, { 'x-max-cost-usd': '0.000000001' }))
      expect(low.error).toMatchObject({ code: 'max_cost_exceeded', limit: 'max_cost' })
      expect(low.error.message).not.toMatch(/\d/)
      expect((await choose(null)).status).toBe(200)
      expect(await told(acme.key)).toBe(COST)
    })
  })
