/**
 * Who may govern: the flag of a key, what the key of a disabled reseller may still do, and that no other caller gets
 * through.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const KEYS = '/v1/key/wholesale'
const RULES = '/api/wallet/rules'
const SUBS = '/api/wallet/sub-wallets'

for (const engine of serverEngines)
  describe(`rights on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      const models = [
        testModel('small'),
        testModel('smalll', { cheaper: { tier: 'flex', price: testModel('small').price } }),
        testModel('large'),
      ]
      server = await startTestServer({ url: database.url, models, options: { planRpm: 60 } })
      server.answerWith(() => completion('x'))
    })
    afterAll(() => stopSound(server, database))

    type Made = { readonly id: string; readonly token: string }
    const put = (by: Made | undefined, whose: Made | 'me', body: object) =>
      server.send('PUT', `${KEYS}/${whose === 'me' ? 'me' : whose.id}/limits`, body, by?.token)
    const rules = (body: object, by?: Made) => server.send('PUT', RULES, body, by?.token)
    const call = (key: Made, model = 'mock/small') =>
      server.post('/v1/chat/completions', chat({ model, max_tokens: 5 }), {}, key.token)
    const errorOf = async (answer: Response) => [answer.status, (await jsonOf(answer)).error.code]
    const messageOf = async (answer: Response): Promise<string> => {
      // Helper endpoints give their message beside the stable string.
      const body = await jsonOf(answer)
      return body.error.message ?? body.message
    }

    /** What only a governing key may do, and other keys may try. */
    const attempts = (key: Made) => ({
      rules: () => rules({ daily_limit_usd: 1_000 }, key),
      subWallet: () => server.send('POST', SUBS, { budget_usd: 1 }, key.token),
      child: () => server.post(KEYS, { label: 'child' }, {}, key.token),
    })
    const tried = async (key: Made) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(attempts(key)).map(async ([name, attempt]) => [name, (await attempt()).status]),
        ),
      )

    test('the first key of a wallet governs it; others only where it was said, and children only what is below them', async () => {
      expect((await rules({ daily_limit_usd: 50 })).status).toBe(200)
      const plain = await server.newKey()
      expect(await tried(plain)).toEqual({ rules: 403, subWallet: 403, child: 403 })
      const child = await server.newKey({}, { parentId: plain.id })
      expect(await tried(child)).toEqual({ rules: 403, subWallet: 403, child: 403 })
      const managing = await server.newKey({}, { parentId: plain.id, canManage: true })
      expect(await tried(managing)).toEqual({ rules: 403, subWallet: 201, child: 201 })
      // After all that the operator's limit is unchanged.
      expect((await jsonOf(await server.get(RULES))).daily_limit_usd).toBe(50)
      const admin = await server.newKey({}, { canManage: true })
      expect(await tried(admin)).toEqual({ rules: 200, subWallet: 201, child: 201 })
      await rules({ daily_limit_usd: null })
      const trial = await server.newKey({}, { trialUntil: Date.now() + 60_000, canManage: true })
      expect(await tried(trial)).toEqual({ rules: 403, subWallet: 403, child: 403 })
    })

    test('what the refusal advises is what works', async () => {
      const top = await server.newKey({}, { canManage: true })
      const child = await server.newKey({}, { parentId: top.id })
      const refused = await messageOf(await server.post(KEYS, { label: 'x' }, {}, child.token))
      expect(refused).toContain(`PUT /v1/key/wholesale/${child.id}/limits with {"can_manage": true}`)
      expect(await errorOf(await put(child, 'me', { can_manage: true }))).toEqual([403, 'forbidden'])
      expect((await put(top, child, { can_manage: true })).status).toBe(200)
      expect((await server.post(KEYS, { label: 'x' }, {}, child.token)).status).toBe(201)
      expect((await put(child, 'me', { can_manage: false })).status).toBe(200)
      expect((await server.post(KEYS, { label: 'x' }, {}, child.token)).status).toBe(403)
      const plain = await server.newKey()
      expect(await messageOf(await rules({}, plain))).toContain(
        `turnpike key limits ${plain.id} --can-manage on`,
      )
    })

    test('a refusal says who disabled the key: itself, a key above it, or the operator; it lifts only its own block', async () => {
      const top = await server.newKey({}, { canManage: true })
      const middle = await server.newKey({}, { parentId: top.id, canManage: true })
      const leaf = await server.newKey({}, { parentId: middle.id })
      const reasonOf = async (key: Made) => (await jsonOf(await call(key))).error?.reason
      const reasons = async () => [await reasonOf(top), await reasonOf(middle), await reasonOf(leaf)]
      const shownOf = async (key: Made) =>
        (await jsonOf(await server.get(`${KEYS}/me`, key.token))).data.disabled_reason
      await put(leaf, 'me', { disabled: true })
      expect(await reasons()).toEqual([undefined, undefined, 'self'])
      await put(middle, leaf, { disabled: true })
      expect(await reasons()).toEqual([undefined, undefined, 'reseller'])
      expect(await shownOf(leaf)).toBe('reseller')
      expect((await put(leaf, 'me', { disabled: false })).status).toBe(403)
      expect((await put(top, middle, { disabled: true, with_children: true })).status).toBe(200)
      expect(await reasons()).toEqual([undefined, 'reseller', 'reseller'])
      expect((await put(middle, 'me', { disabled: false, with_children: true })).status).toBe(403)
      // The leaf was off before, by the middle one, and stays off.
      expect((await put(top, middle, { disabled: false, with_children: true })).status).toBe(200)
      expect(await reasons()).toEqual([undefined, undefined, 'reseller'])
      expect((await put(middle, leaf, { disabled: false })).status).toBe(200)
      expect((await put(top, middle, { disabled: true, with_children: true })).status).toBe(200)
      expect(await reasons()).toEqual([undefined, 'reseller', 'reseller'])
      expect((await put(top, middle, { disabled: false, with_children: true })).status).toBe(200)
      expect(await reasons()).toEqual([undefined, undefined, undefined])
      const off = (disabledReason: 'operator' | null) => ({
        disabledReason,
        byCreator: true,
        withChildren: true,
      })
      await server.gateway.book.changeKey(middle.id, off('operator'), byTest)
      expect(await reasons()).toEqual([undefined, 'operator', 'operator'])
      expect((await put(middle, 'me', { disabled: false })).status).toBe(403)
      await server.gateway.book.changeKey(middle.id, off(null), byTest)
      expect(await reasons()).toEqual([undefined, undefined, undefined])
    })

    test('a key of a trial that is disabled cannot enable itself', async () => {
      const trial = await server.newKey({}, { trialUntil: Date.now() + 600_000 })
      await server.gateway.book.changeKey(trial.id, { disabledReason: 'operator', byCreator: true }, byTest)
      expect((await put(trial, 'me', { disabled: false })).status).toBe(403)
      expect((await jsonOf(await call(trial))).error.reason).toBe('operator')
    })

    test('a key that was switched off, or may not manage, changes nothing below it', async () => {
      const reseller = await server.newKey({}, { canManage: true })
      const child = await server.newKey({}, { parentId: reseller.id })
      await server.gateway.book.changeKey(
        reseller.id,
        { disabledReason: 'operator', byCreator: true },
        byTest,
      )
      expect(await errorOf(await put(reseller, child, { disabled: true }))).toEqual([403, 'key_disabled'])
      expect(await errorOf(await put(reseller, 'me', { disabled: true, with_children: true }))).toEqual([
        403,
        'key_disabled',
      ])
      const gone = await server.send('DELETE', `${KEYS}/${child.id}`, undefined, reseller.token)
      expect(await errorOf(gone)).toEqual([403, 'key_disabled'])
      expect(await errorOf(await server.post(KEYS, { label: 'x' }, {}, reseller.token))).toEqual([
        403,
        'key_disabled',
      ])
      expect((await call(child)).status).toBe(200)
      await server.gateway.book.changeKey(
        reseller.id,
        {
          disabledReason: null,
          canManage: false,
          byCreator: true,
        },
        byTest,
      )
      for (const body of [{ disabled: true }, { spend_cap_usd: 5 }, { can_manage: true }])
        expect(await errorOf(await put(reseller, child, body))).toEqual([403, 'forbidden'])
      expect((await server.send('DELETE', `${KEYS}/${child.id}`, undefined, reseller.token)).status).toBe(403)
      expect((await call(child)).status).toBe(200)
    })

    test('a key takes those below along when it is disabled, and brings back what it took and no more', async () => {
      const top = await server.newKey({}, { canManage: true })
      const below = (maker: Made) => server.newKey({}, { parentId: maker.id, canManage: true })
      const [middle, off, revoked] = [await below(top), await below(top), await below(top)]
      const leaf = await below(middle)
      await put(off, 'me', { disabled: true })
      await put(top, revoked, { disabled: true })
      const states = async () =>
        Promise.all([top, middle, leaf, off, revoked].map(async (key) => (await call(key)).status))
      expect(await states()).toEqual([200, 200, 200, 403, 403])
      expect((await put(top, 'me', { disabled: true, with_children: true })).status).toBe(200)
      expect(await states()).toEqual([403, 403, 403, 403, 403])
      const shown = (await jsonOf(await server.get(`${KEYS}/me`, leaf.token))).data
      expect(shown).toMatchObject({ disabled: true, disabled_reason: 'reseller', disabled_by: top.id })
      for (const key of [middle, off]) expect((await put(key, 'me', { disabled: false })).status).toBe(403)
      // What a key sets for itself meanwhile holds when it comes back.
      expect((await put(leaf, 'me', { disabled: true })).status).toBe(200)
      expect((await put(top, 'me', { disabled: false })).status).toBe(200)
      expect(await states()).toEqual([200, 403, 403, 403, 403])
      expect((await put(top, 'me', { disabled: false, with_children: true })).status).toBe(200)
      expect(await states()).toEqual([200, 200, 403, 403, 403])
      for (const key of [leaf, off]) expect((await put(key, 'me', { disabled: false })).status).toBe(200)
      expect(await states()).toEqual([200, 200, 200, 200, 403])
      expect((await put(top, 'me', { with_children: true })).status).toBe(400)
      const plain = await server.newKey()
      expect(await errorOf(await put(plain, 'me', { disabled: true, with_children: true }))).toEqual([
        403,
        'forbidden',
      ])
    })

    test('a deleted key leaves those below it working, unless it takes them along; none deletes itself', async () => {
      const top = await server.newKey({}, { canManage: true })
      const middle = await server.newKey({}, { parentId: top.id, canManage: true })
      const leaf = await server.newKey({}, { parentId: middle.id })
      const remove = (by: Made, whose: string) =>
        server.send('DELETE', `${KEYS}/${whose}`, undefined, by.token)
      expect(await errorOf(await remove(top, 'me'))).toEqual([403, 'forbidden'])
      expect(await errorOf(await remove(leaf, top.id))).toEqual([403, 'forbidden'])
      expect(await errorOf(await remove(middle, top.id))).toEqual([404, 'not_found'])
      expect((await remove(top, middle.id)).status).toBe(200)
      expect(await errorOf(await call(middle))).toEqual([401, 'invalid_api_key'])
      expect((await call(leaf)).status).toBe(200)
      expect((await put(top, leaf, { spend_cap_usd: 1 })).status).toBe(200)
      expect(await errorOf(await remove(top, middle.id))).toEqual([404, 'not_found'])
    })

    test('raises that are refused name who set the limit, and the plan where nobody did', async () => {
      const top = await server.newKey({}, { canManage: true })
      const free = await server.newKey({}, { parentId: top.id })
      const refused = await messageOf(await put(free, 'me', { rpm_limit: 61 }))
      expect(refused).toContain('at most 60, the rate of the plan')
      expect(refused).not.toContain('creator')
      expect((await put(free, 'me', { rpm_limit: 60 })).status).toBe(200)
      const capped = await server.newKey({ spendCap: 5_000_000_000n }, { parentId: top.id })
      expect(await messageOf(await put(capped, 'me', { spend_cap_usd: 6 }))).toContain(
        'was set to 5 by the key',
      )
    })

    test('a key that is off by its cap is advised to raise it only where it may', async () => {
      const said = async (key: Made) => messageOf(await call(key))
      const granted = await server.newKey({ spendCap: 1n })
      await call(granted)
      expect(await said(granted)).toContain('only they can raise it')
      expect((await put(granted, 'me', { spend_cap_usd: 1 })).status).toBe(403)
      const own = await server.newKey()
      await put(own, 'me', { spend_cap_usd: 0.000000001 })
      await call(own)
      expect(await said(own)).toContain('PUT /v1/key/wholesale/me/limits raises spend_cap_usd.')
      expect((await put(own, 'me', { spend_cap_usd: 1 })).status).toBe(200)
      expect((await call(own)).status).toBe(200)
    })

    test('a key below one that is bound to a sub-wallet is bound to it as well', async () => {
      const sub = (await jsonOf(await server.send('POST', SUBS, { budget_usd: 1 }))).id
      const free = (await jsonOf(await server.send('POST', SUBS, { budget_usd: 1 }))).id
      const bound = await server.newKey({}, { subWallet: sub, canManage: true })
      const made = await jsonOf(await server.post(KEYS, { label: 'x' }, {}, bound.token))
      expect(made.data.sub_wallet).toBe(sub)
      const other = await server.post(KEYS, { label: 'x', sub_wallet: free }, {}, bound.token)
      expect(await errorOf(other)).toEqual([404, 'not_found'])
    })

    test('a tenant that may make sub-wallets does not use up those of its reseller', async () => {
      const top = await server.newKey({}, { canManage: true })
      const child = await server.newKey({ rpm: 1_000 }, { parentId: top.id, canManage: true })
      const make = async ({ token }: Made) =>
        (await server.send('POST', SUBS, { budget_usd: 1 }, token)).status
      const statuses: number[] = []
      for (let count = 0; count < 102; count++) statuses.push(await make(child))
      expect(statuses).toEqual([...Array(100).fill(201), 403, 403])
      expect(await make(top)).toBe(201)
      const sibling = await server.newKey({}, { parentId: top.id, canManage: true })
      expect(await make(sibling)).toBe(201)
    })

    test('a key that is bound to a part of the wallet does not see the bill of the whole', async () => {
      const sub = (await jsonOf(await server.send('POST', SUBS, { budget_usd: 1 }))).id
      const bound = await server.newKey({}, { subWallet: sub })
      expect(await errorOf(await server.get('/api/billing', bound.token))).toEqual([403, 'forbidden'])
      expect((await server.get('/api/billing')).status).toBe(200)
    })

    test("only the account's own keys review for it", async () => {
      const top = await server.newKey()
      const child = await server.newKey({}, { parentId: top.id })
      const review = (by: Made, rating: number) =>
        server.post('/api/reviews', { skill: 'mock/small', rating }, {}, by.token)
      expect((await review(top, 5)).status).toBe(201)
      expect((await review(child, 1)).status).toBe(403)
      expect((await jsonOf(await server.get('/api/reviews?skill=mock/small'))).average).toBe(5)
    })

    test('models are allowed as people name them, and a discounted one follows its model', async () => {
      const [account] = [await server.newKey()]
      expect((await rules({ allowed_models: ['mock/small'] })).status).toBe(200)
      const statuses = async () =>
        Promise.all(
          ['small', 'smalll', 'large'].map(async (name) => (await call(account, `mock/${name}`)).status),
        )
      expect(await statuses()).toEqual([200, 200, 403])
      await rules({ allowed_models: null, blocked_models: ['mock/small'] })
      expect(await statuses()).toEqual([403, 403, 200])
      const wrong = await rules({ allowed_models: ['mock/small', 'mock/smal'], blocked_models: null })
      const body = await jsonOf(wrong)
      expect([wrong.status, body.param]).toEqual([400, 'allowed_models'])
      expect(body.message).toContain("'mock/smal'")
      expect((await jsonOf(await server.get(RULES))).blocked_models).toEqual(['mock/small'])
      await rules({ blocked_models: null })
    })
  })
