/** Details in parts by month, on PostgreSQL: made of a ledger with rows, made ahead, and dropped in a moment. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import type { Engine } from '../../src/store/engine/engine.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { leastId, timeOf } from '../../src/store/months/call-ids.ts'
import { keepMonths } from '../../src/store/months/keep-months.ts'
import { missingAt } from '../../src/store/months/make-months.ts'
import { type TestDatabase, untouchedPostgres } from '../postgres.ts'

const at = (text: string): number => Date.parse(`${text}Z`)
const clock = { at: at('2025-01-10T08:00') }

/** More rows than may be read while nobody can use the rest. */
const MANY = 6_000
const ROW = `'m', 1, 1, '{}'`

let database: TestDatabase
let sql: SQL
const engines: Engine[] = []
const engine = (): Engine => {
  const opened = openEngine({ url: database.url, now: () => clock.at })
  engines.push(opened)
  return opened
}
const refresh = async () => {
  await Promise.all(engines.splice(0).map((one) => one.close()))
  await sql?.close()
  await database?.stop()
  clock.at = at('2025-01-10T08:00')
  database = await untouchedPostgres()
  sql = new SQL({ url: database.url, max: 3 })
}
beforeAll(refresh)
afterAll(async () => {
  await Promise.all(engines.map((one) => one.close()))
  await sql.close()
  await database.stop()
})

/** The id of a call of that moment, in lower order than another of it. */
const idAt = (moment: number, serial = 0) =>
  `${leastId(moment).slice(0, -12)}${serial.toString(16).padStart(12, '0')}`

const insert = (...ids: readonly string[]) =>
  sql.unsafe(
    `insert into usage_detail values ${ids.map((id) => `('${id}', ${ROW})`).join(', ')} on conflict (call_id) do nothing`,
  )

const insertMany = (moment: number) =>
  sql.unsafe(
    `insert into usage_detail select '${leastId(moment).slice(0, -12)}' || lpad(n::text, 12, '0'), ${ROW} from generate_series(1, ${MANY}) n`,
  )

/** Each part with its rows. */
const parts = async (): Promise<Record<string, number>> => {
  const rows = await sql.unsafe(
    `select tableoid::regclass::text as part, count(*) as n from usage_detail group by 1
     union all select inhrelid::regclass::text, 0 from pg_inherits where inhparent = 'usage_detail'::regclass`,
  )
  const found: Record<string, number> = {}
  for (const { part, n } of rows) {
    const name = part.replace('usage_detail_', '')
    found[name] = (found[name] ?? 0) + Number(n)
  }
  return found
}

/** What exists beside the parts of the table: nothing, when all is done. */
const besides = async () =>
  (
    await sql.unsafe(
      `select relname as name from pg_class where relname like 'usage_detail\\_%' and relkind = 'r' and not relispartition
       union all select proname from pg_proc where proname like 'usage_detail%'
       union all select conname from pg_constraint where conname like 'usage_detail_until%'`,
    )
  ).map(({ name }: { name: string }) => name)

test('months are made once by several processes, and again as time goes on', async () => {
  await migrate(engine())
  expect(await parts()).toEqual({ rest: 0 })
  await Promise.all(Array.from({ length: 5 }, () => keepMonths(engine())))
  expect(await parts()).toEqual({ '2025_01': 0, '2025_02': 0, '2025_03': 0, rest: 0 })
  await insert(leastId(0), idAt(clock.at), idAt(at('2025-02-01T00:00')), idAt(at('2025-03-31T23:59:59.999')))
  await insert(idAt(at('2025-04-01T00:00')), 'no time at all')
  expect(await parts()).toEqual({ '2025_01': 2, '2025_02': 1, '2025_03': 1, rest: 2 })
  // A clock that is put back changes nothing.
  clock.at = at('2024-06-01T00:00')
  await keepMonths(engine())
  expect(Object.keys(await parts())).toHaveLength(4)
})

test('a month of which the rest has rows is made of the rest, and what does not belong there is kept', async () => {
  clock.at = at('2025-02-03T00:00')
  await Promise.all(Array.from({ length: 3 }, () => keepMonths(engine())))
  await keepMonths(engine())
  expect(await parts()).toEqual({ '2025_01': 2, '2025_02': 1, '2025_03': 1, '2025_04': 1, rest: 1 })
  expect(await besides()).toEqual([])
  // A few rows of other ids do not matter.
  clock.at = at('2025-03-03T00:00')
  await keepMonths(engine())
  expect(await parts()).toEqual({
    '2025_01': 2,
    '2025_02': 1,
    '2025_03': 1,
    '2025_04': 1,
    '2025_05': 0,
    rest: 1,
  })
})

test('a row never fails for want of a part, and a server that was away for years makes few', async () => {
  await sql.unsafe('drop table usage_detail_2025_03')
  await insert(idAt(at('2025-03-10T00:00')), idAt(at('2025-03-10T00:00')))
  expect((await parts()).rest).toBe(2)
  clock.at = at('2035-03-03T00:00')
  await keepMonths(engine())
  const names = Object.keys(await parts())
  expect(names.length).toBeLessThan(40)
  expect(names).toContain('2035_05')
  await insert(idAt(at('2027-01-01T00:00')))
  expect((await parts())['2033_03']).toBe(1)
})

test('what is missing follows the clock and what there is', () => {
  const end = (text: string) => leastId(at(text))
  const month = { name: 'one', to: end('2025-02-01T00:00') }
  const missing = (now: string, months: readonly { name: string; to: string }[]) =>
    missingAt(at(now), { months, off: [] }).map(({ from, to }) => [from, to])
  expect(missing('2025-01-31T23:59:59', [month])).toEqual([
    [month.to, end('2025-03-01T00:00')],
    [end('2025-03-01T00:00'), end('2025-04-01T00:00')],
  ])
  expect(missing('2024-11-30T00:00', [month])).toEqual([])
  expect(missing('2025-12-15T00:00', []).at(0)).toEqual([undefined, end('2026-01-01T00:00')])
  expect(missing('1970-01-15T00:00', [])).toHaveLength(3)
  expect(timeOf(leastId(at('2025-02-01T00:00')))).toBe(at('2025-02-01T00:00'))
})

test('a rest with many rows becomes a month without a row being moved', async () => {
  await refresh()
  const first = engine()
  await migrate(first)
  await insertMany(at('2024-11-10T08:00'))
  await insertMany(at('2025-01-10T07:00'))
  await insert('zzz', idAt(at('2031-01-01T00:00')))
  const file = async (table: string) => {
    const [row] = await sql.unsafe(`select oid, relfilenode as file from pg_class where relname = '${table}'`)
    return [Number(row.oid), Number(row.file)]
  }
  const before = await file('usage_detail_rest')
  await insert(idAt(at('2025-01-10T08:00')), 'zzz')
  // While the last step waits for a report, rows of all ids are taken.
  const report = await sql.reserve()
  await report.unsafe('begin')
  await report.unsafe('lock table only usage_detail in access share mode')
  await keepMonths(first)
  expect(await besides()).toContain('usage_detail_spare')
  await insert(idAt(at('2030-01-01T00:00')), idAt(at('2025-01-10T08:01')))
  await report.unsafe('commit')
  report.release()
  // A column that is added meanwhile is in all parts.
  await sql.unsafe(`alter table usage_detail add column later text not null default 'none'`)
  await Promise.all(Array.from({ length: 3 }, () => keepMonths(engine())))
  await keepMonths(first)
  expect(await parts()).toEqual({ '2025_01': 2 * MANY + 2, '2025_02': 0, '2025_03': 0, rest: 3 })
  expect(await file('usage_detail_2025_01')).toEqual(before)
  expect(await besides()).toEqual([])
  await Promise.all(engines.splice(0).map((one) => one.close()))
  // Read once, for the proof.
  const scans = `select seq_scan from pg_stat_user_tables where relid = ${before[0]}`
  await sql.close()
  sql = new SQL({ url: database.url, max: 3 })
  const read = Number((await sql.unsafe(scans))[0].seq_scan)
  expect(read).toBeLessThan(10)
})
