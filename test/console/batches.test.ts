/** Batches as people see them: those of keys in reach, page by page, and cancelled only by who may change the key. */
import { describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { begunBatch } from './begun-batch.ts'
import { somebody, startConsoleOn } from './rig.ts'

for (const engine of serverEngines)
  describe(`batches of people, ${engine.name}`, () => {
    test('people see those of their keys, and cancel what they may change', async () => {
      const it = await startConsoleOn(engine)
      const { store, wallet } = it
      const begin = (keyId: string, form: 'openai' | 'anthropic') =>
        begunBatch(store, { keyId, wallet, form, lines: 2 })
      const [owner, developer, viewer, stranger] = await Promise.all([
        it.visit(somebody(), 'owner'),
        it.visit(somebody(), 'developer'),
        it.visit(somebody(), 'viewer'),
        it.visit(somebody(), 'owner', 'org_elsewhere'),
      ])
      type Visitor = typeof owner
      const made = await jsonOf(await developer.ask('POST', '/keys', { label: 'of the developer' }))
      const parent = await it.newKey({}, { canManage: true })
      const child = await it.newKey({}, { parentId: parent.id })
      const [first, second, third] = [
        await begin(made.id, 'openai'),
        await begin(parent.id, 'anthropic'),
        await begin(child.id, 'openai'),
      ]
      const list = async (who: Visitor, query = '') => jsonOf(await who.ask('GET', `/batches${query}`))
      const idsOf = async (who: Visitor, query = '') =>
        (await list(who, query)).data.map(({ id }: { id: string }) => id).sort()
      const all = [first, second, third].sort()
      expect(await idsOf(owner)).toEqual(all)
      expect(await idsOf(viewer)).toEqual(all)
      expect(await idsOf(developer)).toEqual([first])
      expect(await idsOf(stranger)).toEqual([])
      expect(await idsOf(owner, `?key=${parent.id}`)).toEqual([second, third].sort())
      expect(await idsOf(owner, `?key=${parent.id}&own=true`)).toEqual([second])
      expect(await idsOf(owner, `?tenant=${child.id}`)).toEqual([third])
      expect(await idsOf(owner, '?tenants=true')).toEqual([third])

      const walked: string[] = []
      for (let after = '', more = true; more; ) {
        const page = await list(owner, `?limit=1${after}`)
        expect(page.data).toHaveLength(1)
        walked.push(page.data[0].id)
        more = page.has_more
        after = `&after=${page.data[0].id}`
      }
      expect(walked.sort()).toEqual(all)

      const one = async (who: Visitor, id: string) => (await who.ask('GET', `/batches/${id}`)).status
      const cancel = (who: Visitor, id: string) => who.ask('POST', `/batches/${id}/cancel`)
      expect([await one(developer, first), await one(developer, second)]).toEqual([200, 404])
      expect([await one(stranger, first), await one(owner, 'batch_nothing')]).toEqual([404, 404])
      expect((await cancel(viewer, first)).status).toBe(403)
      expect((await cancel(developer, second)).status).toBe(404)
      expect((await cancel(stranger, second)).status).toBe(404)
      expect(await jsonOf(await owner.ask('GET', `/batches/${second}`))).toMatchObject({
        ...{ id: second, form: 'anthropic', status: 'in_progress', cost_usd: '0', stopped_by: null },
        key: { id: parent.id },
        lines: { total: 2, waiting: 2, sent: 0, succeeded: 0, errored: 0, stopped: 0 },
      })

      // Two at once: one event, and both are told the same.
      const answers = await Promise.all([cancel(developer, first), cancel(owner, first)])
      for (const answer of answers)
        expect(await jsonOf(answer)).toMatchObject({
          ...{ id: first, status: 'cancelling', stopped_by: 'cancelled' },
          lines: { total: 2, waiting: 0, stopped: 2 },
        })
      const about = { what: 'batch.cancelled', subject: first }
      const events = await store.events.list({ most: 9, about })
      expect(events.map(({ orgId, after }) => [orgId, after])).toEqual([['org_test', { lines_stopped: 2 }]])
      await it.stop()
    })
  })
