/** Both values of a rotated key are one caller to what is kept of calls: none is charged twice. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { CENT } from '../store/world.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

type Made = { id: string; key: string }

const once = { 'idempotency-key': 'once' }

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let asked = 0
    /** What the next answer waits for. */
    let held: Promise<void> | undefined
    beforeAll(async () => {
      it = await startConsoleOn(engine, { options: { responsesKeptMs: 3_600_000 } })
      owner = await it.visit('owner@example.com', 'owner')
      it.answerWith(async () => {
        asked += 1
        await held
        // A cent: 1 000 tokens at ten dollars a million.
        return completion(`answer ${asked}`, {
          prompt_tokens: 0,
          completion_tokens: 1_000,
          total_tokens: 1_000,
        })
      })
    })
    afterAll(async () => {
      const broken = await brokenLaws(it.store)
      await it.stop()
      expect(broken).toEqual([])
    })

    const make = async (label: string, more: object = {}): Promise<Made> =>
      jsonOf(await owner.ask('POST', '/keys', { label, ...more }))
    const rotate = async ({ id }: Made): Promise<Made> => {
      const response = await owner.ask('POST', `/keys/${id}/rotate`)
      expect(response.status).toBe(201)
      return jsonOf(response)
    }
    const call = ({ key }: Made, max_tokens = 1_000) =>
      it.post('/v1/chat/completions', chat({ max_tokens }), once, key)
    /** What the work costs, and how often it asks the vendor. */
    const costOf = async (work: () => Promise<void>) => {
      const before = { balance: await it.balance(), asked }
      await work()
      return { cents: (before.balance - (await it.balance())) / CENT, asked: asked - before.asked }
    }

    test('a call that is repeated with the other value gets its answer, and is charged once', async () => {
      const old = await make('moved')
      const cost = await costOf(async () => {
        const first = await call(old)
        const text = await first.text()
        const next = await rotate(old)
        const last = await rotate(next)
        for (const value of [next, last, old]) {
          const again = await call(value)
          expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
          expect(await again.text()).toBe(text)
        }
        expect((await jsonOf(await call(next, 900))).error.code).toBe('idempotency_key_reused')
        await owner.ask('DELETE', `/keys/${old.id}`)
        expect(await (await call(last)).text()).toBe(text)
      })
      expect(cost).toEqual({ cents: 1n, asked: 1 })
    })

    test('a call that still runs is joined with the new value', async () => {
      const old = await make('runs')
      const gate = Promise.withResolvers<void>()
      held = gate.promise
      const cost = await costOf(async () => {
        const first = call(old)
        const again = call(await rotate(old))
        gate.resolve()
        expect(await (await again).text()).toBe(await (await first).text())
      })
      held = undefined
      expect(cost).toEqual({ cents: 1n, asked: 1 })
    })

    test('keys below, and other keys, have kept answers of their own', async () => {
      const old = await make('maker', { can_manage: true })
      const next = await rotate(old)
      const { data: below } = await jsonOf(
        await it.send('POST', '/v1/key/wholesale', { label: 'below' }, next.key),
      )
      const all = [next, below as Made, await make('other')]
      const cost = await costOf(async () => {
        for (const value of all) expect((await call(value)).headers.get('idempotent-replayed')).toBe(null)
      })
      expect(cost).toEqual({ cents: 3n, asked: 3 })
    })

    test('a conversation goes on with the new value', async () => {
      const old = await make('talks')
      const ask = async ({ key }: Made, previous?: string) => {
        const body = { model: 'mock/small', input: 'Hi.', max_output_tokens: 1_000 }
        return jsonOf(
          await it.post('/v1/responses', { ...body, previous_response_id: previous }, undefined, key),
        )
      }
      const first = await ask(old)
      const next = await rotate(old)
      const second = await ask(next, first.id)
      expect(second.previous_response_id).toBe(first.id)
      const read = async (id: string, { key }: Made) => (await it.get(`/v1/responses/${id}`, key)).status
      expect([await read(first.id, next), await read(second.id, next)]).toEqual([200, 200])
      expect(await read(first.id, await make('a stranger'))).toBe(404)
    })
  })
