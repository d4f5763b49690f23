/** Latency and failures as figures: what they say is what the list of calls says, row by row. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CallShown } from '../../src/control/reports/calls.ts'
import { chat, completion, jsonOf, testModel } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const MINUTE = 60_000

type Figures = Readonly<Record<string, number | null>>
type Report = {
  readonly parts: readonly (Figures & { readonly from: string; readonly whole: boolean })[]
  readonly rows: readonly (Figures & { readonly id: string; readonly label: string })[]
  readonly total: Figures
}

/** The figures of calls, counted one by one. */
const figuresOf = (calls: readonly CallShown[]): Figures => {
  const of = (status: string) => calls.filter((call) => call.status === status)
  const nth = (name: 'took_ms' | 'first_byte_ms', percent: number) => {
    const values = of('ok').flatMap((call) => call[name] ?? [])
    return (
      values
        .sort((a, b) => a - b)
        .find((value, at) => 100 * (at + 1) >= percent * values.length && value >= 0) ?? null
    )
  }
  return {
    calls: calls.length,
    refused: of('refused').length,
    failed: of('failed').length,
    took_p50_ms: nth('took_ms', 50),
    took_p95_ms: nth('took_ms', 95),
    first_byte_p50_ms: nth('first_byte_ms', 50),
    first_byte_p95_ms: nth('first_byte_ms', 95),
  }
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let calls: readonly CallShown[] = []
    let keys: readonly { id: string; token: string }[] = []
    beforeAll(async () => {
      it = await startConsoleOn(engine, {
        models: [testModel('small'), testModel('spare')],
        failover: { 'mock/small': ['mock/spare'] },
      })
      owner = await it.visit('owner@example.com', 'owner')
      keys = [await it.newKey({}, { label: 'one' }), await it.newKey({}, { label: 'two' })]
      for (let n = 0; n < 48; n++) {
        const { token = '' } = keys[n % 3 === 0 ? 1 : 0] ?? {}
        it.answerWith(({ body: { model } }) =>
          n % 8 === 7 || (n % 8 === 6 && model === 'small')
            ? new Response('no', { status: 500 })
            : completion('hello'),
        )
        const body = n % 6 === 5 ? { ...chat(), temperature: 'hot' } : chat({ max_tokens: 5 })
        await (await it.post('/v1/chat/completions', body, {}, token)).text()
        await it.gateway.memory.failures.end()
      }
      const list = await jsonOf(await owner.ask('GET', '/calls?limit=500'))
      calls = list.data
    })
    afterAll(() => it.stop())

    const report = async (query: string): Promise<Report> =>
      jsonOf(await owner.ask('GET', `/latency${query}`))

    test('by model and by key each row and the total are those of the calls of the list', async () => {
      expect(calls.length).toBe(48)
      const kinds = new Set(calls.map(({ status }) => status))
      expect(kinds).toEqual(new Set(['ok', 'refused', 'failed']))
      const names = { model: (call: CallShown) => call.model ?? '', key: (call: CallShown) => call.key.id }
      for (const [by, nameOf] of Object.entries(names)) {
        const { rows, total } = await report(`?by=${by}`)
        expect(total).toMatchObject(figuresOf(calls))
        const groups = Map.groupBy(calls, nameOf)
        expect(rows.map(({ id }) => id).sort()).toEqual([...groups.keys()].sort())
        for (const row of rows) expect(row).toMatchObject(figuresOf(groups.get(row.id) ?? []))
      }
      const { rows } = await report('?by=key')
      expect(rows.map(({ label }) => label)).toEqual(['one', 'two'])
    })

    test('by vendor each attempt counts, and the rate is never nicer than it was', async () => {
      const { rows } = await report('?by=vendor')
      const attempts = calls.flatMap(({ attempts }) => attempts)
      const answered = calls.filter(({ status }) => status === 'ok')
      expect(attempts.length).toBeGreaterThan(calls.filter(({ status }) => status === 'failed').length)
      expect(rows).toMatchObject([
        { id: 'mock', calls: attempts.length + answered.length, failed: attempts.length, refused: 0 },
      ])
      const { calls: all, failed, failure_rate: rate } = rows[0] as Figures
      expect(Number(rate)).toBeGreaterThanOrEqual(Number(failed) / Number(all))
      const { data } = await jsonOf(
        await (await it.visit('op@example.com', 'owner', 'org_test', true)).ask('GET', '/operator/vendors'),
      )
      expect(data[0]).toMatchObject({ calls: all, failed, failure_rate: rate })
    })

    test('the parts of the span lie end to end, and hold every call once', async () => {
      const from = Math.min(...calls.map(({ at }) => Date.parse(at))) - 90_500
      const query = `?from=${new Date(from).toISOString()}&to=${new Date(from + 20 * MINUTE + 1).toISOString()}`
      const { parts } = await report(query)
      expect(parts.map((part) => Date.parse(part.from))).toEqual(
        Array.from({ length: 21 }, (_, n) => from + n * MINUTE),
      )
      for (const [n, part] of parts.entries()) {
        const start = from + n * MINUTE
        const within = calls.filter(({ at }) => Date.parse(at) >= start && Date.parse(at) < start + MINUTE)
        expect(part).toMatchObject({ ...figuresOf(within), whole: true })
      }
      expect((await report(`${query}&model=mock/spare`)).total).toMatchObject(
        figuresOf(calls.filter(({ model }) => model === 'mock/spare')),
      )
      const none = await report(`?to=${new Date(from).toISOString()}`)
      expect(none.total).toMatchObject({ calls: 0, failure_rate: null, took_p50_ms: null })
    })

    test('by their beginnings the newest are the same, found among those of all organisations or key by key', async () => {
      const { reports } = it.store
      const to = Date.now() + 1
      const newest = async (most: number, byStart: boolean) => {
        const { lines, next } = await reports.calls({ orgs: ['org_test'], to, most, byStart })
        return [lines.map(({ id }) => id).sort(), next !== undefined]
      }
      for (const most of [10, 47, 48, 400])
        expect(await newest(most, true)).toEqual(await newest(most, false))
      expect((await reports.calls({ orgs: ['org_other'], to, most: 10, byStart: true })).lines).toEqual([])
    })

    test('a span that ends before it begins is refused, and others see nothing', async () => {
      const wrong = await owner.ask('GET', '/latency?from=2026-11-20&to=2026-11-20')
      expect([wrong.status, (await jsonOf(wrong)).error.param]).toEqual([400, 'from'])
      const { total } = await jsonOf(
        await (await it.visit('s@example.com', 'owner', 'org_other')).ask('GET', '/latency'),
      )
      expect(total).toMatchObject({ calls: 0, refused: 0 })
    })

    test('a hundred newer calls for which no vendor was asked hide nothing of the vendors', async () => {
      const before = await report('?by=vendor')
      const wrong = { ...chat(), temperature: 'hot' }
      for (let n = 0; n < 110; n++)
        await (await it.post('/v1/chat/completions', wrong, {}, keys[n % 2]?.token ?? '')).text()
      await it.gateway.memory.failures.end()
      const list = await jsonOf(await owner.ask('GET', '/calls?limit=500'))
      expect(list.data.length).toBe(158)
      const { rows, total } = await report('?by=vendor')
      expect({ rows, total }).toEqual({ rows: before.rows, total: before.total })
    })
  })
