/** Who may do what in the console: everybody tries each address, from another site too, and with the ids of others. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { consoleRoutes } from '../../src/console/routes.ts'
import type { orgRights } from '../../src/control/rights.ts'
import { byTest } from '../by-test.ts'
import { chat, jsonOf } from '../server/harness.ts'
import { startConsole, type Visitor } from './rig.ts'

let it: Awaited<ReturnType<typeof startConsole>>
const who = {} as Record<
  'owner' | 'admin' | 'billing' | 'developer' | 'viewer' | 'other' | 'operator',
  Visitor
>
let key = ''
/** Two tenants, and the secret of the first one's link. */
let tenants: readonly { readonly id: string; readonly label: string; readonly key: string }[] = []
let secret = ''
let ownBill: string | undefined

/** The ledger and the record of changes, to see that nothing was changed. */
const stateOf = async (): Promise<string> => {
  const { events, reports, tenants: prices } = it.store
  const state = [
    await events.list({ orgId: 'org_test', most: 500 }),
    await reports.keys({ orgs: ['org_test'], which: 'all', most: 500, deleted: true }),
    await prices.margins('org_test'),
    await it.store.members.list({ orgId: 'org_test' }),
    await it.store.wallets.walletRules(it.wallet),
    await it.balance(),
  ]
  return JSON.stringify(state, (_name, value) => (typeof value === 'bigint' ? String(value) : value))
}

beforeAll(async () => {
  it = await startConsole({ settings: { signUp: 'invite' } })
  await it.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'other' }, byTest)
  for (const role of ['owner', 'admin', 'billing', 'developer', 'viewer'] as const)
    who[role] = await it.visit(`${role}@example.com`, role)
  who.other = await it.visit('other@example.com', 'owner', 'org_other')
  who.operator = await it.visit('operator@example.com', 'owner', 'org_other', true)
  key = (await jsonOf(await who.owner.ask('POST', '/keys', { label: 'of the owner' }))).id
  const list = {
    tenants: [
      { label: 'Tenant one', reference: 'R-1' },
      { label: 'Tenant two', reference: 'Number two' },
    ],
  }
  tenants = (await jsonOf(await who.owner.ask('POST', '/tenants', list))).data
  for (const tenant of tenants) await (await it.post('/v1/chat/completions', chat(), {}, tenant.key)).text()
  const made = await jsonOf(await who.owner.ask('POST', `/tenants/${tenants[0]?.id}/links`))
  secret = made.link.split('#')[1]
  const party = { name: 'Reseller', address: '1 Main St' }
  const seller = { ...party, currency: 'EUR', usd_rate: '1', terms_days: 1, taxes: [], prefix: 'R-' }
  await it.store.bills.putBiller('org_test', seller, undefined, byTest)
  for (const { id, label } of tenants) {
    const buyer = { name: label, address: '' }
    const sums = { lines: [], net: '1.00', taxes: [], total: '1.00' }
    const document = { ...sums, seller, buyer, label, reference: null }
    const closing = { orgId: 'org_test', tenantId: id, month: '2026-01', document }
    const { bill } = await it.store.bills.close(closing, byTest)
    ownBill ??= bill.id
  }
})
afterAll(() => it.stop())

/** The table of the design, written a second time: what each role may do. */
const table: Readonly<Record<(typeof orgRights)[number], readonly string[]>> = {
  read: ['owner', 'admin', 'billing', 'viewer'],
  read_own: ['owner', 'admin', 'billing', 'developer', 'viewer'],
  keys: ['owner', 'admin'],
  keys_own: ['owner', 'admin', 'developer'],
  wallet_read: ['owner', 'admin', 'billing', 'viewer'],
  wallet: ['owner', 'billing'],
  fund: ['owner'],
  bill: ['owner'],
  rules: ['owner', 'admin'],
  sub_wallets_read: ['owner', 'admin', 'billing', 'viewer'],
  sub_wallets: ['owner', 'admin'],
  tenants: ['owner', 'admin'],
  statements: ['owner', 'admin', 'billing'],
  invoices: ['owner', 'admin', 'billing'],
  play: ['owner', 'admin', 'developer'],
  team_read: ['owner', 'admin', 'billing', 'developer', 'viewer'],
  team: ['owner', 'admin'],
  events: ['owner', 'admin', 'billing'],
}

const addressOf = (path: string): string =>
  path.replace(':id', 'nothing-of-that-id').replace(':link', 'nothing-of-that-id')

for (const route of consoleRoutes)
  describe(`${route.method} ${route.path}`, () => {
    const body = route.body === undefined ? undefined : {}

    if (route.audience !== 'anybody')
      test('nobody without a session', async () => {
        const response = await it.stranger(route.method, addressOf(route.path), body)
        expect(response.status).toBe(401)
      })

    if (route.audience !== 'anybody')
      test('nobody with a cookie that is not ours, nor with an API key', async () => {
        const { token } = await it.newKey()
        const forged = it.withCookie('turnpike_session=abc.def')
        expect((await forged(route.method, addressOf(route.path), body)).status).toBe(401)
        const byKey = await it.stranger(route.method, addressOf(route.path), body, {
          authorization: `Bearer ${token}`,
        })
        expect(byKey.status).toBe(401)
      })

    test('who has the link of a tenant sees that tenant’s own use, and changes and sees nothing else', async () => {
      const before = await stateOf()
      // By its own ids and by those of the other tenant, also in the query where one can be named there.
      for (const { id } of tenants) {
        const path = addressOf(route.path.replace(':id', id).replace(':bill', ownBill ?? ''))
        const names = (route.query ?? []).filter((name) => name === 'tenant' || name === 'key')
        const asked = `${path}?${names.map((name) => `${name}=${id}`).join('&')}`
        const response = await it.stranger(route.method, asked, body, { authorization: `Bearer ${secret}` })
        const text = await response.text()
        if (route.audience === 'tenant') {
          expect(response.status).toBe(200)
          expect(text).toContain(path.endsWith('/pdf') ? 'R-0001.pdf' : 'Tenant one')
        } else if (route.audience !== 'anybody') expect(response.status).toBe(401)
        for (const hidden of [
          'Tenant two',
          'Number two',
          tenants[1]?.id ?? '',
          tenants[1]?.key ?? '',
          'of the owner',
        ])
          expect(text).not.toContain(hidden)
      }
      expect(await stateOf()).toBe(before)
    })

    if (route.method !== 'GET')
      test('no page of another site, and none that does not say which it is', async () => {
        for (const headers of [
          { origin: 'https://evil.test' },
          { origin: 'null' },
          { 'sec-fetch-site': 'cross-site' },
        ]) {
          const response = await who.owner.ask(route.method, addressOf(route.path), body, headers)
          expect([response.status, (await jsonOf(response)).error.code]).toEqual([403, 'foreign_origin'])
        }
      })

    if (typeof route.audience === 'object')
      test('the roles of the table, and no other', async () => {
        const acts = route.audience as readonly (typeof orgRights)[number][]
        for (const role of ['admin', 'billing', 'developer', 'viewer'] as const) {
          // A permitted request is refused for its empty body or unknown id; only the others are forbidden.
          const { status } = await who[role].ask(route.method, addressOf(route.path), body)
          const may = acts.some((act) => table[act].includes(role))
          expect([role, status === 403]).toEqual([role, !may])
        }
      })

    if (route.audience === 'operator')
      test('for owners of an organisation it is not there', async () => {
        const asked = [route.method, addressOf(route.path), body] as const
        const [owners, operators] = [await who.owner.ask(...asked), await who.operator.ask(...asked)]
        expect(owners.status).toBe(404)
        // What the address names may not be there; the address is.
        if (operators.status === 404)
          expect((await jsonOf(operators)).error.message).not.toBe((await jsonOf(owners)).error.message)
      })

    if (route.path.includes(':id') && route.path.startsWith('/keys'))
      test('a key of another organisation, or of somebody else, is not there', async () => {
        const path = route.path.replace(':id', key)
        expect((await who.other.ask(route.method, path, body)).status).toBe(404)
        expect((await who.developer.ask(route.method, path, body)).status).toBe(404)
      })
  })

test('with the link of a tenant nobody names another one', async () => {
  for (const path of ['/use', '/use.csv']) {
    const asked = `${path}?tenant=${tenants[1]?.id}`
    const response = await it.stranger('GET', asked, undefined, { authorization: `Bearer ${secret}` })
    expect(response.status).toBe(400)
  }
})

test('the link of a tenant is no key: it opens no address of the gateway', async () => {
  const refused = await it.post('/v1/chat/completions', chat(), {}, secret)
  expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([401, 'invalid_api_key'])
  for (const path of ['/v1/models', '/v1/usage', '/v1/key/wholesale/me/usage', '/api/wallet/rules']) {
    const response = await it.fetch(
      new Request(`http://turnpike.test${path}`, { headers: { authorization: `Bearer ${secret}` } }),
    )
    expect([path, response.status]).toEqual([path, 401])
  }
})

test('a viewer sees no secret, and no list of keys has one', async () => {
  const { token } = await it.newKey()
  for (const path of ['/keys', '/overview', '/calls', '/usage', '/wallet', '/team'])
    expect(await (await who.viewer.ask('GET', path)).text()).not.toContain(token.slice(10))
})

test('the overview tells the balance, and how long it lasts, to those who may see the wallet', async () => {
  await it.post('/v1/chat/completions', chat(), {}, tenants[0]?.key ?? '')
  for (const role of ['owner', 'admin', 'billing', 'viewer', 'developer'] as const) {
    const shown = await jsonOf(await who[role].ask('GET', '/overview'))
    const sees = table.wallet_read.includes(role)
    const told = [shown.balance_usd !== null, shown.held_usd !== null]
    expect([role, ...told, shown.days_left]).toEqual([role, sees, sees, null])
  }
})

test('that the wallet is empty is told to those who may see the wallet, and to nobody else', async () => {
  for (const role of ['owner', 'viewer', 'developer'] as const) {
    const visitor = await it.visit(`${role}@empty.example.com`, role, 'org_other')
    const { attention } = await jsonOf(await visitor.ask('GET', '/overview'))
    const empty = attention.some(({ kind }: { kind: string }) => kind === 'empty')
    expect([role, empty]).toEqual([role, table.wallet_read.includes(role)])
  }
})

test('an operator acts for an organisation by choice, is shown as such, and is recorded', async () => {
  expect((await who.other.ask('PUT', '/session/organisation', { org_id: 'org_test' })).status).toBe(404)
  expect((await who.operator.ask('PUT', '/session/organisation', { org_id: 'org_test' })).status).toBe(200)
  const session = await jsonOf(await who.operator.ask('GET', '/session'))
  expect(session.organisation).toMatchObject({ id: 'org_test', role: 'owner', acts_for: true })
  expect((await who.operator.ask('PUT', `/keys/${key}`, { label: 'by the operator' })).status).toBe(200)
  const { data } = await jsonOf(await who.owner.ask('GET', '/events'))
  expect(data[0]).toMatchObject({
    what: 'key.changed',
    actor: 'operator@example.com',
    operator: true,
    subject: key,
  })
  expect(data[0].after.label).toBe('by the operator')
})

test('nobody gives more than they have, and an organisation keeps an owner', async () => {
  const asAdmin = await who.admin.ask('POST', '/team', { email: 'x@example.com', role: 'owner' })
  expect(asAdmin.status).toBe(403)
  expect((await who.owner.ask('PUT', `/team/${who.owner.personId}`, { role: 'viewer' })).status).toBe(403)
  const invited = await jsonOf(
    await who.admin.ask('POST', '/team', { email: 'x@example.com', role: 'developer' }),
  )
  expect(invited.link).toContain('/console/link#')
  const token = invited.link.split('#')[1]
  expect((await it.stranger('POST', '/session/link', { token })).status).toBe(200)
})

test('without mail nobody is added who has an account elsewhere: its first link may be in other hands', async () => {
  const members = () => it.store.members.list({ orgId: 'org_other' })
  const before = await members()
  await who.admin.ask('POST', '/team', { email: 'early@example.com', role: 'viewer' })
  expect((await who.other.ask('POST', '/team', { email: 'early@example.com', role: 'viewer' })).status).toBe(
    403,
  )
  expect(await members()).toEqual(before)
})

test('somebody who is removed while signed in is told so at the next request', async () => {
  const gone = await it.visit('gone@example.com', 'admin')
  expect((await gone.ask('GET', '/keys')).status).toBe(200)
  expect((await who.owner.ask('DELETE', `/team/${gone.personId}`)).status).toBe(200)
  const refused = await gone.ask('POST', '/keys', { label: 'late' })
  expect(refused.status).toBe(403)
  expect((await jsonOf(refused)).error.message).toStartWith('You belong to no organisation here')
})

test('the keys of somebody who is removed end with them, those of the playground too; tenants go on', async () => {
  const gone = await it.visit('left@example.com', 'admin')
  const own = await jsonOf(await gone.ask('POST', '/keys', { label: 'of who left' }))
  const play = await jsonOf(await gone.ask('POST', '/playground/key'))
  const list = { tenants: [{ label: 'Tenant of who left' }] }
  const [tenant] = (await jsonOf(await gone.ask('POST', '/tenants', list))).data
  const status = async (value: string) => (await it.post('/v1/chat/completions', chat(), {}, value)).status
  const values = [own.key, play.key, tenant.key]
  expect(await Promise.all(values.map(status))).toEqual([200, 200, 200])
  expect((await who.owner.ask('DELETE', `/team/${gone.personId}`)).status).toBe(200)
  expect(await Promise.all(values.map(status))).toEqual([403, 403, 200])
  expect((await who.owner.ask('PUT', `/keys/${own.id}`, { disabled: false })).status).toBe(200)
  expect(await status(own.key)).toBe(200)
})

test('a person limited to their own keys enables those that they disabled, and none that an admin did', async () => {
  const { id } = await jsonOf(await who.developer.ask('POST', '/keys', { label: 'on and off' }))
  const put = async (visitor: Visitor, disabled: boolean) =>
    (await visitor.ask('PUT', `/keys/${id}`, { disabled })).status
  expect(await put(who.developer, true)).toBe(200)
  expect(await put(who.developer, false)).toBe(200)
  expect(await put(who.admin, true)).toBe(200)
  expect(await put(who.developer, false)).toBe(403)
  // Not by disabling it again first, and not by the key that takes its place.
  expect(await put(who.developer, true)).toBe(200)
  expect(await put(who.developer, false)).toBe(403)
  const rotated = await jsonOf(await who.developer.ask('POST', `/keys/${id}/rotate`))
  expect((await who.developer.ask('PUT', `/keys/${rotated.id}`, { disabled: false })).status).toBe(403)
  // Who was disabled by its maker first is the admin's after that.
  expect(await put(who.admin, false)).toBe(200)
  expect(await put(who.developer, true)).toBe(200)
  expect(await put(who.admin, true)).toBe(200)
  expect(await put(who.developer, false)).toBe(403)
  expect(await put(who.admin, false)).toBe(200)
})

test('a change and its record are one: the store keeps both or neither', async () => {
  const made = await jsonOf(
    await who.developer.ask('POST', '/keys', { label: 'mine', spend_cap_usd: 3, can_manage: true }),
  )
  expect(made.key).toStartWith('sk-')
  // A person who governs own keys only can make no key that governs the wallet.
  expect(made.can_manage).toBe(false)
  expect(
    (
      await it.post(
        '/v1/chat/completions',
        { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] },
        {},
        made.key,
      )
    ).status,
  ).toBe(200)
  const [event] = await it.store.events.list({ orgId: 'org_test', most: 1 })
  expect(event).toMatchObject({
    what: 'key.created',
    subject: made.id,
    after: { label: 'mine', spendCap: '3' },
  })
})

test('a key of the playground ends after an hour, whether or not its process lives so long', async () => {
  const before = it.gateway.clock.now()
  const { id } = await jsonOf(await who.developer.ask('POST', '/playground/key'))
  const ends = (await it.store.keys.key(id))?.limits.expiresAt ?? Number.POSITIVE_INFINITY
  expect(ends - before).toBeGreaterThanOrEqual(3_600_000)
  expect(ends - it.gateway.clock.now()).toBeLessThanOrEqual(3_600_000)
})
