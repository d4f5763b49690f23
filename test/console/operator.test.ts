/** What operators see and do, on both engines: accounts found and paged, suspended, given credit; vendors, system, setup. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { settings } from '../../src/settings/index.ts'
import { shownSettings } from '../../src/settings/shown.ts'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let operator: Visitor
    let owner: Visitor
    beforeAll(async () => {
      it = await startConsoleOn(engine)
      operator = await it.visit('operator@example.com', 'owner', 'org_house', true)
      owner = await it.visit('owner@example.com', 'owner')
      for (let n = 0; n < 7; n++)
        await it.store.wallets.createWallet(
          {
            id: `wal_${n}`,
            orgId: `org_${n}`,
            name: `${n % 2 ? 'b' : 'A'} ${n}`,
          },
          byTest,
        )
    })
    afterAll(() => it.stop())
    const accounts = async (query = '') => jsonOf(await operator.ask('GET', `/operator/accounts${query}`))

    test('accounts come by name in pages, with what they spent, and are found by name, id and member', async () => {
      const { token } = await it.newKey()
      it.answerWith(() => completion('x', { prompt_tokens: 100, completion_tokens: 7, total_tokens: 0 }))
      for (let n = 0; n < 3; n++) await (await it.post('/v1/chat/completions', chat(), {}, token)).text()
      const all = (await accounts()).data
      expect(all.map(({ name }: { name: string }) => name)).toEqual([
        'A 0',
        'A 2',
        'A 4',
        'A 6',
        'b 1',
        'b 3',
        'b 5',
        'test',
      ])
      const pages: unknown[] = []
      for (let after = ''; ; ) {
        const page = await accounts(`?limit=3${after}`)
        pages.push(...page.data)
        if (!page.has_more) break
        after = `&after=${page.data.at(-1).wallet}`
      }
      expect(pages).toEqual(all)
      expect((await accounts('?search=OWNER@')).data).toMatchObject([
        { id: 'org_test', spent_30d_usd: '0.00051', members: 1, keys: 2, suspended: null },
      ])
      await it.store.reports.rollUp()
      expect((await accounts('?search=wal_3')).data).toMatchObject([{ name: 'b 3', spent_30d_usd: '0' }])
    })

    test('a suspended account is refused when the page says so, whatever its owner does, and goes on as it was', async () => {
      const { token } = await it.newKey()
      const call = async () => {
        const response = await it.post('/v1/chat/completions', chat(), {}, token)
        return response.status === 200 ? 200 : (await jsonOf(response)).error.code
      }
      expect(await call()).toBe(200)
      const path = `/operator/accounts/${it.wallet}/suspended`
      expect((await owner.ask('PUT', path, { reason: 'none' })).status).toBe(404)
      expect((await operator.ask('PUT', path, { reason: 'unpaid invoices' })).status).toBe(200)
      expect(await call()).toBe('account_suspended')
      expect((await jsonOf(await owner.ask('GET', '/wallet'))).suspended).toBe('unpaid invoices')
      // Neither its rules nor a new key lift it.
      expect((await owner.ask('PUT', '/rules', { per_call_max_usd: 5 })).status).toBe(200)
      expect((await owner.ask('PUT', '/rules', { suspended: null })).status).toBe(400)
      const { key } = await jsonOf(await owner.ask('POST', '/keys', { label: 'another' }))
      expect((await it.post('/v1/chat/completions', chat(), {}, key)).status).toBe(403)
      const [event] = await it.store.events
        .list({ orgId: 'org_test', most: 10 })
        .then((all) => all.filter(({ what }) => what === 'account.suspended'))
      expect(event).toMatchObject({
        actor: { name: 'operator@example.com' },
        after: { suspended: 'unpaid invoices' },
      })
      expect((await accounts('?search=wal_test')).data[0].suspended).toBe('unpaid invoices')
      expect((await operator.ask('PUT', path, { reason: null })).status).toBe(200)
      expect(await call()).toBe(200)
    })

    test('a credit line is granted and withdrawn, with its record', async () => {
      const path = `/operator/accounts/${it.wallet}/credit-line`
      expect((await operator.ask('PUT', path, { limit_usd: 30, net_days: 7 })).status).toBe(200)
      expect((await jsonOf(await owner.ask('GET', '/wallet'))).credit).toMatchObject({
        limit_usd: '30',
        net_days: 7,
      })
      // The form begins with what was granted.
      expect((await accounts('?search=wal_test')).data[0]).toMatchObject({
        credit_limit_usd: '30',
        credit_net_days: 7,
      })
      expect((await operator.ask('PUT', path, { limit_usd: 0, net_days: 7 })).status).toBe(200)
      expect((await jsonOf(await owner.ask('GET', '/wallet'))).credit.status).toBe('withdrawn')
      const [last] = await it.store.events.list({ orgId: 'org_test', most: 1 })
      expect(last).toMatchObject({ what: 'credit_line.granted', after: { limit_usd: '0', net_days: 7 } })
    })

    test('vendors, system and setup are told, and no secret with them', async () => {
      const { data, of_calls } = await jsonOf(await operator.ask('GET', '/operator/vendors'))
      expect(data).toMatchObject([{ id: 'mock', calls: of_calls, failed: 0, failing: [] }])
      expect(data[0].keys.every((key: string) => /^….{4}$/.test(key))).toBe(true)
      const system = await jsonOf(await operator.ask('GET', '/operator/system'))
      expect(system.processes.map(({ id }: { id: string }) => id)).toContain(it.gateway.instance)
      const setup = await jsonOf(await operator.ask('GET', '/operator/setup'))
      expect(setup.trials).toMatchObject({ claimed: 0, active: 0 })
    })
  })

test('a setting tells where it came from; what is secret, and a password in an address, is not told', () => {
  const shown = new Map(
    shownSettings(settings, {
      PORT: '9999',
      DATABASE_URL: 'postgres://ada:lovelace@db/ledger',
      STRIPE_SECRET_KEY: 'sk_live_hidden',
      CONSOLE_ORIGIN: 'https://ada:lovelace@console.example.com',
    }).map((row) => [row.name, row]),
  )
  expect(shown.get('PORT')).toMatchObject({ value: '9999', from: 'environment', group: 'server' })
  expect(shown.get('HOST')?.from).toBe('default')
  expect(shown.get('STRIPE_SECRET_KEY')).toMatchObject({
    value: undefined,
    from: 'environment',
    secret: true,
  })
  expect(shown.get('SMTP_URL')).toMatchObject({ value: undefined, from: 'unset' })
  expect(JSON.stringify([...shown])).not.toMatch(/lovelace|hidden/)
})
