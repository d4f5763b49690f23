/**
 * A whole day of an operator at /v1/admin, by a client that a third party made from docs/openapi.json: an organisation,
 * its credit, key, cap, tenant and price, a suspension, and what was used and done. The compiler checks every request and
 * answer against the reference, and the server is asked the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import createClient from 'openapi-fetch'
import openapiTS, { astToString } from 'openapi-typescript'
import { chat, jsonOf, startTestServer, type TestServer } from '../../server/harness.ts'
import { serverEngines, stopSound } from '../../store/engines.ts'
import { machineOf } from '../machine-rig.ts'
// Made by the first test; only the compiler reads it.
import type { paths } from './admin-api.d.ts'

const ADMIN = '/v1/admin'
const root = join(import.meta.dir, '../../..')

test('the client’s types come from the reference, and the day below has them', async () => {
  const reference = await Bun.file(join(root, 'docs/openapi.json')).json()
  const admin = Object.entries(reference.paths).filter(([path]) => path.startsWith(ADMIN))
  const types = await openapiTS({ ...reference, paths: Object.fromEntries(admin) })
  await Bun.write(join(import.meta.dir, 'admin-api.d.ts'), astToString(types))
  const check = Bun.spawn([join(root, 'node_modules/.bin/tsc'), '-p', import.meta.dir], { stdout: 'pipe' })
  expect([await new Response(check.stdout).text(), await check.exited]).toEqual(['', 0])
})

/** What an answer says, where it is no error. */
const said = <Data>({ data, error }: { data?: Data; error?: unknown }): Data => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(() => stopSound(server, database))

    /** What a call with the key is told. */
    const call = async (token: string): Promise<string> => {
      const response = await server.post('/v1/chat/completions', chat(), {}, token)
      return response.ok ? 'ok' : (await jsonOf(response)).error.code
    }

    test('a day of an operator, from the first organisation to the report', async () => {
      const { id: machine, credential } = await machineOf(server)
      const admin = createClient<paths>({
        baseUrl: 'http://turnpike.test',
        headers: { authorization: `Bearer ${credential}` },
        fetch: (request) => server.fetch(request),
      })
      const organisation = 'org_acme'
      const acme = { path: { organisation } }

      const made = said(
        await admin.PUT('/v1/admin/organisations/{organisation}', { params: acme, body: { name: 'Acme' } }),
      )
      expect(made).toMatchObject({ id: organisation, balance_usd: '0', suspended: null })
      const owner = { email: 'owner@acme.example', role: 'owner' } as const
      const { link } = said(
        await admin.POST('/v1/admin/organisations/{organisation}/people', { params: acme, body: owner }),
      )
      expect(link).toContain('/console/link#')

      const line = said(
        await admin.PUT('/v1/admin/organisations/{organisation}/credit', {
          params: acme,
          body: { limit_usd: '500', net_days: 30 },
        }),
      )
      expect(line.limit_usd).toBe('500')
      const gift = { amount_usd: '25.000000001', note: 'welcome', ref: 'welcome acme' }
      for (const outcome of ['posted', 'replayed'])
        expect(
          said(
            await admin.POST('/v1/admin/organisations/{organisation}/gifts', { params: acme, body: gift }),
          ),
        ).toMatchObject({ balance_usd: '25.000000001', outcome })

      const key = said(
        await admin.POST('/v1/admin/keys', {
          params: { header: { 'Idempotency-Key': 'acme root' } },
          body: { label: 'root', wallet: made.wallet, can_manage: true },
        }),
      )
      expect(await call(key.key)).toBe('ok')
      const capped = said(
        await admin.PATCH('/v1/admin/keys/{key}', {
          params: { path: { key: key.id } },
          body: { daily_cap_usd: '0.000000001' },
        }),
      )
      expect(capped.daily_cap_usd).toBe('0.000000001')
      expect(await call(key.key)).toBe('insufficient_balance')
      said(
        await admin.PATCH('/v1/admin/keys/{key}', {
          params: { path: { key: key.id } },
          body: { daily_cap_usd: null },
        }),
      )

      const { data: tenants } = said(
        await admin.POST('/v1/admin/tenants', {
          body: {
            organisation,
            tenants: [{ label: 'Shop', reference: 'S-1', limits: { monthly_cap_usd: 10 } }],
          },
        }),
      )
      const [shop] = tenants
      if (shop === undefined) throw new Error('no tenant was made')
      const tenant = { path: { tenant: shop.id } }
      const priced = said(
        await admin.PUT('/v1/admin/tenants/{tenant}/margin', {
          params: tenant,
          body: { organisation, margin_percent: 12.5 },
        }),
      )
      expect(priced).toMatchObject({ margin_percent: 12.5, own_margin: true, reference: 'S-1' })
      expect(await call(shop.key)).toBe('ok')
      for (const [suspended, told] of [
        [true, 'key_disabled'],
        [false, 'ok'],
      ] as const) {
        said(
          await admin.PUT('/v1/admin/tenants/{tenant}/suspension', {
            params: tenant,
            body: { organisation, suspended },
          }),
        )
        expect(await call(shop.key)).toBe(told)
      }

      for (const [reason, told] of [
        ['unpaid invoices', 'account_suspended'],
        [null, 'ok'],
      ] as const) {
        const now = said(
          await admin.PUT('/v1/admin/organisations/{organisation}/suspension', {
            params: acme,
            body: { reason },
          }),
        )
        expect(now.suspended).toBe(reason)
        expect([await call(key.key), await call(shop.key)]).toEqual([told, told])
      }

      const { error } = await admin.PUT('/v1/admin/organisations/{organisation}/credit', {
        params: acme,
        // @ts-expect-error: what the reference does not say, neither the compiler takes nor the server.
        body: { limit_usd: '500', net_days: true },
      })
      expect(error?.error).toMatchObject({ code: 'invalid_parameter', param: 'net_days' })

      const [report] = said(
        await admin.GET('/v1/admin/organisations', { params: { query: { search: organisation } } }),
      ).data
      expect(report).toMatchObject({ id: organisation, members: 1, keys: 2, credit_limit_usd: '500' })
      expect(Number(report?.spent_30d_usd)).toBeGreaterThan(0)
      const use = said(await admin.GET('/v1/admin/keys/{key}/usage', { params: { path: { key: key.id } } }))
      expect(use.spent_usd).toBe(report?.spent_30d_usd as string)
      const { data: events } = said(
        await admin.GET('/v1/admin/events', { params: { query: { organisation } } }),
      )
      expect(events.every((event) => event.actor_id === machine)).toBe(true)
      expect(events.map(({ what }) => what).reverse()).toEqual([
        'wallet.created',
        'member.added',
        'credit_line.granted',
        'wallet.credited',
        'key.created',
        'key.changed',
        'key.changed',
        'key.created',
        'tenant.price_set',
        'key.disabled',
        'key.enabled',
        'account.suspended',
        'account.resumed',
      ])
      const laws = said(await admin.POST('/v1/admin/audit', { body: { all: true } })).data
      expect(laws.filter(({ ok }) => !ok)).toEqual([])
    })
  })
