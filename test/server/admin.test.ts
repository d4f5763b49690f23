/** /v1/admin: what a machine may reach, from where, until when, how often; and that each thing it does is recorded once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { eventsOfMachine, machineOn } from './admin-rig.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

for (const engine of serverEngines)
  describe(`machines on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
      server.answerWith(() => completion('x'))
      await server.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'Other' }, byTest)
    })
    afterAll(() => stopSound(server, database))

    const refused = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.code]

    test('without the right, of another organisation, elsewhere, too late, revoked or too often: nothing happens', async () => {
      const rules = '/organisations/org_test/rules'
      const change = { per_call_max_usd: '0.01' }
      const before = (await server.store.wallets.walletRules(server.wallet)).version
      const reader = await machineOn(server, ['wallet_read'])
      expect(await refused(await reader.ask('PATCH', rules, change))).toEqual([403, 'forbidden'])
      expect((await reader.ask('GET', rules)).status).toBe(200)
      const theirs = await machineOn(server, ['rules'], { organisations: ['org_other'] })
      expect(await refused(await theirs.ask('PATCH', rules, change))).toEqual([404, 'not_found'])
      expect((await theirs.ask('PATCH', '/organisations/org_other/rules', change)).status).toBe(200)
      const elsewhere = await machineOn(server, ['rules'], { addresses: ['198.51.100.0/24'] })
      expect(await refused(await elsewhere.ask('PATCH', rules, change))).toEqual([403, 'forbidden'])
      const late = await machineOn(server, ['rules'], { expires_at: '2020-01-01' })
      expect(await refused(await late.ask('PATCH', rules, change))).toEqual([401, 'invalid_api_key'])
      const ended = await machineOn(server, ['rules'])
      await server.store.machines.revoke(ended.id, byTest)
      expect(await refused(await ended.ask('PATCH', rules, change))).toEqual([401, 'invalid_api_key'])
      const slow = await machineOn(server, ['wallet_read'], { rpm_limit: 1 })
      expect((await slow.ask('GET', rules)).status).toBe(200)
      expect(await refused(await slow.ask('GET', rules))).toEqual([429, 'rate_limit_exceeded'])
      expect((await server.store.wallets.walletRules(server.wallet)).version).toBe(before)
    })

    test('rules are read and changed with their version, bind the next call, and leave one event', async () => {
      const { id, ask } = await machineOn(server, ['wallet_read', 'rules'])
      const path = '/organisations/org_test/rules'
      const read = await ask('GET', path)
      const etag = read.headers.get('etag') ?? ''
      expect((await jsonOf(read)).per_call_max_usd).toBeNull()
      const changed = await ask('PATCH', path, { blocked_models: ['mock/small'] }, { 'if-match': etag })
      expect(await jsonOf(changed)).toMatchObject({
        wallet_id: server.wallet,
        blocked_models: ['mock/small'],
      })
      expect((await server.post('/v1/chat/completions', chat())).status).toBe(403)
      const stale = await ask('PATCH', path, { blocked_models: null }, { 'if-match': etag })
      expect(await refused(stale)).toEqual([412, 'precondition_failed'])
      const again = { 'if-match': changed.headers.get('etag') ?? '' }
      const exact = '90.000000001'
      const freed = await ask('PATCH', path, { blocked_models: null, daily_limit_usd: exact }, again)
      expect(await jsonOf(freed)).toMatchObject({ blocked_models: null, daily_limit_usd: exact })
      expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
      // Whoever may set rules need not be allowed to pay.
      const paying = await ask('PATCH', path, { auto_top_up: null })
      expect(await refused(paying)).toEqual([403, 'forbidden'])
      expect((await eventsOfMachine(server, id)).map(({ what }) => what)).toEqual([
        'wallet.rules_changed',
        'wallet.rules_changed',
        'rules.get',
      ])
    })

    test('what needs no member is asked for without a body, and a change is not', async () => {
      const { ask } = await machineOn(server, ['system', 'keys', 'rules', 'wallet_read'])
      for (const type of [{}, { 'content-type': 'application/json' }])
        expect((await ask('POST', '/audit', undefined, type)).status).toBe(200)
      for (const [method, path] of [
        ['POST', '/keys'],
        ['PATCH', '/organisations/org_test/rules'],
      ] as const)
        expect(await refused(await ask(method, path))).toEqual([400, 'invalid_parameter'])
    })

    test('a key is put once under the caller’s id, and changed only as it was read', async () => {
      const { ask, id } = await machineOn(server, ['keys', 'read'])
      const path = `/keys/key_${id}`
      const body = { label: 'app', wallet: server.wallet, spend_cap_usd: '1' }
      const made = await ask('PUT', path, body)
      expect((await jsonOf(made)).key).toMatch(/^sk-/)
      const again = await ask('PUT', path, body)
      expect(await jsonOf(again)).toMatchObject({ key: null, spend_cap_usd: '1', version: 1 })
      const etag = { 'if-match': again.headers.get('etag') ?? '' }
      expect(await jsonOf(await ask('PATCH', path, { spend_cap_usd: '2' }, etag))).toMatchObject({
        version: 2,
      })
      expect(await refused(await ask('PATCH', path, { spend_cap_usd: '3' }, etag))).toEqual([
        412,
        'precondition_failed',
      ])
      expect((await eventsOfMachine(server, id)).map(({ what }) => what)).toEqual([
        'key.changed',
        // The repeat found all as it should be: it looked.
        'key.put',
        'key.created',
      ])
    })

    test('sub-wallets are made, changed, listed and deleted, with exact amounts', async () => {
      const { id, ask } = await machineOn(server, ['sub_wallets_read', 'sub_wallets'])
      const path = '/organisations/org_test/sub-wallets'
      const made = await ask('POST', path, { label: 'night', budget_usd: '0.000000001' })
      const sub = await jsonOf(made)
      expect([made.status, sub.budget_usd, sub.remaining_usd]).toEqual([201, '0.000000001', '0.000000001'])
      expect((await jsonOf(await ask('GET', path))).data).toContainEqual(sub)
      const one = `${path}/${sub.id}`
      expect(await jsonOf(await ask('PATCH', one, { budget_usd: 2 }))).toMatchObject({ budget_usd: '2' })
      expect(await refused(await ask('PATCH', `/organisations/org_other/sub-wallets/${sub.id}`, {}))).toEqual(
        [404, 'not_found'],
      )
      expect(await refused(await ask('POST', path, { budget_usd: '10000.000000001' }))).toEqual([
        400,
        'invalid_parameter',
      ])
      expect(await jsonOf(await ask('DELETE', one))).toEqual({ id: sub.id, deleted: true })
      expect((await ask('GET', one)).status).toBe(404)
      expect((await eventsOfMachine(server, id)).map(({ what }) => what)).toEqual([
        'sub_wallet.deleted',
        'sub_wallet.changed',
        'sub_wallet.list',
        'sub_wallet.created',
      ])
    })
  })
