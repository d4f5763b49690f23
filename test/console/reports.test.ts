/**
 * The console's numbers equal the ledger's: to the nano-dollar, at any time, whatever is rolled up. On both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano } from '../../src/core/money.ts'
import type { usageGroups } from '../../src/store/reports/report-port.ts'
import { followingClock } from '../following-clock.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const START = Date.parse('2026-10-30T22:10:00Z')

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: TestConsole
    let owner: Visitor
    let at = START
    const tokens: string[] = []
    beforeAll(async () => {
      it = await startConsoleOn(engine, { now: () => at, clock: followingClock(() => at) })
      owner = await it.visit('owner@example.com', 'owner')
      for (const label of ['one', '=two'])
        tokens.push((await jsonOf(await owner.ask('POST', '/keys', { label }))).key)
    })
    afterAll(() => it.stop())

    /** The wallet's payments by its postings. */
    const paid = async (): Promise<bigint> => 100_000_000_000n - (await it.balance())

    const spanned = {
      orgs: ['org_test'],
      from: START - 30 * 24 * HOUR,
      to: START + 60 * 24 * HOUR,
      only: {},
      most: 10_000,
    }
    const totalBy = async (
      groupBy: readonly (typeof usageGroups)[number][],
      span: { readonly from: number; readonly to: number } = spanned,
    ): Promise<bigint> =>
      (await it.store.reports.usage({ ...spanned, ...span, groupBy })).reduce(
        (sum, { amount }) => sum + amount,
        0n,
      )

    /** Spans with whole months, nearly whole ones, and some days of them. */
    const cut = (
      [
        ['2026-10-01', '2026-11-01'],
        ['2026-10-02', '2026-11-30'],
        ['2026-10-31', '2026-11-02'],
        ['2026-11-01', '2026-11-03'],
        ['2026-10-31', '2026-12-01'],
        ['2026-09-15', '2026-11-01'],
      ] as const
    ).map(([from, to]) => ({ from: Date.parse(from), to: Date.parse(to) }))

    const odd = [
      { from: START + 3 * HOUR + 7, to: START + 4 * HOUR },
      { from: START + 5 * HOUR, to: START + 52 * HOUR + 1 },
      { from: START - 1, to: START + 40 * HOUR + 1 },
    ]

    const checkAll = async (): Promise<void> => {
      const all = await paid()
      for (const groups of [
        [],
        ['hour'],
        ['day'],
        ['month'],
        ['model'],
        ['vendor'],
        ['status'],
        ['key'],
        ['day', 'key'],
        ['month', 'key'],
        ['key', 'model'],
        ['key', 'vendor'],
        ['hour', 'model'],
      ] as const)
        expect([groups, await totalBy(groups)]).toEqual([groups, all])
      // What begins or ends within a day is as exact.
      for (const span of odd) {
        const ledger = await totalBy(['payment_mode'], span)
        for (const groups of [[], ['hour'], ['key'], ['hour', 'key'], ['month', 'vendor', 'key']] as const)
          expect([groups, span, await totalBy(groups, span)]).toEqual([groups, span, ledger])
      }
      // Sums of hours know nothing of months.
      for (const span of cut) {
        const hours = await totalBy(['hour'], span)
        for (const groups of [
          ['key'],
          ['month', 'key'],
          ['key', 'model'],
          ['month', 'key', 'model'],
        ] as const)
          expect([groups, span, await totalBy(groups, span)]).toEqual([groups, span, hours])
      }
    }

    test('over days, at every hour, before and after the sums are made, and when they are made anew', async () => {
      let calls = 0
      let refunded = ''
      for (let hour = 0; hour < 60; hour += 5) {
        at = START + hour * HOUR
        for (const token of tokens) {
          it.answerWith(() =>
            completion('x', {
              prompt_tokens: 10 + calls,
              completion_tokens: 3 + (calls % 7),
              total_tokens: 0,
            }),
          )
          const response = await it.post('/v1/chat/completions', chat({ max_tokens: 50 }), {}, token)
          expect(response.status).toBe(200)
          await response.text()
          refunded ||= response.headers.get('x-request-id') ?? ''
          calls += 1
        }
        await checkAll()
        await it.store.reports.rollUp()
        await checkAll()
      }
      await it.store.ledger.post({
        kind: 'refund',
        ref: refunded,
        debit: 'revenue',
        credit: it.wallet,
        amount: 1_000n,
      })
      await checkAll()
      // Well past a step's end: a transaction under way delays what is settled by its age.
      at += 3 * HOUR + 4 * MINUTE
      await it.store.reports.rollUp()
      await checkAll()
      await it.store.reports.forgetRollUps()
      await checkAll()
      const until = await it.store.reports.rollUp()
      expect(until).toBe(Math.trunc((at - 5 * MINUTE) / (5 * MINUTE)) * 5 * MINUTE)
      await checkAll()
      expect((await it.store.reports.usage({ ...spanned, groupBy: [] }))[0]?.requests).toBe(calls)
    })

    test('a chart tells the keys that cost most and all others as one, which add up to the ledger', async () => {
      const span = 'from=2026-10-01&to=2026-12-01'
      for (const slot of ['hour', 'day', 'month']) {
        const of = async (more: string) =>
          jsonOf(await owner.ask('GET', `/usage?${span}&group_by=${slot},key${more}`))
        const [all, top] = [await of(''), await of('&top=1')]
        expect(top.total).toEqual(all.total)
        type Line = { [group: string]: string | null } & { requests: number }
        const keys = new Set(top.rows.map(({ key }: Line) => key))
        expect([keys.size, keys.has(null)]).toEqual([2, true])
        for (const row of top.rows as Line[]) {
          const same = (all.rows as Line[]).filter(
            (line) =>
              line[slot] === row[slot] &&
              (row.key === null ? !keys.has(line.key ?? null) : line.key === row.key),
          )
          expect(same.reduce((sum, line) => sum + line.requests, 0)).toBe(row.requests)
          if (row.key === null) expect(row.label).toBe('All other keys')
        }
        const [{ model }] = (await jsonOf(await owner.ask('GET', `/usage?${span}&group_by=model`))).rows
        for (const filter of [`&model=${encodeURIComponent(model)}`, '&status=ok', '&tenants=true']) {
          const [some, chart] = [await of(filter), await of(`${filter}&top=1`)]
          expect([filter, chart.total]).toEqual([filter, some.total])
        }
      }
      expect((await owner.ask('GET', '/usage?group_by=day&top=3')).status).toBe(400)
      const ages = await owner.ask('GET', '/usage?group_by=month&from=0001-01-01&to=9999-01-01')
      expect([ages.status, (await jsonOf(ages)).error.param]).toEqual([400, 'from'])
      for (const address of ['/usage', '/usage.csv']) {
        const turned = await owner.ask('GET', `${address}?from=2026-11-20&to=2026-11-01`)
        expect([turned.status, (await jsonOf(turned)).error.param]).toEqual([400, 'from'])
      }
    })

    test('a part of the rows comes with the total of all, those first that cost most', async () => {
      const of = async (more: string) =>
        jsonOf(await owner.ask('GET', `/usage?from=2026-10-01&to=2026-12-01&group_by=key&sort=cost${more}`))
      const [all, part] = [await of(''), await of('&limit=1')]
      expect([all.rows.length, all.has_more]).toEqual([2, false])
      expect(part).toEqual({ ...all, rows: all.rows.slice(0, 1), has_more: true })
      const days = await jsonOf(await owner.ask('GET', '/usage?from=2026-10-01&to=2026-12-01&group_by=day'))
      expect(part.total).toEqual(days.total)
      const none = await jsonOf(await owner.ask('GET', '/usage?from=2020-10-01&to=2020-12-01&group_by=key'))
      expect([none.rows, none.total.requests, none.total.cost_usd]).toEqual([[], 0, '0'])
    })

    test('the CSV of a month adds up to the ledger, and its labels are text', async () => {
      const response = await owner.ask('GET', '/usage.csv?from=2026-10-01&to=2026-12-01&group_by=month,key')
      expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      const [head = '', ...lines] = (await response.text()).trim().split('\r\n')
      expect(head).toBe(
        'month,key,label,reference,requests,input_tokens,output_tokens,cost_usd,cached_tokens,cache_write_tokens,cache_saved_usd',
      )
      const nano = (text: string) => {
        const [whole = '0', fraction = ''] = text.split('.')
        return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
      }
      expect(lines.reduce((sum, line) => sum + nano(line.split(',')[7] ?? ''), 0n)).toBe(await paid())
      expect(new Set(lines.map((line) => line.split(',')[2]))).toEqual(new Set(['one', "'=two"]))
      expect(new Set(lines.map((line) => line.split(',')[0]))).toEqual(new Set(['2026-10', '2026-11']))
    })

    test('a spreadsheet reads the CSV as what it is: names in UTF-8, and days as days', async () => {
      const response = await owner.ask('GET', '/usage.csv?from=2026-10-01&to=2026-12-01&group_by=day')
      const bytes = new Uint8Array(await response.arrayBuffer())
      expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
      const [head = '', ...lines] = new TextDecoder().decode(bytes).trim().split('\r\n')
      expect(head).toBe(
        'day,requests,input_tokens,output_tokens,cost_usd,cached_tokens,cache_write_tokens,cache_saved_usd',
      )
      for (const line of lines) expect(line).toMatch(/^2026-1[01]-\d\d,/)
    })

    test('movements run to the balance, calls show what they cost, and the keys what they spent', async () => {
      const { data: moved } = await jsonOf(await owner.ask('GET', '/wallet/movements'))
      expect(moved[0].balance_usd).toBe(decimalFromNano(await it.balance()))
      const { data: calls } = await jsonOf(await owner.ask('GET', '/calls?limit=500'))
      expect(calls.length).toBe(24)
      const { data: keys } = await jsonOf(await owner.ask('GET', '/keys'))
      const spent = keys.reduce(
        (sum: number, { spent_usd }: { spent_usd: string }) => sum + Number(spent_usd),
        0,
      )
      expect(spent).toBeCloseTo(Number(decimalFromNano(await paid())), 9)
      const next = await jsonOf(await owner.ask('GET', `/calls?limit=10&before=${calls[9].id}`))
      expect(next.data.map(({ id }: { id: string }) => id)).toEqual(
        calls.slice(10, 20).map(({ id }: { id: string }) => id),
      )
    })
  })
