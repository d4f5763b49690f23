/** Sub-wallets: their endpoints, who sees which, and a ceiling that holds for parallel calls and for open streams. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { brokenLaws, serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  pausedStream,
  startTestServer,
  streamEvents,
  type TestServer,
  USD,
} from './harness.ts'

const path = '/api/wallet/sub-wallets'

for (const engine of serverEngines)
  describe(`sub-wallets on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(async () => {
      await stopSound(server, database)
    })

    const make = async (budget: number, token?: string): Promise<string> => {
      const made = await server.send('POST', path, { budget_usd: budget }, token)
      expect(made.status).toBe(201)
      return (await jsonOf(made)).id
    }
    const call = (sub: string, more: object = {}, token?: string) =>
      server.post('/v1/chat/completions', chat(more), { 'x-sub-wallet': sub }, token)
    const shown = async (sub: string, token?: string) => jsonOf(await server.get(`${path}/${sub}`, token))

    test('are made, listed, read, changed and deleted', async () => {
      const { token } = await server.newKey({}, { canManage: true })
      const made = await server.send('POST', path, { budget_usd: 2.5, label: 'night job' }, token)
      expect(made.status).toBe(201)
      const { id, created_at, ...rest } = await jsonOf(made)
      expect(id).toMatch(/^sub_[0-9a-z]{24}$/)
      expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
      expect(rest).toEqual({
        label: 'night job',
        budget_usd: 2.5,
        spent_usd: 0,
        held_usd: 0,
        remaining_usd: 2.5,
      })
      const { data } = await jsonOf(await server.get(path, token))
      expect(data.map((sub: { id: string }) => sub.id)).toContain(id)
      const changed = await server.send('PATCH', `${path}/${id}`, { budget_usd: 10_000 }, token)
      expect(await jsonOf(changed)).toMatchObject({ id, label: 'night job', budget_usd: 10_000 })
      const named = await server.send('PATCH', `${path}/${id}`, { label: 'day job' }, token)
      expect(await jsonOf(named)).toMatchObject({ label: 'day job', budget_usd: 10_000 })
      expect(await jsonOf(await server.send('DELETE', `${path}/${id}`, undefined, token))).toEqual({
        id,
        deleted: true,
      })
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const gone = await server.send(method, `${path}/${id}`, method === 'PATCH' ? {} : undefined, token)
        expect([method, gone.status, (await jsonOf(gone)).error]).toEqual([method, 404, 'not_found'])
      }
      const after = await jsonOf(await server.get(path, token))
      expect(after.data.map((sub: { id: string }) => sub.id)).not.toContain(id)
    })

    test('take budgets above 0 and up to 10000 only', async () => {
      for (const budget of [0, -1, 10_000.000001, 1e300, 1e-12, '5', null, undefined, [5], true]) {
        const refused = await server.send('POST', path, { budget_usd: budget })
        expect([budget, refused.status, (await jsonOf(refused)).error]).toEqual([
          budget,
          400,
          'budget_usd must be > 0 and <= 10000',
        ])
      }
      const id = await make(1)
      expect((await server.send('PATCH', `${path}/${id}`, { budget_usd: 0 })).status).toBe(400)
      // A ceiling that was misspelt is not said to be changed.
      const misspelt = await server.send('PATCH', `${path}/${id}`, { budget: 1 })
      expect([misspelt.status, (await jsonOf(misspelt)).param]).toEqual([400, 'budget'])
      expect((await server.send('POST', path, { budget_usd: 1, label: 5 })).status).toBe(400)
      expect((await server.send('POST', path, { budget_usd: 1 }, '')).status).toBe(401)
    })

    test('of another account, of a stranger and of nobody are the same 404', async () => {
      const other = `wal_other_${crypto.randomUUID()}`
      await server.store.wallets.createWallet({ id: other, orgId: 'org_other', name: 'other' }, byTest)
      await server.store.ledger.post({ kind: 'topup', ref: other, debit: 'cash', credit: other, amount: USD })
      const stranger = await server.newKey({}, { walletId: other, orgId: 'org_other' })
      const theirs = await make(1, stranger.token)
      for (const id of [theirs, 'sub_nobody', '%27%20or%201=1']) {
        const answers = await Promise.all([
          server.get(`${path}/${id}`),
          server.send('PATCH', `${path}/${id}`, { budget_usd: 9 }),
          server.send('DELETE', `${path}/${id}`),
        ])
        for (const answer of answers)
          expect([answer.status, (await jsonOf(answer)).error]).toEqual([404, 'not_found'])
        const refused = await call(decodeURIComponent(id))
        expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([404, 'not_found'])
      }
      expect(await shown(theirs, stranger.token)).toMatchObject({ budget_usd: 1, spent_usd: 0 })
    })

    test('of a child are seen by it and its maker, not by other children; of a maker by all its children; a bound key may only look', async () => {
      const maker = await server.newKey({}, { canManage: true })
      const [child, sibling] = [
        await server.newKey({}, { parentId: maker.id, canManage: true }),
        await server.newKey({}, { parentId: maker.id }),
      ]
      const own = await make(1, child.token)
      const makers = await make(1, maker.token)
      const statuses = async (id: string) =>
        Promise.all(
          [maker, child, sibling].map(async ({ token }) => (await server.get(`${path}/${id}`, token)).status),
        )
      expect(await statuses(own)).toEqual([200, 200, 404])
      expect(await statuses(makers)).toEqual([200, 200, 200])
      expect((await call(own, {}, sibling.token)).status).toBe(404)
      const bound = await server.newKey({}, { subWallet: makers })
      expect((await server.get(`${path}/${makers}`, bound.token)).status).toBe(200)
      expect((await server.get(`${path}/${own}`, bound.token)).status).toBe(404)
      expect((await call(own, {}, bound.token)).status).toBe(404)
      expect((await call(makers, {}, bound.token)).status).toBe(200)
      for (const [method, id] of [
        ['POST', ''],
        ['PATCH', `/${makers}`],
        ['DELETE', `/${makers}`],
      ] as const) {
        const refused = await server.send(method, `${path}${id}`, { budget_usd: 9_999 }, bound.token)
        expect([method, refused.status]).toEqual([method, 403])
      }
    })

    test('bound what is spent under them, and nothing else', async () => {
      server.answerWith(() =>
        completion('x', { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 }),
      )
      const sub = await make(0.002)
      // One answer costs 910 000 nano-dollars; two fit.
      expect((await call(sub, { max_tokens: 90 })).status).toBe(200)
      expect((await call(sub, { max_tokens: 90 })).status).toBe(200)
      const refused = await call(sub, { max_tokens: 90 })
      const { error } = await jsonOf(refused)
      expect([refused.status, error.code, error.limit]).toEqual([402, 'insufficient_balance', 'sub_wallet'])
      expect(error.available_credits).toBeLessThan(error.required_credits)
      expect(await shown(sub)).toMatchObject({
        spent_usd: 0.00182,
        held_usd: 0,
        remaining_usd: 0.00018,
      })
      expect((await server.post('/v1/chat/completions', chat({ max_tokens: 90 }))).status).toBe(200)
      expect(await shown(sub)).toMatchObject({ spent_usd: 0.00182 })
      const two = await server.fetch(
        new Request('http://turnpike.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'x-sub-wallet': `${sub}, ${sub}` },
        }),
      )
      expect(two.status).toBe(400)
    })

    test('are never overspent by parallel calls of several keys, named or bound', async () => {
      server.answerWith(async () => {
        await Bun.sleep(Math.random() * 20)
        return completion('x', { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 })
      })
      const maker = await server.newKey({}, { canManage: true })
      const sub = await make(0.02, maker.token)
      const below = { parentId: maker.id }
      const keys = [
        maker,
        await server.newKey({}, below),
        await server.newKey({}, { ...below, subWallet: sub }),
      ]
      const answers = await Promise.all(
        Array.from({ length: 90 }, (_, index) => call(sub, { max_tokens: 90 }, keys[index % 3]?.token)),
      )
      const charged = answers.filter(({ status }) => status === 200).length
      // A call that waited in vain while others held the money is told to come back.
      expect(answers.filter(({ status }) => ![200, 402, 429].includes(status))).toEqual([])
      // 0.02 USD has room for 21 answers; holds are larger than charges, so in parallel a few fewer may fit.
      expect(charged).toBeGreaterThan(10)
      expect(charged).toBeLessThanOrEqual(21)
      const { spent_usd, held_usd } = await shown(sub, maker.token)
      expect([spent_usd, held_usd]).toEqual([charged * 0.00091, 0].map((usd) => Number(usd.toFixed(9))))
      expect(await brokenLaws(server.store)).toEqual([])
    })

    test('that were deleted refuse calls that name them, and keys that are bound to them', async () => {
      server.answerWith(() => completion('x'))
      const sub = await make(1)
      const bound = await server.newKey({}, { subWallet: sub })
      expect((await call(sub)).status).toBe(200)
      expect((await server.post('/v1/chat/completions', chat(), {}, bound.token)).status).toBe(200)
      await server.send('DELETE', `${path}/${sub}`)
      const refused = await call(sub)
      expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([404, 'not_found'])
      const left = await server.post('/v1/chat/completions', chat(), {}, bound.token)
      const { error } = await jsonOf(left)
      expect([left.status, error.limit]).toEqual([402, 'sub_wallet'])
      // Nobody can raise what is not there any more.
      expect(error.message).toContain('or make another key if the sub-wallet was deleted')
    })

    test('that are lowered end a running stream at what it holds', async () => {
      const events = streamEvents(
        Array.from({ length: 6_000 }, () => 'x '),
        null,
      )
      const sub = await make(1)
      const lower = () => server.send('PATCH', `${path}/${sub}`, { budget_usd: 0.001 })
      server.answerWith(() => pausedStream(events, 1_000, lower))
      const text = await (await call(sub, { stream: true })).text()
      expect(eventsOf(text).at(-1)).toBe('[DONE]')
      expect(text.includes('"finish_reason":"length"')).toBe(true)
      const delivered = text.split('"content":"x "').length - 1
      expect(delivered).toBeGreaterThan(3_000)
      expect(delivered).toBeLessThanOrEqual(4_096)
      const { spent_usd, held_usd, remaining_usd } = await shown(sub)
      expect([held_usd, remaining_usd]).toEqual([0, 0])
      expect(spent_usd).toBeLessThan(0.05)
      expect((await call(sub)).status).toBe(402)
    })
  })
