/** Two processes end the same call in the same instant: its charge and its lease move together, or not at all. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import type { Store } from '../../src/store/port.ts'
import { openTestStore } from '../memory-ledger.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { brokenLaws } from './engines.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

let database: TestDatabase
let store: Store
let sql: SQL
beforeAll(async () => {
  database = await postgresForTests()
  store = await openTestStore({ url: database.url })
  sql = new SQL({ url: database.url, max: 2 })
  await createOneKey(store)
})
afterAll(async () => {
  await sql.close()
  await store.close()
  await database.stop()
})

const leaseOf = async (instance: string): Promise<string> => {
  const ask = { keyId: 'k', need: CENT, want: CENT, useful: 1n, ttlMs: 60_000 }
  const lease = await store.ledger.lend({ ...ask, instance, leaseId: `${instance}:1` })
  if (lease.outcome !== 'lent') throw new Error(lease.outcome)
  return lease.leaseId
}

const untilBlocked = async (): Promise<void> => {
  const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await sql.unsafe(waits)).length === 0) await Bun.sleep(10)
}

test('a void by one process between the charge and its booking by another', async () => {
  const [a, b] = [await leaseOf('a'), await leaseOf('b')]
  await store.ledger.commit(batchOf('a', { intents: [{ callId: 'c', leaseId: a, hold: 100n }] }))
  // Delays the charge once it has seen that the call is open.
  const other = await sql.reserve()
  await other.unsafe('begin')
  await other.unsafe(
    `insert into transfer (kind, ref, debit, credit, amount, at) values ('usage', 'c', 'w', 'revenue', 1, 0)`,
  )
  const settle = { callId: 'c', leaseId: b, payer: 'w', charge: 70n, excess: 0n, detail: detailFor('k') }
  const settled = store.ledger.commit(batchOf('b', { settles: [settle] }))
  await untilBlocked()
  const void_ = openTestStore({ url: database.url }).then(async (second) => {
    await second.ledger.commit(batchOf('a', { voids: ['c'] }))
    await second.close()
  })
  await Bun.sleep(300)
  await other.unsafe('rollback')
  other.release()
  await settled
  await void_
  expect(await brokenLaws(store)).toEqual([])
  expect((await store.wallets.wallet('w'))?.balance).toBe(100n * CENT - 70n)
})
