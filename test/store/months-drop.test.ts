/**
 * Whole past months of details: reports and audit stay what they were, and on PostgreSQL the months go without a row
 * being deleted.
 */
import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { pruneAll } from '../../src/gateway/keep-pruning.ts'
import { leastId } from '../../src/store/months/call-ids.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { untouchedPostgres } from '../postgres.ts'
import { until } from '../until.ts'
import { brokenLaws, engines, untouched } from './engines.ts'
import { oldCalls } from './old-calls.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

const CALLS = 40_000
const HALF_YEAR_MS = 180 * 86_400_000
const YEAR_MS = 2 * HALF_YEAR_MS

const at = (text: string): number => Date.parse(`${text}Z`)

const reports = async (store: Store) => {
  const all: unknown[] = []
  for (const [from, to] of [
    ['2025-01-01T00:00', '2025-06-01T00:00'],
    ['2025-01-20T00:00', '2025-03-12T00:00'],
  ] as const) {
    const span = { from: at(from), to: at(to) }
    all.push(
      await store.reports.usage({
        ...span,
        orgs: 'all',
        only: {},
        most: 10_000,
        groupBy: ['day', 'model', 'key'],
      }),
    )
    const groupBy = ['day', 'model', 'key'] as const
    all.push(await store.reports.usage({ ...span, orgs: ['o'], groupBy, only: {}, most: 1_000 }))
  }
  return all
}

const modelOf = async (store: Store, id: string) => (await store.receipts.chargedCall(id))?.detail?.model

/** Runs statements beside the store, where the details of months are kept apart. */
const besides = (url: string, name: string): SQL | undefined =>
  name === 'PostgreSQL' ? new SQL({ url, max: 2 }) : undefined

const partsOf = async (sql: SQL): Promise<readonly string[]> =>
  (
    await sql.unsafe(
      `select relname as name from pg_class where relname like 'usage_detail\\_%' and relkind = 'r' order by 1`,
    )
  ).map(({ name }: { name: string }) => name.replace('usage_detail_', ''))

/** Fails for each row that is deleted in one of these parts. */
const forbidDeletes = async (sql: SQL, parts: readonly string[]): Promise<void> => {
  await sql.unsafe(
    `create function no_delete() returns trigger language plpgsql as $$ begin raise exception 'a row was deleted'; end $$`,
  )
  for (const part of parts)
    await sql.unsafe(
      `create trigger no_delete before delete on usage_detail_${part} for each row execute function no_delete()`,
    )
}

for (const engine of engines)
  test(`whole months go, and what is needed of them stays, on ${engine.name}`, async () => {
    const database = await untouched(engine)
    const clock = { at: at('2025-01-10T08:00') }
    const store = await openStore({ url: database.url, now: () => clock.at })
    await createOneKey(store)
    const { call, open, settle } = oldCalls(store, clock)
    await store.exports.noteExports(true)
    const january: string[] = []
    for (let n = 0; n < 30; n++) january.push(await call(at('2025-01-10T08:00') + n * 60_000, 'one'))
    clock.at = at('2025-02-05T00:00')
    await store.prune.keepMonths()
    const february = await call(at('2025-02-10T08:00'), 'two')
    // Began in February, and was charged in March.
    clock.at = at('2025-02-28T23:59:59')
    const late = await open()
    clock.at = at('2025-03-01T00:00:05')
    await settle(late, 'late')
    const [refunded = '', waiting = '', ...others] = january
    await store.ledger.post({ kind: 'refund', ref: refunded, debit: 'revenue', credit: 'w', amount: 100n })
    clock.at = at('2025-04-02T00:00')
    await store.prune.keepMonths()
    const april = await call(at('2025-04-10T08:00'), 'two')
    await store.exports.exported([...january, february, late.callId, april].filter((id) => id !== waiting))
    clock.at = at('2025-05-20T08:00')
    await store.prune.keepMonths()
    const before = await reports(store)

    const sql = besides(database.url, engine.name)
    if (sql !== undefined) await forbidDeletes(sql, ['2025_01', '2025_02'])
    const turn = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
      const made = await step()
      expect(await reports(store)).toEqual(before)
      return made
    }
    const done = await pruneAll(store.prune, { months: 2, failureDays: 30 }, turn)
    expect(done).toEqual({
      details: sql === undefined ? 29 : 0,
      months: sql === undefined ? 0 : 2,
      rest: 0,
    })
    const kept = [refunded, waiting, late.callId, april]
    expect(await Promise.all(kept.map((id) => modelOf(store, id)))).toEqual(['one', 'one', 'late', 'two'])
    for (const id of [...others, february]) expect(await modelOf(store, id)).toBeUndefined()
    expect(await brokenLaws(store)).toEqual([])
    await store.reports.forgetRollUps()
    await store.reports.rollUp()
    expect(await reports(store)).toEqual(before)

    // The rest goes row by row when its time has come.
    await store.exports.exported([waiting])
    clock.at = at('2025-06-20T08:00')
    await store.prune.keepMonths()
    expect(
      (await pruneAll(store.prune, { months: 2, failureDays: 30 }, async (step) => step())).details,
    ).toBe(3)
    expect(await Promise.all(kept.map((id) => modelOf(store, id)))).toEqual([
      undefined,
      undefined,
      undefined,
      'two',
    ])
    expect(await reports(store)).toEqual(before)
    if (sql !== undefined)
      expect(await partsOf(sql)).toEqual(['2025_04', '2025_05', '2025_06', '2025_07', '2025_08', 'rest'])
    expect(await brokenLaws(store)).toEqual([])
    await sql?.close()
    await store.close()
    await database.stop()
  })

/** A ledger on PostgreSQL that begins at that time. */
const openedIn = async (text: string) => {
  const database = await untouchedPostgres()
  const clock = { at: at(text) }
  const store = await openStore({ url: database.url, now: () => clock.at })
  await createOneKey(store)
  return { database, clock, store }
}

test('a month that a report reads is dropped later, and calls do not wait for it', async () => {
  const { database, clock, store } = await openedIn('2025-01-10T08:00')
  const { call } = oldCalls(store, clock)
  const old = await call(clock.at, 'one')
  clock.at = at('2025-05-20T08:00')
  await store.prune.keepMonths()
  const before = await store.prune.endDetails(2)
  const sql = new SQL({ url: database.url, max: 2 })
  const report = await sql.reserve()
  await report.unsafe('begin')
  await report.unsafe('select count(*) from usage_detail')
  expect(await store.prune.dropMonths(before)).toEqual({ months: 0, busy: true })
  const meanwhile = await call(clock.at, 'two')
  expect([await modelOf(store, old), await modelOf(store, meanwhile)]).toEqual(['one', 'two'])
  await report.unsafe('commit')
  report.release()
  // One of several processes drops it.
  const other = await openStore({ url: database.url, now: () => clock.at })
  let dropped = 0
  await until(async () => {
    const done = await Promise.all([store, other].map(({ prune }) => prune.dropMonths(before)))
    dropped += done.reduce((sum, { months }) => sum + months, 0)
    return done.every(({ busy }) => !busy)
  })
  expect(dropped).toBe(2)
  expect(await modelOf(store, old)).toBeUndefined()
  expect(await brokenLaws(store)).toEqual([])

  // A process that was killed in the middle left a detached part, which the next one drops.
  const lost = await call(clock.at, 'three')
  clock.at = at('2025-09-20T08:00')
  const later = await store.prune.endDetails(2)
  await sql.unsafe('alter table usage_detail detach partition usage_detail_2025_05')
  await until(async () => !(await store.prune.dropMonths(later)).busy)
  expect(await partsOf(sql)).not.toContain('2025_05')
  expect(await modelOf(store, lost)).toBeUndefined()
  await sql.close()
  await other.close()
  await store.close()
  await database.stop()
})

test('reports look details up in their part, and read none whole', async () => {
  const { database, store, clock } = await openedIn('2025-01-10T08:00')
  clock.at = at('2025-07-01T08:00')
  await store.prune.keepMonths()
  const sql = new SQL({ url: database.url, max: 1 })
  // Half a year of calls by 50 keys.
  await sql.unsafe(`insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at)
    select 'key' || n, 'key' || n, 'o', 'w', '[]', '', '', 0, 0 from generate_series(0, 49) n`)
  await sql.unsafe(`insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
    select 'usage', substr(x.h, 1, 8) || '-' || substr(x.h, 9) || '-7abc-8def-' || lpad(n::text, 12, '0'), 'w', 'revenue', 1, 'key' || n % 50, '', '', x.at
    from generate_series(1, ${CALLS}) n, lateral (select ${at('2025-01-01T00:00')} + n * ${HALF_YEAR_MS / CALLS}::bigint as at) y,
      lateral (select y.at, lpad(to_hex(y.at), 12, '0') as h) x`)
  await sql.unsafe(
    `insert into usage_detail select ref, 'm', 1, 1, '{"vendor":"v","ended":"ok"}' from transfer where kind = 'usage'`,
  )
  await sql.unsafe('analyze')
  const rowsRead = async () => {
    const text = `select cast(sum(seq_tup_read) as int) as n from pg_stat_user_tables where relname like 'usage_detail%'`
    return Number((await sql.unsafe(text))[0].n)
  }
  const other = await openStore({ url: database.url, now: () => clock.at })
  const before = await rowsRead()
  const span = { from: at('2025-04-01T00:00'), to: at('2025-05-01T00:00') }
  const [used] = await other.reports.usage({
    ...span,
    orgs: 'all',
    only: {},
    most: 10_000,
    groupBy: ['model'],
  })
  expect(used?.requests).toBeGreaterThan(CALLS / 7)
  await other.reports.rollUp()
  expect((await other.reports.calls({ orgs: ['o'], most: 100 })).lines).toHaveLength(100)
  // A connection reports what it has read when it ends.
  await other.close()
  await Bun.sleep(200)
  expect(await rowsRead()).toBe(before)
  await sql.close()
  await store.close()
  await database.stop()
})

test('calls are charged once, each with its detail, while parts are made of the rest and dropped', async () => {
  const { database, store, clock } = await openedIn('2025-01-10T08:00')
  const sql = new SQL({ url: database.url, max: 1 })
  const others = await Promise.all([1, 2].map(() => openStore({ url: database.url, now: () => clock.at })))
  let over = false
  const charged: string[] = []
  const stores = [store, ...others]
  const callers = stores.map(async (one, n) => {
    const [instance, leaseId] = [`i${n}`, `i${n}:1`]
    const lease = { instance, leaseId, keyId: 'k', need: CENT, want: 10n * CENT, useful: 1n, ttlMs: YEAR_MS }
    expect((await one.ledger.lend(lease)).outcome).toBe('lent')
    for (let serial = 0; !over; serial++) {
      const callId = leastId(clock.at).slice(0, -12) + `${n}`.padStart(4, '0') + `${serial}`.padStart(8, '0')
      await one.ledger.commit(batchOf(instance, { intents: [{ callId, leaseId, hold: 100n }] }))
      const settle = { callId, leaseId, payer: 'w', charge: 1n, excess: 0n, detail: detailFor('k') }
      await one.ledger.commit(batchOf(instance, { settles: [settle] }))
      charged.push(callId)
    }
  })
  for (const month of [2, 3, 4, 5, 6]) {
    // Nobody made this part in time.
    await sql.unsafe(`alter table usage_detail detach partition usage_detail_2025_0${month}`)
    await sql.unsafe(`drop table usage_detail_2025_0${month}`)
    clock.at = at(`2025-0${month}-10T08:00`)
    const since = charged.length
    await until(() => charged.length > since + 10)
    // The last existing part ends later: only when it is gone too does the rest become one.
    await sql.unsafe(`drop table usage_detail_2025_0${month + 1}`)
    await until(async () => {
      await Promise.all(others.map(({ prune }) => prune.keepMonths()))
      return (await partsOf(sql)).includes(`2025_0${month + 2}`)
    })
  }
  over = true
  await Promise.all(callers)
  const [row] = await sql.unsafe(
    `select (select count(*) from usage_detail) as details, (select count(*) from transfer where kind = 'usage') as charges`,
  )
  expect([Number(row.details), Number(row.charges)]).toEqual([charged.length, charged.length])
  expect(await brokenLaws(store)).toEqual([])
  clock.at = at('2025-09-20T08:00')
  await until(async () => !(await store.prune.dropMonths(await store.prune.endDetails(2))).busy)
  expect((await store.receipts.chargedCall(charged[0] ?? ''))?.detail).toBeUndefined()
  expect(await brokenLaws(store)).toEqual([])
  await sql.close()
  for (const one of stores) await one.close()
  await database.stop()
})
