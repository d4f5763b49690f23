/**
 * Whom a sub-wallet serves, who may change it, and who binds keys to it: every key of a small family against every
 * sub-wallet of it, by every way to name one.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

const SUBS = '/api/wallet/sub-wallets'
const KEYS = '/v1/key/wholesale'

/** Each key, with the key above it or the one whose place it took. */
const family = {
  maker: {},
  child: { above: 'maker' },
  grandchild: { above: 'child' },
  second: { above: 'maker' },
  sibling: {},
  nephew: { above: 'sibling' },
  rotated: { replaces: 'maker' },
  niece: { above: 'rotated' },
} as const
type Name = keyof typeof family
const names = Object.keys(family).filter((name): name is Name => name in family)

/** By maker: whom the sub-wallet serves, and who governs it. `nobody` is the organisation. */
const rights: Readonly<Record<Name | 'nobody', { serves: readonly Name[]; governs: readonly Name[] }>> = {
  maker: {
    serves: ['maker', 'child', 'grandchild', 'second', 'rotated', 'niece'],
    governs: ['maker', 'rotated'],
  },
  rotated: {
    serves: ['maker', 'child', 'grandchild', 'second', 'rotated', 'niece'],
    governs: ['maker', 'rotated'],
  },
  child: { serves: ['child', 'grandchild'], governs: ['maker', 'rotated', 'child'] },
  grandchild: { serves: ['grandchild'], governs: ['maker', 'rotated', 'child', 'grandchild'] },
  second: { serves: ['second'], governs: ['maker', 'rotated', 'second'] },
  sibling: { serves: ['sibling', 'nephew'], governs: ['sibling'] },
  nephew: { serves: ['nephew'], governs: ['sibling', 'nephew'] },
  niece: { serves: ['niece'], governs: ['maker', 'rotated', 'niece'] },
  nobody: {
    serves: ['maker', 'sibling', 'rotated'],
    governs: ['maker', 'sibling', 'rotated'],
  },
}

for (const engine of serverEngines)
  describe(`rights to sub-wallets on ${engine.name}`, () => {
    type Made = { readonly id: string; readonly token: string }
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    const keys = new Map<Name, Made>()
    const keyOf = (name: Name): Made => {
      const key = keys.get(name)
      if (key === undefined) throw new Error(`no key ${name}`)
      return key
    }

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
      server.answerWith(() => completion('x'))
      for (const name of names) {
        const { above, replaces } = { above: undefined, replaces: undefined, ...family[name] }
        const key = await server.newKey(
          {},
          {
            canManage: true,
            ...(above === undefined ? {} : { parentId: keyOf(above).id }),
            ...(replaces === undefined ? {} : { replaces: keyOf(replaces).id }),
          },
        )
        keys.set(name, key)
      }
    })
    afterAll(() => stopSound(server, database))

    const madeBy = async (name: Name | 'nobody'): Promise<string> => {
      if (name !== 'nobody') {
        const made = await server.send('POST', SUBS, { budget_usd: 1 }, keyOf(name).token)
        expect(made.status).toBe(201)
        return (await jsonOf(made)).id
      }
      const id = `sub_${crypto.randomUUID().replaceAll('-', '')}`
      const walletId = server.wallet
      await server.store.subWallets.createSubWallet(
        { id, walletId, label: 'ours', budget: 1_000_000_000n },
        byTest,
      )
      return id
    }
    const call = ({ token }: Made, sub?: string) =>
      server.post(
        '/v1/chat/completions',
        chat({ max_tokens: 5 }),
        sub === undefined ? {} : { 'x-sub-wallet': sub },
        token,
      )
    const spentIn = async (sub: string): Promise<bigint> =>
      (await server.store.subWallets.subWallet({ walletId: server.wallet }, sub))?.spent ?? -1n
    const bind = (by: Made, whose: string, sub: string | null) =>
      server.send('PUT', `${KEYS}/${whose}/limits`, { sub_wallet: sub }, by.token)
    const of = (serves: readonly Name[], name: Name, yes: number, no: number) =>
      serves.includes(name) ? yes : no

    for (const owner of [...names, 'nobody'] as const)
      test(`one made by ${owner} serves its maker and the keys below it, and nobody else`, async () => {
        const sub = await madeBy(owner)
        const { serves, governs } = rights[owner]
        for (const name of names) {
          const by = keyOf(name)
          const seen = serves.includes(name) || governs.includes(name)
          const before = await spentIn(sub)
          expect([name, 'calls', (await call(by, sub)).status]).toEqual([
            name,
            'calls',
            of(serves, name, 200, 404),
          ])
          expect([name, 'spent', (await spentIn(sub)) > before]).toEqual([
            name,
            'spent',
            serves.includes(name),
          ])
          expect([name, 'sees', (await server.get(`${SUBS}/${sub}`, by.token)).status]).toEqual([
            name,
            'sees',
            seen ? 200 : 404,
          ])
          const listed = (await jsonOf(await server.get(SUBS, by.token))).data
          expect([name, 'lists', listed.some(({ id }: { id: string }) => id === sub)]).toEqual([
            name,
            'lists',
            seen,
          ])
          const child = await server.post(KEYS, { label: 'x', sub_wallet: sub }, {}, by.token)
          expect([name, 'gives', child.status]).toEqual([name, 'gives', of(serves, name, 201, 404)])
          const changed = await server.send('PATCH', `${SUBS}/${sub}`, { budget_usd: 2 }, by.token)
          expect([name, 'changes', changed.status]).toEqual([
            name,
            'changes',
            governs.includes(name) ? 200 : seen ? 403 : 404,
          ])
        }
        for (const name of names.filter((one) => !governs.includes(one)))
          expect((await server.send('DELETE', `${SUBS}/${sub}`, undefined, keyOf(name).token)).status).toBe(
            serves.includes(name) ? 403 : 404,
          )
        const last = keyOf(governs[0] ?? 'maker')
        expect((await server.send('DELETE', `${SUBS}/${sub}`, undefined, last.token)).status).toBe(200)
        for (const name of names) expect((await call(keyOf(name), sub)).status).toBe(404)
      })

    /** Whether a key may be bound by another one: that one is above it, and the sub-wallet serves one of them. */
    const above: Readonly<Record<Name, readonly Name[]>> = {
      maker: ['rotated'],
      child: ['maker', 'rotated'],
      grandchild: ['child', 'maker', 'rotated'],
      second: ['maker', 'rotated'],
      sibling: [],
      nephew: ['sibling'],
      rotated: [],
      niece: ['rotated'],
    }

    for (const owner of ['maker', 'child', 'grandchild', 'sibling', 'nobody'] as const)
      test(`one made by ${owner} is bound to keys that it serves, by the keys above them alone`, async () => {
        const sub = await madeBy(owner)
        const { serves } = rights[owner]
        for (const by of names)
          for (const whose of names) {
            const may = above[whose].includes(by)
            const served = serves.includes(whose) || serves.includes(by)
            const expected = by === whose ? 403 : !may || !served ? 404 : 200
            const bound = await bind(keyOf(by), by === whose ? 'me' : keyOf(whose).id, sub)
            expect([by, whose, bound.status]).toEqual([by, whose, expected])
            if (expected !== 200) continue
            const before = await spentIn(sub)
            expect((await call(keyOf(whose))).status).toBe(200)
            expect([by, whose, (await spentIn(sub)) > before]).toEqual([by, whose, true])
            expect((await bind(keyOf(by), keyOf(whose).id, null)).status).toBe(200)
            const released = await spentIn(sub)
            expect((await call(keyOf(whose))).status).toBe(200)
            expect(await spentIn(sub)).toBe(released)
          }
      })

    test('a binding takes all keys below along, counts on every process at once, and is lifted where it was made', async () => {
      const shared = engine.name === 'PostgreSQL'
      const other = shared ? await startTestServer({ url: database.url }) : server
      try {
        other.answerWith(() => completion('x'))
        const top = await server.newKey({}, { canManage: true })
        const middle = await server.newKey({}, { parentId: top.id, canManage: true })
        const leaf = await server.newKey({}, { parentId: middle.id })
        const make = async (by: Made) =>
          (await jsonOf(await server.send('POST', SUBS, { budget_usd: 1 }, by.token))).id as string
        const [sub, own] = [await make(top), await make(middle)]
        const everywhere = async (key: Made, name?: string) => {
          const headers = name === undefined ? {} : { 'x-sub-wallet': name }
          const body = chat({ max_tokens: 5 })
          const answers = await Promise.all(
            [server, other].map((one) => one.post('/v1/chat/completions', body, headers, key.token)),
          )
          return answers.map(({ status }) => status)
        }
        // Leases of all paths are there before the binding.
        expect(await everywhere(leaf)).toEqual([200, 200])
        expect(await everywhere(leaf, own)).toEqual([200, 200])
        expect((await bind(top, middle.id, sub)).status).toBe(200)
        const [inSub, inOwn] = [await spentIn(sub), await spentIn(own)]
        expect(await everywhere(leaf)).toEqual([200, 200])
        expect(await everywhere(middle)).toEqual([200, 200])
        expect(await everywhere(leaf, own)).toEqual([404, 404])
        const one = (await spentIn(sub)) - inSub
        expect([one > 0n, await spentIn(own)]).toEqual([true, inOwn])
        const shown = (await jsonOf(await server.get(`${KEYS}/me`, leaf.token))).data
        expect(shown.sub_wallet).toBe(sub)
        for (const [by, whose, to, status] of [
          [middle, leaf, null, 403],
          [middle, leaf, own, 403],
          [top, leaf, null, 403],
          [leaf, leaf, null, 403],
          [top, middle, sub, 200],
          [top, middle, null, 200],
        ] as const)
          expect((await bind(by, by === whose ? 'me' : whose.id, to)).status).toBe(status)
        const after = await spentIn(sub)
        expect(await everywhere(leaf)).toEqual([200, 200])
        expect(await everywhere(leaf, own)).toEqual([200, 200])
        expect(await spentIn(sub)).toBe(after)
      } finally {
        if (other !== server) await other.stop()
      }
    })

    test('use is reported by sub-wallet and by payment mode, refunds and deleted details included', async () => {
      await server.store.credit.grantCredit(
        { walletId: server.wallet, limit: 1_000_000_000n, netDays: 14 },
        byTest,
      )
      const top = await server.newKey({}, { canManage: true })
      const child = await server.newKey({}, { parentId: top.id })
      const made = await jsonOf(await server.send('POST', SUBS, { budget_usd: 1, label: 'night' }, top.token))
      const pay = (key: Made, headers: Record<string, string>) =>
        server.post('/v1/chat/completions', chat({ max_tokens: 5 }), headers, key.token)
      const mpp = { 'x-payment-protocol': 'mpp' }
      const answers = [
        await pay(top, {}),
        await pay(child, { 'x-sub-wallet': made.id }),
        await pay(child, { 'x-sub-wallet': made.id, ...mpp }),
        await pay(top, mpp),
        await pay(child, { 'x-sub-wallet': made.id }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
      const refunded = answers[4]?.headers.get('x-request-id') ?? ''
      const [charge] = await server.store.ledger.transfersOf(refunded)
      const amount = charge?.amount ?? 0n
      const { wallet } = server
      await server.store.ledger.post({
        kind: 'refund',
        ref: refunded,
        debit: 'revenue',
        credit: wallet,
        amount,
      })
      const one = Number(amount) / 1e9
      const report = async (by: string, key = top) =>
        (await jsonOf(await server.get(`/v1/usage?group_by=${by}`, key.token))).data
      const rows = async (by: string, key = top) =>
        (await report(by, key)).rows
          .map((row: any) => [
            row.sub_wallet,
            row.sub_wallet_label,
            row.payment_mode,
            row.requests,
            row.cost_usd,
          ])
          .sort()
      const both = [
        [null, null, 'mpp', 1, one],
        [null, null, 'wallet', 1, one],
        [made.id, 'night', 'mpp', 1, one],
        [made.id, 'night', 'wallet', 2, one],
      ].sort()
      expect(await rows('sub_wallet,payment_mode')).toEqual(both)
      expect(await rows('sub_wallet', child)).toEqual([[made.id, 'night', undefined, 3, one * 2]])
      expect(await rows('payment_mode', child)).toEqual([
        [undefined, undefined, 'mpp', 1, one],
        [undefined, undefined, 'wallet', 2, one],
      ])
      expect((await report('sub_wallet,payment_mode')).total.cost_usd).toBe(Number((one * 4).toFixed(9)))
      const wrong = await server.get('/v1/usage?group_by=mode', top.token)
      const { error } = await jsonOf(wrong)
      expect([wrong.status, error.param, error.message]).toEqual([
        400,
        'group_by',
        expect.stringContaining('sub_wallet, payment_mode'),
      ])
    })

    test('what is wrong with a binding is said, and changes nothing', async () => {
      const top = await server.newKey({}, { canManage: true })
      const child = await server.newKey({}, { parentId: top.id })
      for (const [value, status] of [
        [5, 400],
        ['', 404],
        ['sub_nobody', 404],
      ] as const) {
        const body = { sub_wallet: value, spend_cap_usd: 3 }
        const refused = await server.send('PUT', `${KEYS}/${child.id}/limits`, body, top.token)
        expect([value, refused.status, (await jsonOf(refused)).error.param]).toEqual([
          value,
          status,
          'sub_wallet',
        ])
      }
      const now = (await jsonOf(await server.get(`${KEYS}/me`, child.token))).data
      expect([now.sub_wallet, now.spend_cap_usd]).toEqual([null, null])
    })
  })
