/** A rotation changes the value of a key, never how much may be spent or what it manages. On both engines. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { CENT } from '../store/world.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

type Made = { id: string; key: string }

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    beforeAll(async () => {
      it = await startConsoleOn(engine)
      owner = await it.visit('owner@example.com', 'owner')
      // A cent: 1 000 tokens at ten dollars a million, and none that were asked with.
      it.answerWith(() =>
        completion('x', { prompt_tokens: 0, completion_tokens: 1_000, total_tokens: 1_000 }),
      )
    })
    afterAll(async () => {
      const broken = await brokenLaws(it.store)
      await it.stop()
      expect(broken).toEqual([])
    })

    const make = async (body: object): Promise<Made> => jsonOf(await owner.ask('POST', '/keys', body))
    const rotate = async ({
      id,
    }: Made): Promise<Made & { spent_usd: string; status: string; sub_wallet: string | null }> => {
      const response = await owner.ask('POST', `/keys/${id}/rotate`)
      expect(response.status).toBe(201)
      return jsonOf(response)
    }
    const call = (token: string) => it.post('/v1/chat/completions', chat({ max_tokens: 1_000 }), {}, token)
    const statusOf = async (token: string) => (await call(token)).status
    const usage = async (token: string) =>
      (await jsonOf(await it.get('/v1/key/wholesale/me/usage', token))).data

    for (const cap of ['spend_cap_usd', 'monthly_cap_usd', 'weekly_cap_usd', 'daily_cap_usd'])
      test(`what the old value spent counts against ${cap} of the new one`, async () => {
        const old = await make({ label: 'capped', [cap]: 0.035 })
        expect([await statusOf(old.key), await statusOf(old.key)]).toEqual([200, 200])
        const next = await rotate(old)
        expect(Number(next.spent_usd)).toBe(0.02)
        expect((await usage(next.key)).spent_usd).toBe(0.02)
        expect(await statusOf(next.key)).toBe(200)
        const refused = await call(next.key)
        expect([refused.status, (await jsonOf(refused)).error.limit]).toEqual([402, cap])
        expect(await statusOf(old.key)).toBe(402)
      })

    test('both values together, and those of further rotations, stay within the cap', async () => {
      const before = await it.balance()
      const old = await make({ label: 'together', monthly_cap_usd: 0.065 })
      expect(await statusOf(old.key)).toBe(200)
      const values = [old, await rotate(old), await rotate(old)]
      values.push(await rotate(values[1] as Made))
      const statuses = await Promise.all(
        Array.from({ length: 24 }, (_, n) => statusOf(values[n % values.length]?.key ?? '')),
      )
      expect(statuses.filter((status) => status === 200)).toHaveLength(5)
      expect(before - (await it.balance())).toBe(6n * CENT)
    })

    test('new limits of the new value bind the old one too, and what is below it', async () => {
      const old = await make({ label: 'raised', monthly_cap_usd: 0.015, can_manage: true })
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'below' }, old.key),
      )
      expect(await statusOf(below.key)).toBe(200)
      const next = await rotate(old)
      expect(await statusOf(below.key)).toBe(402)
      await owner.ask('DELETE', `/keys/${old.id}`)
      await owner.ask('PUT', `/keys/${next.id}`, { monthly_cap_usd: 0.025 })
      expect([await statusOf(below.key), await statusOf(next.key)]).toEqual([200, 402])
      expect((await usage(next.key)).spent_usd).toBe(0.02)
    })

    test('limits of the old value bind no longer as the new one had them, once that was deleted', async () => {
      const old = await make({ label: 'taken back', spend_cap_usd: 0.015 })
      const next = await rotate(old)
      const last = await rotate(next)
      expect(await statusOf(old.key)).toBe(200)
      const raise = (of: Made, to: number) => owner.ask('PUT', `/keys/${of.id}`, { spend_cap_usd: to })
      await owner.ask('DELETE', `/keys/${next.id}`)
      // One that took its place still stands, and what it may spend binds both.
      await raise(old, 1)
      expect(await statusOf(old.key)).toBe(402)
      await owner.ask('DELETE', `/keys/${last.id}`)
      await raise(old, 0.025)
      expect([await statusOf(old.key), await statusOf(old.key)]).toEqual([200, 402])
    })

    test('a key is rotated after the one that made it was, and was deleted', async () => {
      const old = await make({ label: 'maker', can_manage: true })
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'made', spend_cap_usd: 0.025 }, old.key),
      )
      const next = await rotate(old)
      await owner.ask('DELETE', `/keys/${old.id}`)
      expect(await statusOf(below.key)).toBe(200)
      const made = await rotate(below)
      expect([await statusOf(made.key), await statusOf(below.key)]).toEqual([200, 402])
      const { data: me } = await jsonOf(await it.get('/v1/key/wholesale/me', made.key))
      expect(me.parent).toBe(old.id)
      const { data: listed } = await jsonOf(await it.get('/v1/key/wholesale', next.key))
      expect(listed.map(({ id }: Made) => id)).toEqual([made.id, below.id])
    })

    test('a key whose limits are above those of its maker by now is rotated as it is', async () => {
      const maker = await make({ label: 'lowered', can_manage: true })
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'below', spend_cap_usd: 5 }, maker.key),
      )
      await owner.ask('PUT', `/keys/${maker.id}`, { spend_cap_usd: 0.015 })
      const made = await rotate(below)
      expect([await statusOf(made.key), await statusOf(below.key)]).toEqual([200, 402])
    })

    test('the new value manages what the old one managed, and the old one goes on', async () => {
      const old = await make({ label: 'reseller', can_manage: true })
      const child = async (token: string, label: string): Promise<Made> =>
        (await jsonOf(await it.send('POST', '/v1/key/wholesale', { label }, token))).data
      const first = await child(old.key, 'first')
      const next = await rotate(old)
      const [byOld, byNew] = [await child(old.key, 'by the old one'), await child(next.key, 'by the new one')]
      const limits = (of: Made, rpm: number, token: string) =>
        it.send('PUT', `/v1/key/wholesale/${of.id}/limits`, { rpm_limit: rpm }, token)
      for (const tenant of [first, byOld]) {
        expect((await limits(tenant, 7, next.key)).status).toBe(200)
        expect((await limits(tenant, 8, old.key)).status).toBe(200)
      }
      expect((await limits(byNew, 7, next.key)).status).toBe(200)
      // The old value has no power over the new one, nor over what that one made.
      expect((await limits(byNew, 9, old.key)).status).toBe(404)
      expect((await limits(next, 9, old.key)).status).toBe(404)
      const { data: listed } = await jsonOf(await it.get('/v1/key/wholesale', next.key))
      expect(listed.map(({ id, parent }: { id: string; parent: string | null }) => [id, parent])).toEqual([
        [byNew.id, next.id],
        [byOld.id, old.id],
        [first.id, old.id],
        [old.id, null],
      ])
      const shown = await jsonOf(await owner.ask('GET', `/keys/${first.id}`))
      expect([shown.parent, shown.tenant]).toEqual([old.id, first.id])
      // The new value can end the old one.
      expect((await it.send('DELETE', `/v1/key/wholesale/${old.id}`, undefined, next.key)).status).toBe(200)
      expect([await statusOf(old.key), await statusOf(first.key)]).toEqual([401, 200])
      expect((await it.send('DELETE', `/v1/key/wholesale/${first.id}`, undefined, next.key)).status).toBe(200)
      expect(await statusOf(first.key)).toBe(401)
    })

    const stateOf = async (token: string) => {
      const { data } = await jsonOf(await it.get('/v1/key/wholesale/me', token))
      return [data.disabled, data.disabled_reason, data.disabled_by]
    }
    const disable = (token: string, disabled: boolean, of = 'me') =>
      it.send('PUT', `/v1/key/wholesale/${of}/limits`, { disabled }, token)

    test('a disabled key gives a disabled one, which is enabled by who could enable the old one', async () => {
      const old = await make({ label: 'off' })
      const limits = (of: Made, disabled: boolean) => owner.ask('PUT', `/keys/${of.id}`, { disabled })
      await limits(old, true)
      const next = await rotate(old)
      expect((await jsonOf(await owner.ask('GET', `/keys/${next.id}`))).status).toBe('disabled')
      expect(await stateOf(next.key)).toEqual([true, 'operator', null])
      expect(await statusOf(next.key)).toBe(403)
      expect((await disable(next.key, false)).status).toBe(403)
      await limits(next, false)
      // A value that leaked stays disabled.
      expect([await statusOf(next.key), await statusOf(old.key)]).toEqual([200, 403])
      await disable(next.key, true)
      const last = await rotate(next)
      expect(await stateOf(last.key)).toEqual([true, 'self', null])
      expect((await disable(last.key, false)).status).toBe(200)
      expect([await statusOf(last.key), await statusOf(next.key)]).toEqual([200, 403])
    })

    test('a key that a cap has disabled gives one that a higher cap enables', async () => {
      for (const cap of ['spend_cap', 'monthly_cap']) {
        const limit = (of: Made, usd: number) => owner.ask('PUT', `/keys/${of.id}`, { [`${cap}_usd`]: usd })
        const old = await make({ label: cap, [`${cap}_usd`]: 0.015 })
        expect(await statusOf(old.key)).toBe(200)
        await limit(old, 0.01)
        expect(await statusOf(old.key)).toBe(402)
        const next = await rotate(old)
        expect([next.status, await statusOf(next.key)]).toEqual([cap, 403])
        await limit(next, 0.025)
        expect([await statusOf(next.key), await statusOf(old.key)]).toEqual([200, 402])
      }
    })

    test('a key that is disabled with the one above it gives one that is enabled with that one', async () => {
      const maker = await make({ label: 'maker', can_manage: true })
      const child = async (token: string): Promise<Made> =>
        (await jsonOf(await it.send('POST', '/v1/key/wholesale', { label: 'below' }, token))).data
      const [below, ended] = [await child(maker.key), await child(maker.key)]
      await disable(ended.key, true)
      const all = (disabled: boolean) =>
        it.gateway.book.changeKey(
          maker.id,
          {
            disabledReason: disabled ? 'operator' : null,
            withChildren: true,
            byCreator: true,
          },
          byTest,
        )
      await all(true)
      const [next, last] = [await rotate(below), await rotate(ended)]
      for (const { key } of [next, last]) {
        expect(await stateOf(key)).toEqual([true, 'operator', maker.id])
        expect(await statusOf(key)).toBe(403)
      }
      await all(false)
      expect([await statusOf(next.key), await statusOf(below.key)]).toEqual([200, 200])
      for (const { key } of [last, ended]) expect(await stateOf(key)).toEqual([true, 'self', null])
    })

    test('a key that is rotated while it is deleted with the one above it gives none that lives', async () => {
      for (let round = 0; round < 8; round++) {
        const maker = await make({ label: 'maker', can_manage: true })
        const { data: below } = await jsonOf(
          await it.send('POST', '/v1/key/wholesale', { label: 'below' }, maker.key),
        )
        const [rotated] = await Promise.all([
          owner.ask('POST', `/keys/${below.id}/rotate`),
          owner.ask('DELETE', `/keys/${maker.id}?with_children=true`),
        ])
        if (rotated.status === 404) continue
        expect(await statusOf((await jsonOf(rotated)).key)).toBe(401)
      }
    })

    test('a key of a sub-wallet that was deleted is rotated: both values spend nothing', async () => {
      const sub = await jsonOf(await it.send('POST', '/api/wallet/sub-wallets', { budget_usd: 1 }))
      const old = await make({ label: 'team', sub_wallet: sub.id })
      expect(await statusOf(old.key)).toBe(200)
      await it.send('DELETE', `/api/wallet/sub-wallets/${sub.id}`)
      expect(await statusOf(old.key)).toBe(402)
      const next = await rotate(old)
      expect([next.sub_wallet, await statusOf(next.key), await statusOf(old.key)]).toEqual([sub.id, 402, 402])
      expect((await usage(next.key)).spent_usd).toBe(0.01)
      expect((await owner.ask('POST', '/keys', { label: 'new', sub_wallet: sub.id })).status).toBe(404)
    })

    test('the page of a key counts all keys below it', async () => {
      const { id } = await make({ label: 'many', can_manage: true })
      // PostgreSQL would take long to make so many.
      const many = engine.name === 'PostgreSQL' ? 30 : 1_005
      const walletId = (await it.store.keys.key(id))?.walletId ?? ''
      const named = { orgId: 'org_test', walletId, label: 'below', prefix: 'sk-', limits: {} }
      for (let at = 0; at < many; at++)
        await it.store.keys.createKey(
          { ...named, id: `many_${at}`, hash: `many ${at}`, parentId: id },
          byTest,
        )
      await owner.ask('DELETE', '/keys/many_7')
      expect((await jsonOf(await owner.ask('GET', `/keys/${id}`))).keys_below).toBe(many - 1)
    })

    test('the first key of an account keeps its rights on both values', async () => {
      const old = await make({ label: 'account', can_manage: true })
      const next = await rotate(old)
      for (const { key } of [old, next]) {
        expect((await it.send('PUT', '/api/wallet/rules', { daily_limit_usd: 500 }, key)).status).toBe(200)
        const { data: me } = await jsonOf(await it.get('/v1/key/wholesale/me', key))
        expect(me.parent).toBe(null)
      }
    })
  })
