/** What is known of a person or a customer is gone from every table, and the books are as they were. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { LOGO } from './bill-rig.ts'
import { startConsoleOn, type TestConsole } from './rig.ts'

const HOUR = 3_600_000
const by = { kind: 'command', id: 'test', name: 'turnpike test' } as const

/** The tables and columns, anywhere in the database, in which a text stands. */
const placesOf = async (url: string, text: string): Promise<readonly string[]> => {
  const sqlite = url.startsWith('sqlite:')
  const file = sqlite ? new Database(url.slice('sqlite:'.length)) : undefined
  const sql = sqlite ? undefined : new SQL(url, { max: 1 })
  const all = async (query: string): Promise<readonly Record<string, unknown>[]> =>
    file === undefined ? ((await sql?.unsafe(query)) ?? []) : (file.query(query).all() as never)
  const tables = await all(
    sqlite
      ? `select name from sqlite_master where type = 'table'`
      : `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p') and n.nspname = 'public'`,
  )
  const found = new Set<string>()
  for (const { name } of tables)
    for (const row of await all(`select * from "${name}"`))
      for (const [column, value] of Object.entries(row)) {
        const bytes = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
        if (bytes.toLowerCase().includes(text)) found.add(`${name}.${column}`)
      }
  file?.close()
  await sql?.close()
  return [...found].sort()
}

for (const engine of engines.filter(({ lasting }) => lasting))
  describe(`forgetting on ${engine.name}`, () => {
    let it: TestConsole & { readonly url: string }
    beforeAll(async () => {
      it = await startConsoleOn(engine)
    })
    afterAll(() => it.stop())

    const figures = async () => ({
      wallets: (await it.store.wallets.list()).map(({ id, balance, held }) => ({ id, balance, held })),
      used: (
        await it.store.reports.usage({
          orgs: 'all',
          only: {},
          most: 1_000,
          from: 0,
          to: Date.now() + 1e9,
          groupBy: ['key', 'model'],
        })
      ).map(({ groups, requests, amount }) => ({ ...groups, requests, amount })),
      broken: await brokenLaws(it.store),
    })

    test('a person is gone with all that is known of them, and what they did stays under their id', async () => {
      const mark = 'zzperson'
      const owner = await it.visit('first@example.com', 'owner')
      const person = await it.visit(`${mark}@example.com`, 'developer')
      await person.ask('POST', '/keys', { label: 'theirs' }, { 'user-agent': `agent ${mark}` })
      const { people } = it.store
      const [row] = await people.find('person', {
        where: [{ column: 'email', is: '=', value: `${mark}@example.com` }],
      })
      const id = String(row?.id)
      await people.update('person', [{ column: 'id', is: '=', value: id }], { name: `Name ${mark}` })
      await owner.ask('PUT', `/members/${id}`, { role: 'viewer' })
      await it.store.events.record({
        actor: { kind: 'person', id, name: `${mark}@example.com`, address: `${mark}.address` },
        orgId: 'people',
        what: 'person.signed_in',
        subject: id,
      })
      const places = await placesOf(it.url, mark)
      for (const place of ['event.actor_name', 'event.address', 'person.email', 'person.name'])
        expect(places).toContain(place)
      const before = await figures()
      const done = await it.store.forget.forgetPerson(id, by)
      expect(done).toMatchObject({ people: 1, sessions: expect.any(Number) })
      expect(await placesOf(it.url, mark)).toEqual([])
      expect(await figures()).toEqual(before)
      expect(await it.store.forget.forgetPerson(id, by)).toBe('unknown')
      // Nobody else lost anything, and the last owner cannot go.
      const [first] = await people.find('person', {
        where: [{ column: 'email', is: '=', value: 'first@example.com' }],
      })
      expect(await it.store.forget.forgetPerson(String(first?.id), by)).toBe('last_owner')
      const events = await it.store.events.list({ most: 100 })
      expect(events.filter(({ actor }) => actor.id === id).length).toBeGreaterThan(0)
      expect(events.find(({ what }) => what === 'person.removed')?.subject).toBe(id)
    })

    test('a customer is gone with its people, names, files, answers and rules, and its money is where it was', async () => {
      const mark = 'zzcustomer'
      it.answerWith(() => completion(`answer ${mark}`))
      const { store, wallet: walletId } = it
      const owner = await it.visit(`owner.${mark}@example.com`, 'owner')
      const made = await jsonOf(await owner.ask('POST', '/keys', { label: `key ${mark}` }))
      const { id: keyId, key: token } = made
      await owner.ask('POST', '/sub-wallets', { label: `sub ${mark}`, budget_usd: 1 })
      const tenants = { tenants: [{ label: `tenant ${mark}`, reference: `ref ${mark}` }] }
      const tenant = (await jsonOf(await owner.ask('POST', '/tenants', tenants))).data[0]
      await owner.ask('POST', `/tenants/${tenant.tenant}/links`, {})
      const party = { name: `name ${mark}`, address: `street ${mark}` }
      const seller = { ...party, currency: 'EUR', usd_rate: '1', terms_days: 1, taxes: [], prefix: '' }
      await owner.ask('PUT', '/biller', { ...seller, logo: LOGO })
      await owner.ask('PUT', `/tenants/${tenant.tenant}/billing`, party)
      const sums = { lines: [], net: '1.00', taxes: [], total: '1.00' }
      const document = { ...sums, seller, buyer: party, label: mark, reference: null }
      const closing = { orgId: 'org_test', tenantId: tenant.tenant, month: '2026-01', document }
      const { bill } = await store.bills.close(closing, byTest)
      await store.bills.credit({ orgId: 'org_test', id: bill.id, reason: mark }, byTest)
      await store.wallets.changeWalletRules(
        walletId,
        {
          alertBelow: 1n,
          alertWebhookUrl: `https://${mark}.example.com/alert`,
        },
        byTest,
      )
      await store.community.putReview({
        id: 'r',
        skill: 's',
        orgId: 'org_test',
        rating: 5,
        comment: `fine, ${mark}`,
      })
      const idem = { 'idempotency-key': `once-${mark}` }
      const called = await it.post('/v1/chat/completions', chat({ max_tokens: 50 }), idem, token)
      expect(called.status).toBe(200)
      const refused = await it.post('/v1/chat/completions', { ...chat(), model: `mock/${mark}` }, {}, token)
      expect(refused.status).toBe(400)
      await it.gateway.memory.failures.end()
      expect(await store.reports.failures({ orgs: 'all', keyId, from: 0, most: 9 })).toHaveLength(1)
      const body = JSON.stringify({ text: mark })
      await store.responses.keepResponse(
        {
          keyId,
          id: 'resp',
          previousId: undefined,
          input: `[${body}]`,
          body,
          output: [{ id: 'item', body }],
        },
        HOUR,
      )
      const asset = { id: 'a'.repeat(32), keyId, runId: 'run', place: 0, source: 'upload' }
      await store.assets.beginAsset(asset, HOUR)
      const bytes = { sha256: 'ab', bytes: 1, mediaType: 'text/plain', extension: 'txt' }
      await store.assets.finishAsset(asset.id, bytes, HOUR, {
        purpose: 'user_data',
        name: `${mark}.txt`,
      })
      const places = await placesOf(it.url, mark)
      for (const place of [
        'api_key.label',
        'asset.name',
        'event.actor_name',
        'event.after',
        'idempotency.idem_key',
        'kept_item.body',
        'kept_response.body',
        'key_note.reference',
        'person.email',
        'review.comment',
        'sub_wallet.label',
        'wallet_rules.rules',
      ])
        expect(places).toContain(place)
      expect(await store.forget.forgetCustomer(walletId, by)).toBe('keys_live')
      for (const id of await store.forget.keysToEnd(walletId)) await store.keys.deleteKey(id, true, by)
      const before = await figures()
      const done = await store.forget.forgetCustomer(walletId, by)
      expect(done).toMatchObject({ files: 1, responses: 1, reviews: 1, failures: 1, failure_counts: 1 })
      expect(await store.reports.failures({ orgs: 'all', keyId, from: 0, most: 9 })).toEqual([])
      expect(await placesOf(it.url, mark)).toEqual([])
      const after = await figures()
      expect(after).toEqual(before)
      expect(after.broken).toEqual([])
      expect(await store.forget.forgetCustomer('wal_nobody', by)).toBe('unknown')
      expect((await it.post('/v1/chat/completions', chat(), {}, token)).status).toBe(401)
    })
  })
