/** Kept responses, on every engine: conversations in order, of one key alone, for their time, within their bound. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'

const HOUR = 3_600_000
const within = { lifeMs: HOUR, bytesMax: 1_000_000 }

for (const engine of engines)
  describe(engine.name, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
      for (const id of ['mine', 'other'])
        await store.keys.createKey(
          {
            id,
            hash: id,
            orgId: 'o',
            walletId: 'w',
            label: '',
            prefix: '',
            limits: {},
          },
          byTest,
        )
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    const keep = (keyId: string, id: string, previousId?: string, text = 'x') =>
      store.responses.keepResponse(
        {
          keyId,
          id,
          previousId,
          input: JSON.stringify([`asked ${id}`]),
          body: JSON.stringify({ id, text }),
          output: [0, 1].map((at) => ({ id: `item_${id}_${at}`, body: JSON.stringify(`said ${id} ${at}`) })),
        },
        HOUR,
      )
    const said = (id: string) => [`["asked ${id}"]`, `"said ${id} 0"`, `"said ${id} 1"`]

    test('a conversation is told from its beginning, each branch by itself', async () => {
      await keep('mine', 'a')
      await keep('mine', 'b', 'a')
      await keep('mine', 'c', 'b')
      await keep('mine', 'd', 'a')
      expect(await store.responses.conversation('mine', 'c', within)).toEqual([
        ...said('a'),
        ...said('b'),
        ...said('c'),
      ])
      expect(await store.responses.conversation('mine', 'd', within)).toEqual([...said('a'), ...said('d')])
      expect(await store.responses.conversation('mine', 'nobody', within)).toBeUndefined()
    })

    test('a conversation that is longer than asked for is not told in part', async () => {
      const size = (await store.responses.conversation('mine', 'a', within))?.join('').length ?? 0
      // Each response has its input, its output and the rest.
      expect(
        await store.responses.conversation('mine', 'b', { lifeMs: HOUR, bytesMax: size * 2 }),
      ).toBeUndefined()
      expect(
        await store.responses.conversation('mine', 'b', { lifeMs: HOUR, bytesMax: size * 6 }),
      ).toBeDefined()
    })

    test('another key sees nothing of it, and may use the same names', async () => {
      for (const id of ['a', 'c']) {
        expect(await store.responses.conversation('other', id, within)).toBeUndefined()
        expect(await store.responses.keptResponse('other', id)).toBeUndefined()
        expect(await store.responses.forgetResponse('other', id)).toBe(false)
      }
      expect((await store.responses.itemSizes('other', ['item_a_0'])).size).toBe(0)
      await keep('other', 'a', undefined, 'theirs')
      expect((await store.responses.keptResponse('mine', 'a'))?.body).toBe('{"id":"a","text":"x"}')
      expect((await store.responses.keptResponse('other', 'a'))?.body).toBe('{"id":"a","text":"theirs"}')
    })

    test('items are found by their names; the same response again replaces it', async () => {
      const sizes = await store.responses.itemSizes('mine', ['item_a_1', 'item_c_0', 'nobody'])
      expect([...sizes].sort()).toEqual([
        ['item_a_1', 10],
        ['item_c_0', 10],
      ])
      // What has become larger since is not loaded.
      const found = await store.responses.keptItems('mine', sizes)
      expect((await store.responses.keptItems('mine', new Map([['item_a_1', 9]]))).size).toBe(0)
      expect([...found].sort()).toEqual([
        ['item_a_1', '"said a 1"'],
        ['item_c_0', '"said c 0"'],
      ])
      await keep('mine', 'd', 'b', 'again')
      expect(await store.responses.keptResponse('mine', 'd')).toEqual({
        input: '["asked d"]',
        body: '{"id":"d","text":"again"}',
        output: ['"said d 0"', '"said d 1"'],
        open: false,
      })
    })

    test('what is deleted is gone, and what went on from it cannot go on', async () => {
      expect(await store.responses.forgetResponse('mine', 'b')).toBe(true)
      expect(await store.responses.forgetResponse('mine', 'b')).toBe(false)
      expect(await store.responses.keptResponse('mine', 'b')).toBeUndefined()
      expect((await store.responses.itemSizes('mine', ['item_b_0'])).size).toBe(0)
      expect(await store.responses.conversation('mine', 'c', within)).toBeUndefined()
      expect(await store.responses.conversation('mine', 'a', within)).toEqual(said('a'))
    })

    test('a conversation that goes on is kept on, the rest ends with its time and is pruned', async () => {
      await keep('mine', 'e')
      await keep('mine', 'f', 'e')
      await keep('mine', 'idle')
      now += HOUR / 2
      expect(await store.responses.conversation('mine', 'f', within)).toEqual([...said('e'), ...said('f')])
      now += HOUR / 2 + 1
      expect(await store.responses.conversation('mine', 'f', within)).toEqual([...said('e'), ...said('f')])
      expect(await store.responses.keptResponse('mine', 'idle')).toBeUndefined()
      expect((await store.responses.itemSizes('mine', ['item_idle_0'])).size).toBe(0)
      await store.ledger.reap({ graceMs: 100, longestCallMs: 1_000 })
      now -= HOUR / 2
      expect(await store.responses.keptResponse('mine', 'idle')).toBeUndefined()
      expect(await store.responses.keptResponse('mine', 'f')).toBeDefined()
      now += HOUR / 2
    })

    test('the oldest of a key go when all are larger than their bound, and nobody else’s', async () => {
      const large = 'x'.repeat(9 * 1024 * 1024)
      for (let at = 0; at < 8; at++) {
        now++
        await keep('mine', `large${at}`, undefined, large)
      }
      const left = await Promise.all(
        Array.from(
          { length: 8 },
          async (_none, at) => (await store.responses.keptResponse('mine', `large${at}`)) !== undefined,
        ),
      )
      expect(left).toEqual([false, false, false, true, true, true, true, true])
      await keep('other', 'small')
      expect(await store.responses.keptResponse('other', 'small')).toBeDefined()
    })
  })
