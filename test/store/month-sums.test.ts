/**
 * Sums of months equal those of their days, whoever writes days, even a version that knows no months. On every engine.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DAY_MS } from '../../src/core/time.ts'
import type { Engine, Row } from '../../src/store/engine/engine.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { drawn } from '../sample.ts'
import { engines, untouched } from './engines.ts'

const START = Date.UTC(2026, 11, 20)

const ask = async (engine: Engine, text: string): Promise<readonly Row[]> =>
  (await engine.batch('control', [{ text, params: [] }]))[0] ?? []

type Sum = {
  readonly key: number
  readonly day: number
  readonly model: number
  readonly requests: number
  readonly amount: number
}

const valuesOf = (sums: readonly Sum[], more: readonly number[], of: (sum: Sum) => string): string =>
  [
    ...new Map(
      sums.map((sum) => [
        of(sum),
        `(${of(sum)}, ${[sum.requests, sum.requests * 3, sum.requests, sum.amount, ...more.map((n) => n * sum.amount)].join(', ')})`,
      ]),
    ).values(),
  ].join(', ')

const names = ['requests', 'input_tokens', 'output_tokens', 'amount'] as const
/** What the version before does not know. */
const newNames = ['cached_tokens', 'cache_write_tokens', 'cache_saved'] as const
const added = (table: string, counts: readonly string[]) =>
  counts.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ')

/** Writes sums of days as this version does, or as the one before. */
const write = async (engine: Engine, sums: readonly Sum[], before: boolean): Promise<void> => {
  const counts = before ? names : [...names, ...newNames]
  const more = before ? [] : [1, 2, -3]
  const dayOf = ({ day }: Sum) => START + day * DAY_MS
  await ask(
    engine,
    `insert into roll_up_key (org_id, key_id, day, ${counts.join(', ')})
     select * from (values ${valuesOf(sums, more, (sum) => `'o', 'k${sum.key}', ${dayOf(sum)}`)}) v where 1 = 1
     on conflict (org_id, key_id, day) do update set ${added('roll_up_key', counts)}`,
  )
  await ask(
    engine,
    `insert into roll_up_day (key_id, day, model, vendor, ended, ${counts.join(', ')})
     select * from (values ${valuesOf(sums, more, (sum) => `'k${sum.key}', ${dayOf(sum)}, 'm${sum.model}', 'v', 'ok'`)}) v where 1 = 1
     on conflict (key_id, day, model, vendor, ended) do update set ${added('roll_up_day', counts)}`,
  )
}

const forget = async (engine: Engine, day: number): Promise<void> => {
  for (const table of ['roll_up_key', 'roll_up_day'])
    await ask(engine, `delete from ${table} where day >= ${START + day * DAY_MS}`)
}

const monthOf = (day: unknown): number => {
  const date = new Date(Number(day))
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** Rows by their key, as sums that are not zero. */
const summed = (rows: readonly Row[], of: (row: Row) => string): readonly (readonly [string, string])[] => {
  const sums = new Map<string, readonly bigint[]>()
  for (const row of rows) {
    const counted = [...names, ...newNames].map((name) => BigInt(String(row[name])))
    sums.set(
      of(row),
      counted.map((count, at) => count + (sums.get(of(row))?.[at] ?? 0n)),
    )
  }
  return [...sums]
    .filter(([, counted]) => counted.some((count) => count !== 0n))
    .map(([name, counted]) => [name, counted.join(' ')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

const check = async (engine: Engine): Promise<void> => {
  for (const [days, months, model] of [
    ['roll_up_key', 'roll_up_key_month', false],
    ['roll_up_day', 'roll_up_model_month', true],
  ] as const) {
    const of = (row: Row, at: unknown) => `${row.key_id} ${at} ${model ? row.model : ''}`
    const expected = summed(await ask(engine, `select * from ${days}`), (row) => of(row, monthOf(row.day)))
    const rows = await ask(engine, `select * from ${months}`)
    expect(summed(rows, (row) => of(row, Number(row.month)))).toEqual(expected)
    expect(rows.length).toBeGreaterThanOrEqual(expected.length)
  }
}

const sum = fc.record({
  key: fc.nat(2),
  day: fc.nat(60),
  model: fc.nat(1),
  requests: fc.nat(5),
  amount: fc.integer({ min: -50, max: 1_000 }),
})
const step = fc.oneof(
  { weight: 4, arbitrary: fc.array(sum, { minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.nat(60) },
)

for (const kind of engines)
  test(`months are what days come to, ${kind.name}`, async () => {
    const database = await untouched(kind)
    const engine = openEngine(database)
    await migrate(engine)
    await write(
      engine,
      [
        { key: 1, day: 0, model: 0, requests: 2, amount: 70 },
        { key: 1, day: 11, model: 1, requests: 1, amount: 20 },
        { key: 1, day: 12, model: 1, requests: 3, amount: 30 },
      ],
      true,
    )
    // Two days of December and one of January.
    await check(engine)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        for (const [at, one] of steps.entries()) {
          if (typeof one === 'number') await forget(engine, one)
          else await write(engine, one, at % 2 === 0)
          await check(engine)
        }
      }),
      { numRuns: kind.name === 'SQLite in memory' ? drawn(20, 60) : drawn(4, 8) },
    )
    await engine.close()
    await database.stop()
  })
