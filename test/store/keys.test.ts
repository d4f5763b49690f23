/** Keys in the store: which of them manage their wallet, and that none escapes a change of all keys below a key. */

import { describe, expect, test } from 'bun:test'
import type { NewKey } from '../../src/store/accounts/tenancy-port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { brokenLaws, engines } from './engines.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

const key = (id: string, more: Partial<NewKey> = {}): NewKey => ({
  id,
  hash: `hash of ${id}`,
  orgId: 'o',
  walletId: 'w',
  label: id,
  prefix: id,
  limits: {},
  ...more,
})

for (const kind of engines)
  describe(`keys on ${kind.name}`, () => {
    test('the first key of a wallet manages it, the others where it was said', async () => {
      const database = await kind.fresh()
      const store = await openTestStore(database)
      await createOneKey(store)
      const manages = async (id: string, more: Partial<NewKey> = {}) =>
        (await store.keys.createKey(key(id, more), byTest)).canManage
      expect((await store.keys.key('k'))?.canManage).toBe(true)
      expect([await manages('a'), await manages('b', { canManage: true })]).toEqual([false, true])
      expect([
        await manages('c', { parentId: 'k' }),
        await manages('d', { parentId: 'k', canManage: true }),
      ]).toEqual([false, true])
      await store.wallets.createWallet({ id: 'w2', orgId: 'o', name: 'w2' }, byTest)
      expect(await manages('e', { walletId: 'w2', trialUntil: 5 })).toBe(false)
      expect(await manages('f', { walletId: 'w2', canManage: false })).toBe(false)
      expect(await manages('g', { walletId: 'w2' })).toBe(false)
      await store.wallets.createWallet({ id: 'w3', orgId: 'o', name: 'w3' }, byTest)
      const atOnce = await Promise.all(['h', 'i', 'j', 'l'].map((id) => manages(id, { walletId: 'w3' })))
      expect(atOnce.filter((first) => first)).toHaveLength(1)
      await store.close()
      await database.stop()
    })

    test('a call that one value opened and the other ended is charged once, and its detail is right', async () => {
      const database = await kind.fresh()
      const store = await openTestStore(database)
      await createOneKey(store)
      await store.keys.createKey(key('new', { replaces: 'k' }), byTest)
      const lend = async (keyId: string) => {
        const ask = { instance: keyId, keyId, leaseId: keyId, need: CENT, want: CENT, useful: 1n }
        expect((await store.ledger.lend({ ...ask, ttlMs: 60_000 })).outcome).toBe('lent')
      }
      await lend('k')
      await lend('new')
      await store.ledger.commit(batchOf('k', { intents: [{ callId: 'c', leaseId: 'k', hold: 100n }] }))
      const settle = { callId: 'c', payer: 'w', charge: 70n, excess: 0n }
      const attempt = (keyId: string) =>
        store.ledger.commit(
          batchOf(keyId, { settles: [{ ...settle, leaseId: keyId, detail: detailFor(keyId) }] }),
        )
      for (const value of ['new', 'k']) expect((await attempt(value)).settled.has('c')).toBe(true)
      expect((await store.wallets.wallet('w'))?.balance).toBe(100n * CENT - 70n)
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await database.stop()
    })

    test('are listed to the last, by pages, by what is below and by what people type', async () => {
      const database = await kind.fresh()
      const store = await openTestStore(database)
      await createOneKey(store)
      const ids = Array.from({ length: 12 }, (_, at) => `key_${String(at).padStart(2, '0')}`)
      for (const id of ids)
        await store.keys.createKey(key(id, { parentId: 'k', prefix: `sk-${id.slice(-2)}` }), byTest)
      await store.keys.createKey(key('deep', { parentId: 'key_03' }), byTest)
      const listed = async (query: Parameters<typeof store.keys.list>[0]) =>
        (await store.keys.list(query)).map(({ id }) => id)
      const all = await listed({})
      expect(all.toSorted()).toEqual([...ids, 'deep', 'k'].toSorted())
      const pages: string[] = []
      for (let page = await listed({ most: 5 }); page.length > 0; ) {
        pages.push(...page)
        page = await listed({ most: 5, after: page.at(-1) ?? '' })
      }
      expect(pages).toEqual(all)
      expect(await listed({ below: 'key_03' })).toEqual(['deep'])
      expect(await listed({ below: 'k' })).toEqual(all.filter((id) => id !== 'k'))
      expect([await store.keys.countBelow('k'), await store.keys.countBelow('key_03')]).toEqual([13, 1])
      expect(await listed({ named: 'sk-1' })).toEqual(all.filter((id) => id.startsWith('key_1')))
      expect(await listed({ named: 'sk-07andmore' })).toEqual(['key_07'])
      expect(await listed({ named: '%' })).toEqual([])
      await store.keys.deleteKey('deep', false, byTest)
      expect([await listed({ below: 'key_03' }), await listed({ below: 'key_03', deleted: true })]).toEqual([
        [],
        ['deep'],
      ])
      expect([await store.keys.countBelow('k'), await store.keys.countBelow('key_03')]).toEqual([12, 0])
      await store.close()
      await database.stop()
    })

    test('that are made while all below a key are disabled or deleted share its fate', async () => {
      const database = await kind.fresh()
      const store = await openTestStore(database)
      // One process cannot wait for its own lock on a file.
      const second = kind.name === 'PostgreSQL' ? await openTestStore(database) : store
      await createOneKey(store)
      for (let round = 0; round < 8; round++) {
        const top = `top${round}`
        await store.keys.createKey(key(top, { canManage: true }), byTest)
        await store.keys.createKey(key(`${top} middle`, { parentId: top, canManage: true }), byTest)
        const make = (at: number) =>
          [store, second][at % 2]!.keys.createChild(
            {
              ...key(`${top} leaf ${at}`),
              parentId: at % 3 === 0 ? top : `${top} middle`,
            },
            byTest,
          )
        const end =
          round % 2 === 0
            ? second.keys.deleteKey(top, true, byTest)
            : second.keys.changeKey(
                top,
                { disabledReason: 'operator', withChildren: true, byCreator: true },
                byTest,
              )
        const made = await Promise.all([
          make(0),
          make(1),
          make(2),
          end.then(() => undefined),
          make(3),
          make(4),
        ])
        const living = await store.keys.list({ below: top })
        if (round % 2 === 0) expect(living).toEqual([])
        else expect(living.map(({ disabledReason }) => disabledReason)).toEqual(living.map(() => 'operator'))
        const after = await Promise.all([make(5), make(6)])
        expect(after).toEqual([undefined, undefined])
        const there = await store.keys.list({ below: top, deleted: true })
        expect(there).toHaveLength(1 + made.filter((one) => one !== undefined).length)
      }
      expect(await brokenLaws(store)).toEqual([])
      if (second !== store) await second.close()
      await store.close()
      await database.stop()
    })

    test('that are revoked with all below leave a process that sleeps no lease to open a call on', async () => {
      const database = await kind.fresh()
      const store = await openTestStore(database)
      await createOneKey(store)
      await store.keys.createKey(key('leaf', { parentId: 'k' }), byTest)
      const ends = {
        disabled: () =>
          store.keys.changeKey(
            'k',
            { disabledReason: 'operator', withChildren: true, byCreator: true },
            byTest,
          ),
        deleted: () => store.keys.deleteKey('k', true, byTest),
      }
      for (const [name, end] of Object.entries(ends)) {
        const ask = { instance: 'asleep', keyId: 'leaf', need: CENT, want: CENT, useful: 1n, ttlMs: 60_000 }
        const loan = await store.ledger.lend({ ...ask, leaseId: `asleep:${name}` })
        if (loan.outcome !== 'lent') throw new Error(loan.outcome)
        await end()
        const intent = { callId: name, leaseId: loan.leaseId, hold: 100n }
        expect((await store.ledger.commit(batchOf('asleep', { intents: [intent] }))).opened.size).toBe(0)
        const short = { ...intent, callId: `${name} and charged` }
        const { callId, leaseId } = short
        const charge = { callId, leaseId, payer: 'w', charge: 100n, excess: 0n, detail: detailFor('leaf') }
        const both = await store.ledger.commit(batchOf('asleep', { intents: [short], settles: [charge] }))
        expect(both.opened.size).toBe(0)
        await store.keys.changeKey('k', { disabledReason: null, withChildren: true, byCreator: true }, byTest)
      }
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await database.stop()
    })
  })
