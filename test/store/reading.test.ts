/** Reports on SQLite: read on a thread of their own, so that calls do not wait for them. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { createOneKey } from './world.ts'

const CALLS = 200_000

let folder = ''
let store: Store
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-reading-'))
  store = await openStore({ url: `sqlite:${folder}/ledger.db` })
  await createOneKey(store)
  const database = new Database(join(folder, 'ledger.db'))
  const numbers = `with recursive n(n) as (select 1 union all select n + 1 from n where n < ${CALLS})`
  database.run(`${numbers} insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
    select 'usage', 'old' || n, 'w', 'revenue', 1, 'k', '2026-01', '2026-01-01', n from n`)
  database.run(
    `insert into usage_detail select ref, 'm', 1, 1, json_object('keyId', 'k') from transfer where kind = 'usage'`,
  )
  database.close()
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const report = () =>
  store.reports.usage({
    tree: 'k',
    orgs: 'all',
    only: {},
    most: 10_000,
    from: 0,
    to: CALLS * 2,
    groupBy: ['day', 'model'],
  })

test('six reports over many calls hold up nobody: what is asked after them is answered before', async () => {
  const ended: string[] = []
  const reports = Array.from({ length: 6 }, () => report().then(() => ended.push('report')))
  await store.ping().then(() => ended.push('ping'))
  await Promise.all(reports)
  expect(ended).toEqual(['ping', ...Array(6).fill('report')])
})

test('the running check of the books holds up nobody either', async () => {
  const ended: string[] = []
  const check = store.ledger.audit('sums').then(() => ended.push('check'))
  // Each is a turn of the calls' thread; if the check ran on that thread, it would end first.
  for (let pings = 0; pings < 20; pings++) await store.ping().then(() => ended.push('ping'))
  await check
  expect(ended).toEqual([...Array(20).fill('ping'), 'check'])
})

test('a report sees all that was written before it was asked for', async () => {
  const [first] = await report()
  expect(first?.requests).toBe(CALLS)
  await store.ledger.post({ kind: 'topup', ref: 'r', debit: 'cash', credit: 'w', amount: 5n })
  expect(await store.ledger.balance('w')).toBeGreaterThan(0n)
  const [again] = await report()
  expect(again).toEqual(first!)
})

test('a store that is closed fails its reports, and does not leave them waiting', async () => {
  const other = await openStore({ url: `sqlite:${folder}/ledger.db` })
  const waiting = other.reports
    .usage({ orgs: 'all', only: {}, most: 10_000, from: 0, to: 1, groupBy: [] })
    .then(
      () => 'read',
      () => 'failed',
    )
  await other.close()
  expect(['read', 'failed']).toContain(await waiting)
})
