/** A ledger that has grown: calls and people find its rows by an index, and the audit takes its time. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { until } from '../until.ts'
import { brokenLaws } from './engines.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

const ROWS = 200_000
const KEYS = 30_000

let database: TestDatabase
let store: Store
let sql: SQL
beforeAll(async () => {
  database = await postgresForTests()
  store = await openStore({ url: database.url })
  sql = new SQL({ url: database.url, max: 2 })
  await createOneKey(store)
  const key = { orgId: 'o', walletId: 'w', label: '', prefix: '', limits: {} }
  await store.keys.createKey({ ...key, id: 'top', hash: 'top' }, byTest)
  for (const id of ['low1', 'low2'])
    await store.keys.createKey({ ...key, parentId: 'top', id, hash: id }, byTest)
  await sql.unsafe(`insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
    select 'usage', 'old' || n, 'elsewhere', 'revenue', 1, 'key' || (n % 5000), '2026-01', '2026-01-01', n
    from generate_series(1, ${ROWS}) n`)
  await sql.unsafe(`insert into usage_detail select ref, 'm', 1, 1, cast(json_build_object('keyId', key_id, 'model', 'm',
      'vendor', 'v', 'usage', json_build_object('input', 1, 'output', 1), 'estimated', false, 'priceVersion', '',
      'startedAt', 0, 'tookMs', 0, 'firstByteMs', 0, 'ended', 'ok') as text)
    from transfer where kind = 'usage'`)
  await sql.unsafe('analyze')
})
afterAll(async () => {
  await sql.close()
  await store.close()
  await database.stop()
})

const WITH_CALLS = ['transfer', 'usage_detail', 'usage_detail_rest']
const WITH_KEYS = ['account', 'api_key', 'key_line', 'lease', 'budget']

/** Rows read by reading tables that grow from end to end; a connection reports its own when it ends. */
const fullReads = async (tables: readonly string[]): Promise<number> => {
  await store.close()
  await sql.close()
  sql = new SQL({ url: database.url, max: 1 })
  const others = `select 1 from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
  await until(async () => (await sql.unsafe(others)).length === 0)
  store = await openStore({ url: database.url })
  const reads = `select cast(sum(seq_tup_read) as int) as reads from pg_stat_user_tables
    where relname in (${tables.map((name) => `'${name}'`).join(', ')})`
  return (await sql.unsafe(reads))[0].reads
}

test('what a call or a person waits for reads no table that grows with every call', async () => {
  const before = await fullReads(WITH_CALLS)
  const ask = { instance: 'i', keyId: 'k', leaseId: 'i:1', need: CENT, want: CENT, useful: 1n, ttlMs: 60_000 }
  expect((await store.ledger.lend(ask)).outcome).toBe('lent')
  const call = (callId: string) => ({
    intent: { callId, leaseId: 'i:1', hold: 100n },
    settle: {
      callId,
      leaseId: 'i:1',
      payer: 'w',
      charge: 70n,
      excess: 0n,
      detail: detailFor('k'),
    },
  })
  const [kept, dropped] = [call('kept'), call('dropped')]
  await store.ledger.commit(batchOf('i', { intents: [kept.intent, dropped.intent] }))
  const last = batchOf('i', { settles: [kept.settle], voids: ['dropped'] })
  await store.ledger.commit(last)
  await store.ledger.commit(last)
  await store.ledger.commit(batchOf('i', { intents: [kept.intent], settles: [dropped.settle] }))
  expect(await store.ledger.transfersOf('kept')).toHaveLength(1)
  expect((await store.receipts.chargedCall('kept'))?.charged).toBe(70n)
  await store.ledger.post({ kind: 'refund', ref: 'kept:1', debit: 'revenue', credit: 'w', amount: 1n })
  await store.keys.spend('k')
  const span = {
    orgs: 'all',
    only: {},
    most: 10_000,
    from: 0,
    to: Date.now() + 1_000,
    groupBy: ['day', 'model'],
  } as const
  expect(await store.reports.usage({ keyId: 'k', ...span })).toHaveLength(1)
  for (const [tree, rows] of [
    ['k', 1],
    ['top', 0],
  ] as const)
    expect(await store.reports.usage({ tree, ...span })).toHaveLength(rows)
  await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
  await store.payments.dueChange(10)
  expect(await fullReads(WITH_CALLS)).toBe(before)
})

test('the audit may take longer than a call would wait', async () => {
  await sql.unsafe(
    `insert into account (id, bounded, org_id, name, created_at) values ('elsewhere', 0, 'house', '', 0)`,
  )
  const other = await sql.reserve()
  await other.unsafe('begin')
  await other.unsafe('lock table setting, transfer in access exclusive mode')
  const broken = brokenLaws(store)
  await Bun.sleep(6_000)
  await other.unsafe('rollback')
  other.release()
  expect(await broken).toEqual([])
})

test('what a lease is lent, lives on and gives back by reads no table that grows with keys', async () => {
  for (const statement of [
    `insert into account (id, bounded, org_id, name, created_at) select 'w' || n, 1, 'o', '', 0 from generate_series(1, ${KEYS}) n`,
    `insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at)
       select 'many' || n, 'many' || n, 'o', 'w' || n, '[]', '', '', 0, 0 from generate_series(1, ${KEYS}) n`,
    `insert into key_line (key_id, owner_id, depth) select 'many' || n, 'many' || n, 0 from generate_series(1, ${KEYS}) n`,
    `insert into budget (scope, owner_id, wallet_id) select 'key:many' || n, 'many' || n, 'w' || n from generate_series(1, ${KEYS}) n`,
    `insert into lease (id, instance, key_id, wallet_id, month, day, expires_at, state)
       select 'old' || n, 'other', 'many' || n, 'w' || n, '2026-01', '2026-01-01', ${Date.now()}, 'closed' from generate_series(1, ${KEYS}) n`,
    'analyze',
  ])
    await sql.unsafe(statement)
  const before = await fullReads(WITH_KEYS)
  const ask = { instance: 'j', keyId: 'k', leaseId: 'j:1', need: CENT, want: CENT, useful: 1n, ttlMs: 60_000 }
  expect((await store.ledger.lend(ask)).outcome).toBe('lent')
  await store.ledger.giveBack('j:1', 1n)
  expect(await store.ledger.renew('j', ['j:1'], 60_000)).toHaveLength(1)
  await store.ledger.giveBack('j:1', CENT - 1n)
  await store.ledger.release('j', ['j:1'])
  expect(await fullReads(WITH_KEYS)).toBe(before)
})
