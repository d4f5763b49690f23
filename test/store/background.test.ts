/** Responses in the background, on every engine: open for one process, ended once, gone with what they belong to. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'
import { createOneKey } from './world.ts'

const HOUR = 3_600_000
const events = (from: number, to: number) =>
  Array.from({ length: to - from }, (_event, at) => `{"sequence_number":${from + at}}`)

for (const engine of engines)
  describe(engine.name, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await createOneKey(store)
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    const ref = (id: string) => ({ keyId: 'k', id })
    const begin = (id: string, owner: string, first: readonly string[] = []) =>
      store.background.begin(
        {
          ...ref(id),
          callId: id,
          owner,
          previousId: undefined,
          input: '["asked"]',
          body: '{"status":"in_progress"}',
          events: first,
        },
        HOUR,
      )
    const end = (id: string, whole = true, said = 'said') =>
      store.background.end(
        {
          ...ref(id),
          place: 5,
          events: events(5, 6),
          body: `{"status":"${whole ? 'completed' : 'failed'}"}`,
          output: whole ? [{ id: `item_${id}`, body: `"${said}"` }] : [],
          continues: whole,
        },
        HOUR,
      )
    const within = { lifeMs: HOUR, bytesMax: 1_000_000 }

    test('it is open, and ends once; only then it can be continued', async () => {
      await store.instances.beat('p', undefined)
      await begin('a', 'p', events(0, 2))
      await store.background.append([{ ...ref('a'), place: 2, events: events(2, 5) }])
      expect(await store.background.events(ref('a'), 1)).toEqual({ open: true, events: events(1, 5) })
      expect(await store.responses.conversation('k', 'a', within)).toBeUndefined()
      expect(await store.responses.keptResponse('k', 'a')).toMatchObject({ open: true, output: [] })
      await end('a')
      await end('a', false)
      expect(await store.background.events(ref('a'), 4)).toEqual({ open: false, events: events(4, 6) })
      expect(await store.responses.keptResponse('k', 'a')).toMatchObject({
        open: false,
        body: '{"status":"completed"}',
        output: ['"said"'],
      })
      expect(await store.responses.conversation('k', 'a', within)).toEqual(['["asked"]', '"said"'])
      await begin('b', 'p')
      await end('b', false)
      expect(await store.responses.conversation('k', 'b', within)).toBeUndefined()
    })

    test('one without a stream has no events; the same events again are written once', async () => {
      await begin('plain', 'p')
      expect(await store.background.events(ref('plain'), 0)).toBeUndefined()
      await begin('twice', 'p', events(0, 1))
      for (const _time of [1, 2])
        await store.background.append([{ ...ref('twice'), place: 1, events: events(1, 3) }])
      expect((await store.background.events(ref('twice'), 0))?.events).toEqual(events(0, 3))
    })

    test('more events from the same place on replace those of a write whose answer was lost, and are counted once', async () => {
      await begin('doubt', 'p', events(0, 2))
      for (const to of [4, 5])
        await store.background.append([{ ...ref('doubt'), place: 2, events: events(2, to) }])
      expect((await store.background.events(ref('doubt'), 0))?.events).toEqual(events(0, 5))
      await store.background.append([{ ...ref('doubt'), place: 5, events: ['{"long":"before its end"}'] }])
      const last = ['{"long":"before its end"}', '{"end":1}']
      const body = '{"status":"completed"}'
      const whole = { ...ref('doubt'), place: 5, events: last, body, output: [], continues: true }
      await store.background.end(whole, HOUR)
      const all = [...events(0, 5), ...last]
      expect(await store.background.events(ref('doubt'), 0)).toEqual({ open: false, events: all })
      // What comes after its end is dropped.
      await store.background.append([{ ...ref('doubt'), place: 7, events: ['{"late":1}'] }])
      expect((await store.background.events(ref('doubt'), 0))?.events).toEqual(all)
      // A conversation goes back as far as the sizes of its turns allow.
      const next = { ...ref('after'), previousId: 'doubt', input: '', body: '{}', output: [] }
      await store.responses.keepResponse(next, HOUR)
      const bytes = ['["asked"]', '{"status":"in_progress"}', body, ...all, '{}'].join('').length
      const reached = (bytesMax: number) =>
        store.responses.conversation('k', 'after', { lifeMs: HOUR, bytesMax })
      expect(await reached(bytes)).toBeDefined()
      expect(await reached(bytes - 1)).toBeUndefined()
    })

    test('what is too much for its key is deleted, but nothing that is being made', async () => {
      const input = 'x'.repeat(15_000_000)
      await begin('long', 'p')
      for (const id of ['m1', 'm2', 'm3', 'm4', 'm5']) {
        now += 1
        const large = { ...ref(id), previousId: undefined, input, body: '{}', output: [] }
        await store.responses.keepResponse(large, HOUR)
      }
      expect((await store.responses.keptResponse('k', 'm1')) === undefined).toBe(true)
      expect(await store.responses.keptResponse('k', 'long')).toMatchObject({ open: true })
    })

    test('its owner hears of a cancellation, and no more of what was deleted', async () => {
      await begin('c', 'q')
      await begin('d', 'q', events(0, 1))
      await store.background.askCancel(ref('c'))
      expect((await store.background.news('q')).toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual([
        { ...ref('c'), cancel: true },
        { ...ref('d'), cancel: false },
      ])
      expect(await store.responses.forgetResponse('k', 'd')).toBe(true)
      expect((await store.background.news('q')).map(({ id }) => id)).toEqual(['c'])
      // What is written late for a response that is gone does not bring it back.
      await store.background.append([{ ...ref('d'), place: 1, events: events(1, 2) }])
      await end('d')
      expect(await store.responses.keptResponse('k', 'd')).toBeUndefined()
      expect((await store.responses.itemSizes('k', ['item_d'])).size).toBe(0)
    })

    test('those of another process that is silent are lost, until somebody ends them', async () => {
      await store.instances.beat('dead', undefined)
      await store.instances.beat('alive', undefined)
      await begin('e', 'dead', events(0, 3))
      await begin('f', 'alive')
      await begin('never', 'unknown')
      now += 4_000
      await store.instances.beat('alive', undefined)
      await store.instances.beat('p', undefined)
      await store.instances.beat('q', undefined)
      const lost = async (by: string) =>
        (await store.background.lost(by, 10)).map(({ id, next }) => [id, next]).sort()
      const both = [
        ['e', 3],
        ['never', 0],
      ]
      expect(await lost('alive')).toEqual(both)
      expect(await lost('p')).toEqual(both)
      // Its own heartbeat is late: it has them all the same.
      expect(await lost('dead')).toEqual([['never', 0]])
      await end('e')
      await end('never')
      expect(await lost('p')).toEqual([])
    })

    test('it expires with its events', async () => {
      now += 2 * HOUR
      expect(await store.background.events(ref('a'), 0)).toBeUndefined()
      expect(await store.responses.keptResponse('k', 'a')).toBeUndefined()
    })
  })
