/** In every tree of keys, a key's total is its own use and that of the keys below it, and agrees with the ledger. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

type Member = {
  readonly id: string
  readonly token: string
  readonly parent: number | undefined
  /** Nano-dollars of its own calls. */
  own: number
  calls: number
  deleted: boolean
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('make' as const), who: fc.nat(20) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('call' as const),
      who: fc.nat(20),
      words: fc.integer({ min: 1, max: 90 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('delete' as const), who: fc.nat(20), along: fc.boolean() }),
  },
)

/** USD as the API shows it, in whole nano-dollars. */
const nano = (usd: number): number => Math.round(usd * 1e9)

for (const engine of serverEngines)
  describe(`use rolls up on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer

    beforeAll(async () => {
      database = await engine.fresh()
      server = await startTestServer({ url: database.url })
    })
    afterAll(() => stopSound(server, database))

    const make = async (tree: Member[], parent: number): Promise<void> => {
      const label = `member ${tree.length}`
      const body = { label, can_manage: true }
      const made = await server.post('/v1/key/wholesale', body, {}, tree[parent]?.token)
      expect(made.status).toBe(201)
      const { id, key } = (await jsonOf(made)).data
      tree.push({ id, token: key, parent, own: 0, calls: 0, deleted: false })
    }

    const call = async (member: Member, words: number): Promise<void> => {
      server.answerWith(() =>
        completion('x', { prompt_tokens: 10, completion_tokens: words, total_tokens: 10 + words }),
      )
      const answer = await server.post('/v1/chat/completions', chat({ max_tokens: 90 }), {}, member.token)
      expect(answer.status).toBe(200)
      member.own += 10_000 + words * 10_000
      member.calls++
    }

    const isBelow = (tree: readonly Member[], place: number, top: number): boolean => {
      for (let at: number | undefined = place; at !== undefined; at = tree[at]?.parent)
        if (at === top) return true
      return false
    }
    const subtree = (tree: readonly Member[], top: number): readonly Member[] =>
      tree.filter((_member, place) => isBelow(tree, place, top))

    const remove = async (tree: Member[], place: number, along: boolean): Promise<void> => {
      const target = tree[place]
      const [root] = tree
      if (target === undefined || root === undefined || place === 0) return
      const path = `/v1/key/wholesale/${target.id}?with_children=${along}`
      expect((await server.send('DELETE', path, undefined, root.token)).status).toBe(200)
      for (const member of along ? subtree(tree, place) : [target]) member.deleted = true
    }

    const usage = async (member: Member, query: string) =>
      (await jsonOf(await server.get(`/v1/usage?${query}`, member.token))).data

    const checkMember = async (tree: readonly Member[], place: number): Promise<void> => {
      const member = tree[place]
      const [root] = tree
      if (member === undefined || root === undefined) return
      const all = subtree(tree, place)
      const total = all.reduce((sum, { own }) => sum + own, 0)
      const calls = all.reduce((sum, one) => sum + one.calls, 0)
      // What the caps count, seen from above, also of a deleted key.
      const path = (one: Member) => `/v1/key/wholesale/${one.id}/usage`
      const counted = async (one: Member) =>
        nano((await jsonOf(await server.get(path(one), root.token))).data.spent_usd)
      expect(await counted(member)).toBe(total)
      const children = tree.filter(({ parent }) => parent === place)
      const below = await Promise.all(children.map(counted))
      expect(below.reduce((sum, one) => sum + one, 0) + member.own).toBe(total)
      if (member.deleted) return
      const report = await usage(member, 'group_by=key')
      expect([nano(report.total.cost_usd), report.total.requests]).toEqual([total, calls])
      const rows = Object.fromEntries(
        report.rows.map((row: { key: string; cost_usd: number; deleted: boolean }) => [
          row.key,
          [nano(row.cost_usd), row.deleted],
        ]),
      )
      expect(rows).toEqual(
        Object.fromEntries(all.filter((one) => one.calls > 0).map((one) => [one.id, [one.own, one.deleted]])),
      )
      expect(nano((await usage(member, 'own=true')).total.cost_usd)).toBe(member.own)
    }

    test('children and own are the total, which is the ledger', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
          const first = await server.newKey({}, { canManage: true })
          const before = await server.balance()
          const tree: Member[] = [{ ...first, parent: undefined, own: 0, calls: 0, deleted: false }]
          for (const parent of [0, 1, 2]) await make(tree, parent)
          for (const one of steps) {
            const place = one.who % tree.length
            const member = tree[place]
            if (member === undefined || member.deleted) continue
            if (one.what === 'make') await make(tree, place)
            else if (one.what === 'call') await call(member, one.words)
            else await remove(tree, place, one.along)
          }
          for (const place of tree.keys()) await checkMember(tree, place)
          const [root] = tree
          const report = await usage(root as Member, 'group_by=')
          expect(BigInt(nano(report.total.cost_usd))).toBe(before - (await server.balance()))
        }),
        { numRuns: Math.ceil(engine.runs / 10) },
      )
    })
  })
