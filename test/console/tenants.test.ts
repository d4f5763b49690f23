/** A reseller's tenants: prices, statements, links that show one its own use, suspension. On both engines. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano, nanoFromDecimal } from '../../src/core/money.ts'
import { byTest } from '../by-test.ts'
import { followingClock } from '../following-clock.ts'
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
      it = await startConsoleOn(engine, { now: () => at, clock: followingClock(() => at) })
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
      await owner.ask('PUT', `/keys/${again.id}`, { can_manage: true })
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

    test('a tenant that is resumed gets back what the suspension took, and no key that was off before', async () => {
      const { data } = await jsonOf(
        await owner.ask('POST', '/tenants', { tenants: [{ label: 'Leak', reference: 'L-1' }] }),
      )
      const [leaked] = data
      const make = async () => jsonOf(await owner.ask('POST', `/keys/${leaked.id}/rotate`))
      const [ended, used] = [await make(), await make()]
      for (const [key, limits] of [
        [leaked, { can_manage: true }],
        [used, { can_manage: true }],
      ])
        expect((await owner.ask('PUT', `/keys/${key.id}`, limits)).status).toBe(200)
      const below = async (of: Shown) =>
        (await jsonOf(await it.send('POST', '/v1/key/wholesale', { label: 'below' }, of.key))).data
      const [belowLeaked, belowUsed, offBelow] = [await below(leaked), await below(used), await below(used)]
      const limitsOf = (of: string) => `/v1/key/wholesale/${of}/limits`
      // One was disabled by the reseller, one by itself, one below by the tenant.
      await owner.ask('PUT', `/keys/${leaked.id}`, { disabled: true })
      expect((await it.send('PUT', limitsOf('me'), { disabled: true }, ended.key)).status).toBe(200)
      expect((await it.send('PUT', limitsOf(offBelow.id), { disabled: true }, used.key)).status).toBe(200)
      const all = [leaked, ended, used, belowLeaked, belowUsed, offBelow]
      const states = async () =>
        Promise.all(
          all.map(async ({ key }) => {
            const { data: shown } = await jsonOf(await it.get('/v1/key/wholesale/me', key))
            expect([shown.disabled_by, shown.disabled]).toEqual([null, shown.disabled_reason !== null])
            return shown.disabled_reason
          }),
        )
      const before = ['reseller', 'self', null, null, null, 'reseller']
      expect(await states()).toEqual(before)
      const suspend = (suspended: boolean) => owner.ask('PUT', `/tenants/${leaked.id}`, { suspended })
      await Promise.all([suspend(true), suspend(true)])
      expect(await states()).toEqual(Array(6).fill('reseller'))
      // A new key of a suspended tenant is suspended too, and resumed with it.
      const late = await jsonOf(await owner.ask('POST', `/keys/${used.id}/rotate`))
      expect((await it.post('/v1/chat/completions', chat({}), {}, late.key)).status).toBe(403)
      const refused = await it.post('/v1/chat/completions', chat({}), {}, belowUsed.key)
      expect((await jsonOf(refused)).error.message).toContain('by the reseller')
      // A program that hears nothing of it asks again.
      await suspend(false)
      await suspend(false)
      expect(await states()).toEqual(before)
      await call(used.key)
      await call(late.key)
      await owner.ask('DELETE', `/keys/${late.id}`)
      // Enabled by itself, a suspended key brings those below it along, as they were: also those whose place it took.
      await suspend(true)
      const alone = { disabledReason: null, withChildren: true, byCreator: true } as const
      await it.gateway.book.changeKey(ended.id, alone, byTest)
      expect(await states()).toEqual(['reseller', null, 'reseller', null, 'reseller', 'reseller'])
      await suspend(false)
      expect(await states()).toEqual(['reseller', null, null, null, null, 'reseller'])
      // Disabled by itself meanwhile, it does not keep those below it.
      await suspend(true)
      await owner.ask('PUT', `/keys/${used.id}`, { disabled: true })
      await suspend(false)
      expect(await states()).toEqual(['reseller', null, 'reseller', null, null, 'reseller'])
      await owner.ask('PUT', `/keys/${used.id}`, { disabled: false })
      // Off one by one, they are all resumed.
      for (const { id } of [used, ended]) await owner.ask('PUT', `/keys/${id}`, { disabled: true })
      await suspend(false)
      expect((await states()).slice(0, 3)).toEqual([null, null, null])
    })

    test('a key that is rotated while its tenant is suspended is suspended too', async () => {
      const made = await jsonOf(await owner.ask('POST', '/tenants', { tenants: [{ label: 'Both at once' }] }))
      const { id } = made.data[0]
      const suspend = (suspended: boolean) => owner.ask('PUT', `/tenants/${id}`, { suspended })
      for (let round = 0; round < 8; round++) {
        const [rotated] = await Promise.all([owner.ask('POST', `/keys/${id}/rotate`), suspend(true)])
        expect(rotated.status).toBe(201)
        const { keys } = await jsonOf(await owner.ask('GET', `/tenants/${id}`))
        expect(keys.map(({ status }: Shown & { status: string }) => status)).toEqual(
          Array(round + 2).fill('disabled'),
        )
        await suspend(false)
      }
    })

    test('a link tells a tenant whether its calls are taken, and that a cap is no suspension', async () => {
      const {
        data: [capped],
      } = await jsonOf(await owner.ask('POST', '/tenants', { tenants: [{ label: 'Capped' }] }))
      const made = await jsonOf(await owner.ask('POST', `/tenants/${capped.id}/links`))
      const by = { authorization: `Bearer ${made.link.split('#')[1]}` }
      const access = async () => (await jsonOf(await it.stranger('GET', '/use', undefined, by))).access
      const limit = (limits: object) => owner.ask('PUT', `/keys/${capped.id}`, limits)
      const refused = async () =>
        expect((await it.post('/v1/chat/completions', chat(), {}, capped.key)).status).toBeOneOf([402, 403])
      expect(await access()).toBe('enabled')
      await limit({ monthly_cap_usd: 0 })
      await refused()
      expect(await access()).toBe('monthly_cap')
      await limit({ monthly_cap_usd: null, spend_cap_usd: 0 })
      await refused()
      expect(await access()).toBe('spend_cap')
      await owner.ask('PUT', `/tenants/${capped.id}`, { suspended: true })
      expect(await access()).toBe('disabled')
      await owner.ask('DELETE', `/keys/${capped.id}`)
      expect(await access()).toBe('deleted')
    })

    test('a key that is deleted takes the tenants below it along only where that is said', async () => {
      const { data } = await jsonOf(await owner.ask('POST', '/tenants', { tenants: [{ label: 'Stays' }] }))
      const [tenant] = data
      const old = tenant.parent
      const below = async () => (await jsonOf(await owner.ask('GET', `/keys/${old}`))).keys_below
      expect(await below()).toBeGreaterThan(1)
      const next = await jsonOf(await owner.ask('POST', `/keys/${old}/rotate`))
      expect((await owner.ask('DELETE', `/keys/${old}`)).status).toBe(200)
      await call(tenant.key)
      expect((await owner.ask('GET', `/tenants/${tenant.id}`)).status).toBe(200)
      const later = await jsonOf(await owner.ask('POST', '/tenants', { tenants: [{ label: 'Later' }] }))
      expect(later.data[0].parent).toBe(next.id)
      // Of another key that was rotated: the old value and its tenants are below the new one.
      const other = await jsonOf(await owner.ask('POST', '/keys', { label: 'other', can_manage: true }))
      const { data: goes } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'Goes' }, other.key),
      )
      const last = await jsonOf(await owner.ask('POST', `/keys/${other.id}/rotate`))
      expect((await jsonOf(await owner.ask('GET', `/keys/${last.id}`))).keys_below).toBe(2)
      expect((await owner.ask('DELETE', `/keys/${last.id}?with_children=true`)).status).toBe(200)
      for (const { key } of [other, goes, last])
        expect((await it.post('/v1/chat/completions', chat({}), {}, key)).status).toBe(401)
      await call(tenant.key)
      await call(later.data[0].key)
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
      expect(use).toMatchObject({ label: 'Acme', reference: '=C-1', access: 'enabled' })
      expect(use.total.billed_usd).toBe(own.total.billed_usd)
      // Neither our price nor the margin, nor anybody else.
      for (const hidden of [own.total.cost_usd, 'margin', 'Blue', 'C-2', 'cost_usd', blue.id])
        expect(text).not.toContain(hidden)
      const csv = await (await it.stranger('GET', '/use.csv?month=2026-10', undefined, by)).text()
      expect(csv.split('\r\n')[0]).toBe(
        'month,tenant,reference,model,requests,input_tokens,output_tokens,billed_usd',
      )
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

    test('what a tenant is billed by day adds up to what it is billed by model', async () => {
      const { data } = await jsonOf(await owner.ask('POST', '/tenants', { tenants: [{ label: 'Daily' }] }))
      const [{ id, key }] = data
      await owner.ask('PUT', `/tenants/${id}/price`, november(7.25))
      // A call costs 81,000 nano-USD: each is billed with half of one, which is rounded up.
      for (let day = 0; day < 4; day++) {
        await call(key)
        at += DAY
      }
      const { link } = await jsonOf(await owner.ask('POST', `/tenants/${id}/links`))
      const by = { authorization: `Bearer ${link.split('#')[1]}` }
      const { days, total } = await jsonOf(await it.stranger('GET', '/use?month=2026-11', undefined, by))
      const billed = days.map((one: { billed_usd: string }) => nano(one.billed_usd))
      expect(billed).toEqual([86_873n, 86_872n, 86_873n, 86_872n])
      expect(nano(total.billed_usd)).toBe(4n * 81_000n + (4n * 81_000n * 725n) / 10_000n)
    })

    test('a search does not tell capitals from small letters, whatever the alphabet', async () => {
      const tenants = [
        { label: 'Übersee Zoë', reference: 'ŁÓDŹ-1' },
        { label: 'ΟΔΟΣ Straße', reference: 'Дом' },
      ]
      expect((await owner.ask('POST', '/tenants', { tenants })).status).toBe(201)
      const found = async (search: string) =>
        (
          await jsonOf(await owner.ask('GET', `/keys?which=tenants&search=${encodeURIComponent(search)}`))
        ).data.map(({ label }: { label: string }) => label)
      for (const search of ['über', 'ÜBERSEE ZOË', 'łódź', 'Łódź-1', 'SEE z'])
        expect([search, await found(search)]).toEqual([search, ['Übersee Zoë']])
      for (const search of ['οδοσ', 'ΟΔΟΣ', 'ДОМ', 'дом', 'straße', 'STRAßE'])
        expect([search, await found(search)]).toEqual([search, ['ΟΔΟΣ Straße']])
      const many = String.fromCharCode(...Array.from({ length: 1_000 }, (_, n) => 0x3b1 + n))
      expect(await found(many)).toEqual([])
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
      // The same list again, with one more; the reference of a deleted tenant is free again.
      expect(await refused({ label: 'New', reference: 'N-1' }, { label: 'Acme', reference: '=C-1' })).toEqual(
        [
          'tenants.1.reference',
          "'tenants.1.reference' ('=C-1') is that of your tenant 'Acme'; nothing was made.",
        ],
      )
      const again = { tenants: [{ label: 'Gone', reference: 'G-1' }] }
      const gone = await jsonOf(await owner.ask('POST', '/tenants', again))
      await owner.ask('DELETE', `/keys/${gone.data[0].id}`)
      expect((await owner.ask('POST', '/tenants', again)).status).toBe(201)
      expect(await made()).toBe(before + 1)
      await owner.ask(
        'DELETE',
        `/keys/${(await jsonOf(await owner.ask('GET', '/keys?which=tenants&search=G-1'))).data[0].id}`,
      )
      expect(
        await refused({ label: 'a' }, { label: 'b', limits: { aliases: { fast: 'no/model' } } }),
      ).toEqual(['aliases', expect.stringMatching(/^Tenant 'b': 'aliases': 'fast' stands for no model\./)])
    })
  })
