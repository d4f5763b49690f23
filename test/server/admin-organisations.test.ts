/** Organisations and their money for machines: made once, listed in pages, paid in and out once, within their reach. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { serverEngines, stopSound } from '../store/engines.ts'
import { eventsOfMachine, machineOn } from './admin-rig.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

for (const engine of serverEngines)
  describe(`organisations on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(() => stopSound(server, database))

    const refused = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.code]

    test('the charge of a call is shown to whoever has accounts, where it is in their reach', async () => {
      server.answerWith(() => completion('hello'))
      const answer = await server.post('/v1/chat/completions', chat())
      const id = answer.headers.get('x-request-id') ?? ''
      const path = `/calls/${id}/charge`
      const chargeOf = async (rights: string[], organisations?: string[]) => {
        const { ask } = await machineOn(server, rights, organisations === undefined ? {} : { organisations })
        const shown = await ask('GET', path)
        return shown.status === 200 ? (await jsonOf(shown)).call?.id : shown.status
      }
      const there = await machineOn(server, ['accounts'])
      for (const org of ['org_test', 'org_elsewhere'])
        await there.ask('PUT', `/organisations/${org}`, { name: org })
      expect(await chargeOf(['accounts'])).toBe(id)
      expect(await chargeOf(['accounts'], ['org_test'])).toBe(id)
      expect(await chargeOf(['accounts'], ['org_elsewhere'])).toBe(404)
    })

    test('one is put under the caller’s id, renamed, funded, lent to and paid back, each once', async () => {
      const { id, ask } = await machineOn(server, ['accounts', 'credit'])
      const path = '/organisations/org_acme'
      expect(await refused(await ask('GET', path))).toEqual([404, 'not_found'])
      const empty = { id: 'org_acme', wallet: 'wal_acme', balance_usd: '0', held_usd: '0', credit: null }
      for (const name of ['Acme', 'Acme', 'Acme & Co', 'Acme & Co'])
        expect(await jsonOf(await ask('PUT', path, { name }))).toMatchObject({ ...empty, name })
      const payment = { amount_usd: '9007199.254740993', ref: 'bank 1' }
      for (const outcome of ['posted', 'replayed'])
        expect(await jsonOf(await ask('POST', `${path}/funds`, payment))).toMatchObject({
          balance_usd: payment.amount_usd,
          ref: 'bank 1',
          outcome,
        })
      const other = { ...payment, amount_usd: '1' }
      expect(await refused(await ask('POST', `${path}/funds`, other))).toEqual([
        409,
        'idempotency_key_reused',
      ])
      const back = { amount_usd: '7199.254740993', ref: 'back 1' }
      for (const outcome of ['posted', 'replayed'])
        expect(await jsonOf(await ask('POST', `${path}/withdrawals`, back))).toMatchObject({
          available_usd: '9000000',
          outcome,
        })
      const more = { amount_usd: '9000001', ref: 'back 2' }
      expect(await refused(await ask('POST', `${path}/withdrawals`, more))).toEqual([
        402,
        'insufficient_balance',
      ])
      expect(await jsonOf(await ask('PUT', `${path}/credit`, { limit_usd: '500', net_days: 30 }))).toEqual({
        wallet: 'wal_acme',
        status: 'active',
        limit_usd: '500',
        owed_usd: '0',
        held_usd: '0',
        available_usd: '500',
        net_days: 30,
      })
      expect((await jsonOf(await ask('GET', path))).credit).toMatchObject({ limit_usd: '500', net_days: 30 })
      const changes = (await eventsOfMachine(server, id)).filter(({ orgId }) => orgId !== 'house')
      expect(changes.map(({ what, orgId }) => [what, orgId])).toEqual([
        ['credit_line.granted', 'org_acme'],
        ['wallet.withdrawn', 'org_acme'],
        ['wallet.funded', 'org_acme'],
        ['wallet.renamed', 'org_acme'],
        ['wallet.created', 'org_acme'],
      ])
    })

    test('the list goes on where a page ended, and a machine sees and moves only what it reaches', async () => {
      const all = await machineOn(server, ['accounts'])
      for (const name of ['a', 'b', 'c']) await all.ask('PUT', `/organisations/org_page_${name}`, { name })
      const seen: string[] = []
      for (let after = ''; ; ) {
        const page = await jsonOf(await all.ask('GET', `/organisations?limit=2${after}`))
        seen.push(...page.data.map(({ id }: { id: string }) => id))
        if (!page.has_more) break
        after = `&after=${page.data.at(-1).wallet}`
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.filter((id) => id.startsWith('org_page_'))).toEqual([
        'org_page_a',
        'org_page_b',
        'org_page_c',
      ])
      const one = await machineOn(server, ['accounts'], { organisations: ['org_page_b'] })
      const { data } = await jsonOf(await one.ask('GET', '/organisations'))
      expect(data.map(({ id }: { id: string }) => id)).toEqual(['org_page_b'])
      const payment = { amount_usd: 1, ref: 'theirs' }
      expect((await one.ask('POST', '/organisations/org_page_b/funds', payment)).status).toBe(200)
      for (const [method, path, body] of [
        ['GET', '/organisations/org_page_a', undefined],
        ['PUT', '/organisations/org_page_a', { name: 'mine' }],
        ['PUT', '/organisations/org_new', { name: 'mine' }],
        ['POST', '/organisations/org_page_a/funds', payment],
        ['POST', '/organisations/org_page_b/funds', { ...payment, wallet: 'wal_page_a' }],
      ] as const)
        expect([path, ...(await refused(await one.ask(method, path, body)))]).toEqual([
          path,
          404,
          'not_found',
        ])
      expect(
        await refused(await one.ask('PUT', '/organisations/org_page_b/credit', { limit_usd: 1 })),
      ).toEqual([403, 'forbidden'])
    })
  })
