/** Conversations, on every engine: items in their order whoever adds them, of one key alone, within their bound. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'

const HOUR = 3_600_000

for (const engine of engines)
  describe(engine.name, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
      const key = { orgId: 'o', walletId: 'w', label: '', prefix: '', limits: {} }
      for (const id of ['mine', 'other']) await store.keys.createKey({ id, hash: id, ...key }, byTest)
      await store.responses.keepResponse(
        { ...ref, previousId: undefined, input: '[]', body: '{}', output: [], state: 'conversation' },
        HOUR,
      )
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    const within = { lifeMs: HOUR, bytesMax: 100_000 }
    const ref = { keyId: 'mine', id: 'conv_1' }
    const item = (id: string) => ({ id, body: `"${id}"` })
    const items = async () => (await store.responses.keptResponse('mine', 'conv_1'))?.output

    test('items that are added together all have their places, and stay together', async () => {
      const added = Array.from({ length: 20 }, (_pair, at) => [item(`a${at}`), item(`b${at}`)])
      const all = added.map((output) => store.responses.addItems({ ...ref, output }, within))
      expect(new Set(await Promise.all(all))).toEqual(new Set(['added']))
      const kept = (await items()) ?? []
      expect([kept.length, new Set(kept).size]).toEqual([40, 40])
      for (let at = 0; at < 40; at += 2) expect(kept[at + 1]).toBe(kept[at]?.replace('a', 'b') ?? '')
    })

    test('an item is taken out, and the next one has a place of its own', async () => {
      expect(await store.responses.removeItem(ref, 'a3')).toBe(true)
      expect(await store.responses.removeItem(ref, 'a3')).toBe(false)
      await store.responses.addItems({ ...ref, output: [item('last')] }, within)
      const kept = (await items()) ?? []
      expect([kept.length, kept.at(-1)]).toEqual([40, '"last"'])
    })

    test('what is taken out leaves its room, and pages are of places', async () => {
      const bytes = await store.responses.keptBytes('mine', 'conv_1')
      await store.responses.addItems({ ...ref, output: [item('wide é')] }, within)
      expect(await store.responses.keptBytes('mine', 'conv_1')).toBe(bytes + 9)
      expect(await store.responses.itemPlace(ref, 'wide é', 'asc')).toEqual({ place: 41, bytes: 9 })
      expect(await store.responses.removeItem(ref, 'wide é')).toBe(true)
      expect(await store.responses.keptBytes('mine', 'conv_1')).toBe(bytes)
      expect(await store.responses.itemPlace(ref, 'wide é', 'desc')).toBeUndefined()
      const last = { after: undefined, limit: 2, order: 'desc' } as const
      const places = await store.responses.itemPlaces(ref, last)
      expect(places.map(({ place }) => place)).toEqual([40, 39])
      const next = await store.responses.itemPlaces(ref, { after: 39, limit: 1, order: 'asc' })
      expect(next).toEqual([{ place: 40, bytes: 6 }])
      expect(await store.responses.itemsAt(ref, 39, 40)).toEqual([expect.any(String), '"last"'])
      expect(await store.responses.itemPlaces({ ...ref, keyId: 'other' }, last)).toEqual([])
    })

    test('what would be too large is not added, and no other key reaches it', async () => {
      const output = [item('x'.repeat(1_000))]
      expect(await store.responses.addItems({ ...ref, output }, { lifeMs: HOUR, bytesMax: 1_000 })).toBe(
        'full',
      )
      const others = { ...ref, keyId: 'other' }
      expect(await store.responses.addItems({ ...others, output }, within)).toBe('not there')
      expect(await store.responses.rewrite(others, '{}')).toBe(false)
      expect(await store.responses.removeItem(others, 'last')).toBe(false)
      expect(await items()).toHaveLength(40)
    })

    test('no response continues it; it lives on with each use, and expires with its items', async () => {
      expect(
        await store.responses.conversation('mine', 'conv_1', { lifeMs: HOUR, bytesMax: 1e6 }),
      ).toBeUndefined()
      now += HOUR - 1_000
      await store.responses.addItems({ ...ref, output: [item('later')] }, within)
      now += HOUR - 1_000
      expect(await items()).toHaveLength(41)
      expect(await store.responses.rewrite(ref, '{"a":1}')).toBe(true)
      now += 2_000
      expect(await items()).toBeUndefined()
      expect(await store.responses.addItems({ ...ref, output: [item('late')] }, within)).toBe('not there')
    })
  })
