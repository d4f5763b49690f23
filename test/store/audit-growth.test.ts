/** The look at the books that a server takes every minute, beside many open leases: its work grows with them, not faster. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { mustBeLinear } from '../cpu-growth.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests } from '../postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-audit-'))
const open: { close: () => Promise<unknown> }[] = []
afterAll(async () => {
  for (const one of open.reverse()) await one.close()
  rmSync(folder, { recursive: true })
})

/** A wallet with so many keys, each with its counters and an open lease. `numbers` selects them as `n.i`. */
const leased = (count: number, numbers: string): readonly string[] => [
  `insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at)
     select 'k' || n.i, 'k' || n.i, 'o', 'w', '[]', '', '', 0, 0 from ${numbers} n`,
  `insert into key_line (key_id, owner_id, depth) select 'k' || n.i, 'k' || n.i, 0 from ${numbers} n`,
  `insert into budget (scope, owner_id, wallet_id, held) select 'key:k' || n.i, 'k' || n.i, 'w', 10 from ${numbers} n`,
  `insert into budget (scope, owner_id, wallet_id, held, month)
     select 'key:k' || n.i || ':2026-11', 'k' || n.i, 'w', 10, '2026-11' from ${numbers} n`,
  ...[
    ['week', '2026-11-23/2026-11-29'],
    ['day', '2026-11-26'],
  ].map(
    ([name, period]) => `insert into budget (scope, owner_id, wallet_id, held, ${name}, keep_until)
       select 'key:k' || n.i || ':${period}', 'k' || n.i, 'w', 10, '${period}', 9000000000000 from ${numbers} n`,
  ),
  `insert into budget (scope, wallet_id, day, keep_until, held) values ('day:w:2026-11-26', 'w', '2026-11-26', 9000000000000, ${10 * count})`,
  `insert into lease (id, instance, key_id, wallet_id, month, week, day, expires_at, granted)
     select 'l' || n.i, 'i', 'k' || n.i, 'w', '2026-11', '2026-11-23/2026-11-29', '2026-11-26', 9000000000000, 10 from ${numbers} n`,
  `update account set held = ${10 * count} where id = 'w'`,
]

const ledgerAt = async (url: string): Promise<Store> => {
  const store = await openTestStore({ url, now: () => Date.UTC(2026, 10, 26, 12) })
  open.push(store)
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 1_000_000n })
  return store
}

const look = async (store: Store | undefined): Promise<void> => {
  expect((await store?.ledger.audit('sums'))?.filter(({ ok }) => !ok)).toEqual([])
}

test('on SQLite', async () => {
  const ledgers = new Map<number, Store>()
  for (const count of [400, 3_200]) {
    const path = join(folder, `${count}.db`)
    ledgers.set(count, await ledgerAt(`sqlite:${path}`))
    const database = new Database(path)
    const numbers = `(with recursive s(i) as (select 1 union all select i + 1 from s where i < ${count}) select i from s)`
    for (const text of leased(count, numbers)) database.run(text)
    database.close()
  }
  await mustBeLinear((count) => look(ledgers.get(count)), 400)
})

test('on PostgreSQL, by the leases and counters that it reads', async () => {
  const database = await postgresForTests()
  open.push({ close: () => database.stop() })
  const store = await ledgerAt(database.url)
  const sql = new SQL({ url: database.url, max: 1 })
  open.push(sql)
  const count = 3_000
  for (const text of leased(count, `generate_series(1, ${count})`))
    await sql.unsafe(text.replaceAll(`generate_series(1, ${count}) n`, `generate_series(1, ${count}) n(i)`))
  await sql.unsafe('analyze')
  // Each is read by some laws, once or a few times.
  expect((await rowsRead(store, sql)) / count).toBeLessThan(100)
})

/** Rows of leases and counters that one look reads. */
const rowsRead = async (store: Store, sql: SQL): Promise<number> => {
  const rows = async (): Promise<number> => {
    await sql.unsafe('select pg_stat_clear_snapshot()')
    const read = `select cast(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as int) as rows from pg_stat_user_tables
      where relname in ('lease', 'budget')`
    return (await sql.unsafe(read))[0].rows
  }
  const before = await rows()
  await look(store)
  // A connection reports what it read when it is idle for a while.
  for (let known = await rows(); ; ) {
    await Bun.sleep(1_200)
    const next = await rows()
    if (next === known && next > before) return next - before
    known = next
  }
}
