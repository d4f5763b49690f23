/** The list of calls of an organisation with hundreds of keys: in order, whole, page by page, and nobody else's. On both engines. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { chat, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const KEYS = 260
const START = Date.parse('2026-10-30T22:10:00Z')

type Call = { readonly id: string; readonly at: string; readonly key: { readonly id: string } }

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let stranger: Visitor
    let at = START
    const made: { id: string; token: string }[] = []
    /** Newest first. */
    let all: readonly string[] = []
    beforeAll(async () => {
      it = await startConsoleOn(engine, { now: () => at })
      owner = await it.visit('owner@example.com', 'owner')
      await it.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'Other' }, byTest)
      stranger = await it.visit('stranger@example.com', 'owner', 'org_other')
      for (let n = 0; n < KEYS; n++) made.push(await it.newKey({}, { label: `key ${n}` }))
      const calls: { id: string; at: number }[] = []
      for (let n = 0; n < 300; n++) {
        // Some are of the same millisecond; one key has most, and most keys have one.
        if (n % 5 === 0) at += 60_000
        const { token = '' } = made[n % 7 === 0 ? 3 : n % KEYS] ?? {}
        const response = await it.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)
        expect(response.status).toBe(200)
        await response.text()
        calls.push({ id: response.headers.get('x-request-id') ?? '', at })
      }
      all = calls.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map(({ id }) => id)
    })
    afterAll(() => it.stop())

    const list = async (query: string): Promise<{ data: readonly Call[]; has_more: boolean }> =>
      jsonOf(await owner.ask('GET', `/calls${query}`))
    const idsOf = (calls: readonly Call[]): readonly string[] => calls.map(({ id }) => id)

    test('the newest are listed, of whichever keys they are', async () => {
      expect(idsOf((await list('')).data)).toEqual(all.slice(0, 50))
      // More keys than one union of statements may have.
      expect(idsOf((await list('?limit=500')).data)).toEqual(all)
    })

    test('page by page each call stands on one page', async () => {
      const seen: string[] = []
      for (let query = '?limit=7'; ; query = `?limit=7&before=${seen.at(-1)}`) {
        const { data, has_more } = await list(query)
        seen.push(...idsOf(data))
        if (!has_more) break
      }
      expect(seen).toEqual([...all])
    })

    test('of one key there are its own, and another organisation sees none of them', async () => {
      const { data } = await list(`?limit=500&key=${made[3]?.id}`)
      expect(data.length).toBeGreaterThan(40)
      expect(new Set(data.map(({ key }) => key.id))).toEqual(new Set([made[3]?.id ?? '']))
      expect((await jsonOf(await stranger.ask('GET', '/calls'))).data).toEqual([])
      const before = (await jsonOf(await stranger.ask('GET', `/calls?before=${all[0]}`))).data
      expect(before).toEqual([])
    })
  })
