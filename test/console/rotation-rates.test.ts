/** All values of a rotated key share its windows: none has the rate anew, from the first call on. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

type Made = { id: string; key: string }

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    beforeAll(async () => {
      // The ledger's clock stands still, so that no window turns.
      const now = Date.now()
      it = await startConsoleOn(engine, { now: () => now })
      owner = await it.visit('owner@example.com', 'owner')
      it.answerWith(() => completion('x', { prompt_tokens: 0, completion_tokens: 300, total_tokens: 300 }))
    })
    afterAll(() => it.stop())

    const make = async (body: object): Promise<Made> => jsonOf(await owner.ask('POST', '/keys', body))
    const rotate = async ({ id }: Made): Promise<Made> =>
      jsonOf(await owner.ask('POST', `/keys/${id}/rotate`))
    const call = ({ key }: Made) => it.post('/v1/chat/completions', chat({ max_tokens: 300 }), {}, key)
    /** What becomes of calls one after the other: their status, or which limit refuses them. */
    const statuses = async (values: readonly Made[]) => {
      const all: unknown[] = []
      for (const value of values) {
        const answer = await call(value)
        const { error } = await jsonOf(answer)
        all.push(answer.status === 200 ? 200 : (error.limit ?? error.code))
      }
      return all
    }

    for (const rate of ['rpm_limit', 'rph_limit', 'rpd_limit'])
      test(`what the old value used of its ${rate} counts for the new one`, async () => {
        const old = await make({ label: 'rated', [rate]: 5 })
        expect(await statuses([old, old])).toEqual([200, 200])
        const next = await rotate(old)
        const last = await rotate(old)
        expect(await statuses([next, old, last, next, old, last])).toEqual([200, 200, 200, rate, rate, rate])
        await owner.ask('DELETE', `/keys/${old.id}`)
        const { error } = await jsonOf(await call(last))
        expect(error.limit).toBe(rate)
        await owner.ask('PUT', `/keys/${last.id}`, { [rate]: 6 })
        expect(await statuses([next, last])).toEqual([200, rate])
      })

    test('tokens that the old value used count for the new one', async () => {
      const old = await make({ label: 'tokens', tpm_limit: 450 })
      expect((await call(old)).status).toBe(200)
      const next = await rotate(old)
      const refused = await call(next)
      expect([refused.status, (await jsonOf(refused)).error.limit]).toEqual([429, 'tpm_limit'])
    })

    test('keys below take one request from all values together', async () => {
      const old = await make({ label: 'maker', rpd_limit: 6, can_manage: true })
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'below', rpd_limit: 6 }, old.key),
      )
      // Making a key was a request too.
      const used = await statuses([below as Made])
      const next = await rotate(old)
      used.push(...(await statuses([below, next, old])))
      expect(used).toEqual([200, 200, 200, 200])
      const { headers } = await call(below)
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['6', '0'])
      expect(await statuses([next, old, below])).toEqual(['rpd_limit', 'rpd_limit', 'rpd_limit'])
    })

    test('a lower rate that only the old value has binds that one alone', async () => {
      const old = await make({ label: 'slower', rpd_limit: 5 })
      const next = await rotate(old)
      await owner.ask('PUT', `/keys/${old.id}`, { rpd_limit: 1 })
      expect(await statuses([old, old, next, old, next])).toEqual([200, 'rpd_limit', 200, 'rpd_limit', 200])
    })
  })
