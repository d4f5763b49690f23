/** A reseller's tenants: prices, statements, links that show one its own use, suspension. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano, nanoFromDecimal } from '../../src/core/money.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const START = Date.parse('2026-10-30T22:10:00Z')
const DAY = 86_400_000

type Shown = { id: string; key: string; label: string; tenant: string }

const october = (percent: number | null) => ({ margin_percent: percent, from_month: '2026-10' })
const november = (percent: number | null) => ({ margin_percent: percent, from_month: '2026-11' })

const nano = (text: string): bigint => nanoFromDecimal(text) ?? -1n

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let acme: Shown
    let blue: Shown
    let at = START
    beforeAll(async () => {
      it = await startConsoleOn(engine, { now: () => at })
      owner = await it.visit('owner@example.com', 'owner')
      const { data } = await jsonOf(
        await owner.ask('POST', '/tenants', {
          tenants: [
            { label: 'Acme', reference: '=C-1', limits: { monthly_cap_usd: 1 } },
            { label: 'Blue', reference: 'C-2' },
          ],
        }),
      )
      ;[acme, blue] = data
    })
    afterAll(() => it.stop())

    const call = async (token: string, input = 11, output = 7): Promise<bigint> => {
      it.answerWith(() =>
        completion('x', { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }),
      )
      const response = await it.post('/v1/chat/completions', chat({ max_tokens: 50 }), {}, token)
      expect(response.status).toBe(200)
      await response.text()
      return nano(response.headers.get('x-cost-usd') ?? '')
    }
    const statement = async (query = '') => jsonOf(await owner.ask('GET', `/statement${query}`))
    const find = (value: { tenants: { label: string }[] }, label: string) =>
      value.tenants.find((one) => one.label === label) as never as {
        margin_percent: number
        total: { cost_usd: string; billed_usd: string; requests: number }
        lines: { cost_usd: string; billed_usd: string }[]
      }

    test('prices are the reseller’s, by month, and change a report and not the ledger', async () => {
      expect((await owner.ask('PUT', '/tenants/price', october(20))).status).toBe(200)
      const own = await jsonOf(await owner.ask('PUT', `/tenants/${acme.id}/price`, october(7.25)))
      expect(own).toMatchObject({ id: acme.id, label: 'Acme', reference: '=C-1' })
      let [ofAcme, ofBlue] = [0n, 0n]
      for (let n = 0; n < 3; n++) ofAcme += await call(acme.key, 11 + n)
      ofBlue += await call(blue.key)
      const spent = 100_000_000_000n - (await it.balance())
      expect(spent).toBe(ofAcme + ofBlue)
      const shown = await statement('?month=2026-10')
      expect(shown).toMatchObject({ month: '2026-10', default_margin_percent: 20 })
      expect(find(shown, 'Acme')).toMatchObject({ margin_percent: 7.25, total: { requests: 3 } })
      expect(nano(find(shown, 'Acme').total.cost_usd)).toBe(ofAcme)
      expect(nano(find(shown, 'Acme').total.billed_usd)).toBe((ofAcme * 10_725n + 9_999n) / 10_000n)
      expect(nano(find(shown, 'Blue').total.billed_usd)).toBe((ofBlue * 12_000n + 9_999n) / 10_000n)
      expect(nano(shown.total.cost_usd)).toBe(spent)
      const { month, complete, default_margin_percent, total } = shown
      expect(await statement('/total?month=2026-10')).toEqual({
        month,
        complete,
        default_margin_percent,
        tenants: 2,
        total,
      })
      // The next month has a price of its own; the one before keeps what it had.
      at += 3 * DAY
      expect((await owner.ask('PUT', '/tenants/price', november(50))).status).toBe(200)
      await owner.ask('PUT', `/tenants/${acme.id}/price`, november(null))
      const later = await call(acme.key)
      expect(await statement('?month=2026-10')).toEqual(shown)
      const next = find(await statement('?month=2026-11'), 'Acme')
      expect(next).toMatchObject({ margin_percent: 50, total: { requests: 1 } })
      expect(nano(next.total.billed_usd)).toBe((later * 15_000n + 9_999n) / 10_000n)
      for (const wrong of [-1, 1_000.5, 7.125, '5'])
        expect((await owner.ask('PUT', '/tenants/price', { margin_percent: wrong })).status).toBe(400)
      const { data } = await jsonOf(await owner.ask('GET', '/events?limit=500'))
      const priced = data.filter(({ what }: { what: string }) => what === 'tenant.price_set')
      expect(priced[0]).toMatchObject({
        subject: acme.id,
        before: { margin_percent: 7.25 },
        after: { margin_percent: null, from_month: '2026-11' },
      })
      expect(await it.store.ledger.audit().then((laws) => laws.filter(({ ok }) => !ok))).toEqual([])
    })

    test('a statement is a CSV whose sums are the ledger’s, whose names are text', async () => {
      const response = await owner.ask('GET', '/statement.csv?month=2026-10')
      const [head, ...lines] = (await response.text()).trim().split('\r\n')
      expect(head).toBe(
        'month,tenant,reference,model,requests,input_tokens,output_tokens,cost_usd,margin_percent,billed_usd',
      )
      const cells = lines.map((line) => line.split(','))
      expect(cells.map((row) => row.slice(0, 5))).toEqual([
        ['2026-10', 'Acme', "'=C-1", 'mock/small', '3'],
        ['2026-10', 'Blue', 'C-2', 'mock/small', '1'],
      ])
      const { total } = await statement('?month=2026-10')
      const sum = (column: number) =>
        decimalFromNano(cells.reduce((all, row) => all + nano(row[column] ?? ''), 0n))
      expect([sum(7), sum(9)]).toEqual([total.cost_usd, total.billed_usd])
      expect((await owner.ask('GET', '/statement?month=2026-13')).status).toBe(400)
    })

    test('a rotated key, and keys below it, are the same tenant’s; suspended are all of them', async () => {
      const before = (await statement(`?month=2026-11&tenant=${blue.id}`)).tenants[0].total
      const rotated = await jsonOf(await owner.ask('POST', `/keys/${blue.id}/rotate`))
      expect(rotated).toMatchObject({ tenant: blue.id, reference: 'C-2' })
      const again = await jsonOf(await owner.ask('POST', `/keys/${rotated.id}/rotate`))
      expect(again.tenant).toBe(blue.id)
      await owner.ask('PUT', `/keys/${again.id}`, { limits: { can_manage: true } })
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'of Blue', spend_cap_usd: 5 }, again.key),
      )
      let cost = 0n
      for (const { key } of [blue, rotated, again, below]) cost += await call(key)
      const after = (await statement(`?month=2026-11&tenant=${again.id}`)).tenants
      expect(after).toHaveLength(1)
      expect(nano(after[0].total.cost_usd) - nano(before.cost_usd)).toBe(cost)
      expect(after[0].total.requests).toBe(before.requests + 4)
      const tenant = await jsonOf(await owner.ask('GET', `/tenants/${again.id}`))
      expect([tenant.id, tenant.keys.length]).toEqual([blue.id, 3])
      const off = await jsonOf(await owner.ask('PUT', `/tenants/${blue.id}`, { suspended: true }))
      expect(off.keys.map(({ status }: { status: string }) => status)).toEqual(Array(3).fill('disabled'))
      for (const { key } of [blue, rotated, again, below]) {
        const refused = await it.post('/v1/chat/completions', chat({}), {}, key)
        expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'key_disabled'])
      }
      await call(acme.key)
      await owner.ask('PUT', `/tenants/${blue.id}`, { suspended: false })
      for (const { key } of [blue, rotated, again, below]) await call(key)
    })

    test('a link shows the tenant its own use at the reseller’s price, and nothing else; revoked, it shows nothing', async () => {
      const made = await jsonOf(await owner.ask('POST', `/tenants/${acme.id}/links`))
      const secret = made.link.split('#')[1]
      const by = { authorization: `Bearer ${secret}` }
      const response = await it.stranger('GET', '/use?month=2026-10', undefined, by)
      expect(response.status).toBe(200)
      const text = await response.text()
      const use = JSON.parse(text)
      const own = find(await statement('?month=2026-10'), 'Acme')
      expect(use).toMatchObject({ label: 'Acme', reference: '=C-1', suspended: false })
      expect(use.total.billed_usd).toBe(own.total.billed_usd)
      // Neither our price nor the margin, nor anybody else.
      for (const hidden of [own.total.cost_usd, 'margin', 'Blue', 'C-2', 'cost_usd', blue.id])
        expect(text).not.toContain(hidden)
      const csv = await (await it.stranger('GET', '/use.csv?month=2026-10', undefined, by)).text()
      expect(csv.split('\r\n')[0]).toBe(
        'month,tenant,reference,model,requests,input_tokens,output_tokens,billed_usd',
      )
      // Its days add up to its lines, except for the rounding of each.
      const days = use.days.reduce(
        (sum: bigint, day: { billed_usd: string }) => sum + nano(day.billed_usd),
        0n,
      )
      expect(days - nano(use.total.billed_usd)).toBeLessThan(31n)
      // The secret is not kept: no row holds the link as it is, nor does the list show it.
      expect(await it.store.tenants.linkByHash(secret)).toBeUndefined()
      expect((await it.store.tenants.linkByHash(it.hashOfLink(secret)))?.id).toBe(made.id)
      expect(JSON.stringify(await jsonOf(await owner.ask('GET', `/tenants/${acme.id}`)))).not.toContain(
        secret,
      )
      // A link of one tenant cannot be revoked through another tenant.
      expect((await owner.ask('DELETE', `/tenants/${blue.id}/links/${made.id}`)).status).toBe(404)
      expect((await owner.ask('DELETE', `/tenants/${acme.id}/links/${made.id}`)).status).toBe(200)
      expect((await it.stranger('GET', '/use', undefined, by)).status).toBe(401)
      const { data } = await jsonOf(await owner.ask('GET', '/events?limit=2'))
      expect(data.map(({ what }: { what: string }) => what)).toEqual([
        'tenant.link_revoked',
        'tenant.link_made',
      ])
    })

    test('a list is made whole or not at all', async () => {
      const made = async () =>
        (await jsonOf(await owner.ask('GET', '/keys?which=tenants&limit=100'))).data.length
      const before = await made()
      const refused = async (...tenants: object[]) => {
        const response = await owner.ask('POST', '/tenants', { tenants })
        const { error } = await jsonOf(response)
        expect([response.status, await made()]).toEqual([400, before])
        return [error.param, error.message]
      }
      expect(
        await refused({ label: 'a', reference: 'R-1' }, { label: 'b' }, { label: 'c', reference: 'R-1' }),
      ).toEqual([
        'tenants.2.reference',
        "'tenants.2.reference' is also that of 'tenants.0'; nothing was made.",
      ])
      expect(
        await refused({ label: 'a' }, { label: 'b', limits: { aliases: { fast: 'no/model' } } }),
      ).toEqual(['aliases', expect.stringMatching(/^Tenant 'b': 'aliases': 'fast' stands for no model\./)])
    })
  })
