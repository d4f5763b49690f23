/**
 * The sums of reports equal the ledger at any minute, whenever they are made, and whatever the clock does; on every
 * engine.
 */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import fc from 'fast-check'
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts'
import { openPostgres } from '../../src/store/engine/postgres.ts'
import type { Store } from '../../src/store/port.ts'
import { underWaySince } from '../../src/store/reports/under-way.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests } from '../postgres.ts'
import { drawn } from '../sample.ts'
import { brokenLaws, engines } from './engines.ts'
import { oldCalls } from './old-calls.ts'
import { createOneKey } from './world.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 10, 27, 21, 47)

type Span = { readonly from: number; readonly to: number }

type It = ReturnType<typeof oldCalls> & {
  readonly store: Store
  readonly clock: { at: number }
  /** The reports of a span, each as one sum, and the number of their calls. */
  readonly sums: (span?: Span) => Promise<readonly [bigint, number][]>
  readonly stop: () => Promise<void>
}

const opened = async (engine: (typeof engines)[number]): Promise<It> => {
  const database = await engine.fresh()
  const clock = { at: START }
  const store = await openTestStore({ url: database.url, now: () => clock.at })
  await createOneKey(store)
  const all = { from: START - (START % DAY_MS) - DAY_MS, to: START - (START % DAY_MS) + 9 * DAY_MS }
  const one = async (span: Span, groupBy: readonly ('day' | 'hour' | 'month' | 'key' | 'model')[]) => {
    const lines = await store.reports.usage({ ...span, orgs: ['o'], groupBy, only: {}, most: 1_000 })
    // A sum of zero is in no report.
    expect(lines.filter(({ amount, requests }) => amount === 0n && requests === 0)).toEqual([])
    // Each call read a hundred of its tokens from a cache.
    for (const { requests, cachedTokens, cacheWriteTokens, cacheSaved } of lines)
      expect([cachedTokens, cacheWriteTokens, cacheSaved]).toEqual([
        100 * requests,
        0,
        900n * BigInt(requests),
      ])
    return [
      lines.reduce((sum, { amount }) => sum + amount, 0n),
      lines.reduce((sum, { requests }) => sum + requests, 0),
    ] as [bigint, number]
  }
  return {
    store,
    clock,
    ...oldCalls(store, clock),
    sums: (span = all) =>
      Promise.all(
        (
          [
            ['day', 'model'],
            ['hour', 'model'],
            ['key'],
            ['day', 'key'],
            ['month', 'key'],
            ['key', 'model'],
            ['month', 'key', 'model'],
          ] as const
        ).map((groups) => one(span, groups)),
      ),
    stop: async () => {
      const broken = await brokenLaws(store)
      await store.close()
      await database.stop()
      expect(broken).toEqual([])
    },
  }
}

const COST = 10_100n

type Step = {
  readonly do: 'call' | 'open' | 'end' | 'refund' | 'sum' | 'anew' | 'wait'
  readonly seconds: number
}

/** Whole months, months less some days, and some days of them. */
const cut: readonly Span[] = (
  [
    ['2026-11-01', '2027-01-01'],
    ['2026-11-01', '2026-12-01'],
    ['2026-11-28', '2027-01-01'],
    ['2026-11-10', '2026-11-30'],
    ['2026-11-29', '2026-12-02'],
    ['2026-11-01', '2026-11-28'],
  ] as const
).map(([from, to]) => ({ from: Date.parse(from), to: Date.parse(to) }))

type Posted = { readonly at: number; readonly amount: bigint; readonly requests: number }

const sumOf = (posted: readonly Posted[], { from, to }: Span): [bigint, number] => {
  const those = posted.filter(({ at }) => at >= from && at < to)
  return [
    those.reduce((sum, { amount }) => sum + amount, 0n),
    those.reduce((sum, { requests }) => sum + requests, 0),
  ]
}

/** A charge and a refund count on the day on which the call was admitted while that day's books are open, which is for a week. */
const countsAt = (at: number, calledAt: number): number => {
  const end = (Math.trunc(calledAt / DAY_MS) + 1) * DAY_MS
  return at >= end && at < end + 7 * DAY_MS ? end - 1 : at
}

const play = async (it: It, steps: readonly Step[]): Promise<void> => {
  const posted: Posted[] = []
  const open: (Awaited<ReturnType<It['open']>> & { readonly at: number })[] = []
  const refundable: { readonly ref: string; readonly calledAt: number }[] = []
  for (const step of steps) {
    it.clock.at += step.seconds * 1_000
    const { at } = it.clock
    if (step.do === 'call') {
      posted.push({ at, amount: COST, requests: 1 })
      refundable.push({ ref: await it.call(at, `model ${posted.length % 3}`), calledAt: at })
    } else if (step.do === 'open') open.push({ ...(await it.open()), at })
    else if (step.do === 'sum') await it.store.reports.rollUp()
    else if (step.do === 'anew') await it.store.reports.forgetRollUps()
    const ended = step.do === 'end' ? open.shift() : undefined
    if (ended !== undefined) {
      await it.settle(ended, `model ${posted.length % 3}`)
      posted.push({ at: countsAt(at, ended.at), amount: COST, requests: 1 })
      refundable.push({ ref: ended.callId, calledAt: ended.at })
    }
    const called = step.do === 'refund' ? refundable.shift() : undefined
    if (called !== undefined) {
      await it.store.ledger.post({
        kind: 'refund',
        ref: called.ref,
        debit: 'revenue',
        credit: 'w',
        amount: 100n,
      })
      posted.push({ at: countsAt(at, called.calledAt), amount: -100n, requests: 0 })
    }
    const everything = sumOf(posted, { from: 0, to: Infinity })
    for (const sum of await it.sums()) expect(sum).toEqual(everything)
    const span = cut[at % cut.length] ?? { from: 0, to: 0 }
    for (const sum of await it.sums(span)) expect([span, sum]).toEqual([span, sumOf(posted, span)])
  }
}

const steps = fc.array(
  fc.record({
    do: fc.constantFrom('call', 'open', 'end', 'refund', 'sum', 'sum', 'anew', 'wait' as const),
    // From seconds to hours, so that sums end in the middle of hours and days.
    seconds: fc.oneof(
      fc.integer({ min: 0, max: 90 }),
      fc.integer({ min: 0, max: 900 }),
      fc.integer({ min: 0, max: 40_000 }),
    ),
  }),
  { minLength: 5, maxLength: 16 },
)

for (const engine of engines)
  describe(`sums, ${engine.name}`, () => {
    test('they are the ledger’s, whenever they are made', async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (drawn) => {
          const it = await opened(engine)
          try {
            await play(it, drawn)
          } finally {
            await it.stop()
          }
        }),
        { numRuns: engine.name === 'SQLite in memory' ? drawn(15, 40) : drawn(2, 4) },
      )
    })

    describe('and the clock', () => {
      let it: It
      beforeEach(async () => {
        it = await opened(engine)
      })
      afterEach(() => it.stop())

      test('what was charged some minutes ago is summed', async () => {
        await it.call(START, 'one')
        it.clock.at = START + 12 * MINUTE
        expect(await it.store.reports.rollUp()).toBeGreaterThan(START)
      })

      test('the days after a span that ends within a month are in none of its months', async () => {
        await it.call(START, 'one')
        it.clock.at = Date.UTC(2026, 11, 5)
        await it.call(it.clock.at, 'two')
        it.clock.at = Date.UTC(2026, 11, 29)
        await it.call(it.clock.at, 'three')
        it.clock.at = Date.UTC(2027, 0, 2)
        await it.store.reports.rollUp()
        const span = { from: Date.UTC(2026, 10, 20), to: Date.UTC(2026, 11, 28) }
        for (const groupBy of [['month', 'key'], ['month', 'key', 'model'], ['month']] as const) {
          const query = { ...span, orgs: ['o'], groupBy, only: {}, most: 10 }
          const lines = await it.store.reports.usage(query)
          expect(lines.map(({ groups, amount }) => [groups.month, amount])).toEqual([
            ['2026-11', COST],
            ['2026-12', COST],
          ])
        }
      })

      test('a clock that was hours ahead and is set right leaves no call out', async () => {
        await it.call(START, 'one')
        it.clock.at = START + 8 * HOUR_MS
        await it.store.reports.rollUp()
        it.clock.at = START + 10 * MINUTE
        await it.reap()
        await it.call(it.clock.at, 'two')
        for (const sum of await it.sums()) expect(sum).toEqual([2n * COST, 2])
        it.clock.at = START + 9 * HOUR_MS
        await it.store.reports.rollUp()
        for (const sum of await it.sums()) expect(sum).toEqual([2n * COST, 2])
      })

      test('nor does it count one twice that was charged after the day in which it counts', async () => {
        const begun = await it.open()
        it.clock.at = START + 3 * HOUR_MS
        await it.settle(begun, 'one')
        it.clock.at = START + 36 * HOUR_MS
        await it.call(it.clock.at, 'two')
        it.clock.at += 8 * HOUR_MS
        await it.store.reports.rollUp()
        const first = { from: START - (START % DAY_MS), to: START - (START % DAY_MS) + DAY_MS }
        it.clock.at -= 8 * HOUR_MS - 10 * MINUTE
        for (let round = 0; round < 2; round++) {
          for (const sum of await it.sums()) expect(sum).toEqual([2n * COST, 2])
          for (const sum of await it.sums(first)) expect(sum).toEqual([COST, 1])
          await it.reap()
          await it.store.reports.rollUp()
        }
      })
    })
  })

test('PostgreSQL: nothing is summed from when a transaction began that is still writing', async () => {
  const database = await postgresForTests()
  await (await openTestStore({ url: database.url })).close()
  const engine = openPostgres(database.url)
  const slow = new SQL({ url: database.url, max: 1 })
  const connection = await slow.reserve()
  try {
    await connection.unsafe('begin')
    await connection.unsafe(`insert into setting (name, value) values ('slow', '1')`)
    const [{ at }] = await connection.unsafe(
      `select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as at`,
    )
    await connection.unsafe('select pg_sleep(0.3)')
    expect(await underWaySince(engine)).toBeLessThanOrEqual(Number(at))
    await connection.unsafe('commit')
    expect(await underWaySince(engine)).toBeGreaterThan(Number(at) + 300)
  } finally {
    connection.release()
    await slow.close()
    await engine.close()
    await database.stop()
  }
})
