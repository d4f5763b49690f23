/** `turnpike prune`, and the server that does the same by itself: details of old calls go, their postings stay. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { untouchedPostgres } from '../postgres.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { oldCalls } from '../store/old-calls.ts'
import { createOneKey } from '../store/world.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-prune-'))
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

/** A ledger with calls of years ago. */
const oldLedger = async (name: string, calls: number): Promise<string> => {
  mkdirSync(join(folder, name))
  const clock = { at: Date.UTC(2020, 0, 10) }
  const store = await openStore({ url: `sqlite:${join(folder, name, 'ledger.db')}`, now: () => clock.at })
  await createOneKey(store)
  const { call } = oldCalls(store, clock)
  for (let n = 0; n < calls; n++) await call(clock.at + 1_000, 'one')
  await store.close()
  return join(folder, name)
}

const counts = (home: string) => {
  const file = new Database(join(home, 'ledger.db'), { readonly: true })
  const row = file
    .query(
      `select (select count(*) from usage_detail) as details, (select count(*) from transfer where kind = 'usage') as charges`,
    )
    .get()
  file.close()
  return row
}

const settings = { DATABASE_URL: 'sqlite:./ledger.db' }

test('the command deletes what is older than its option says, and nothing where details are kept for ever', async () => {
  const home = await oldLedger('command', 12)
  const usage = () =>
    runProgram(home, settings, 'usage', '--from', '2020-01-01', '--to', '2021-01-01', '--json')
  const before = await usage()
  expect(JSON.parse(before.out)).toMatchObject([{ model: 'one', requests: 12, input_tokens: 13_200 }])
  const off = await runProgram(home, { ...settings, KEEP_DETAILS: 'off' }, 'prune', '--json')
  expect(JSON.parse(off.out)).toEqual({ details: 0, months: 0, others: 0 })
  expect((await runProgram(home, settings, 'prune', '--months', '0')).errors).toContain('--months must be')
  const done = await runProgram(home, settings, 'prune', '--months', '6')
  expect([done.code, done.out]).toEqual([0, 'deleted: details of 12 calls, 0 other rows; no posting\n'])
  expect(counts(home)).toEqual({ details: 0, charges: 12 })
  expect((await usage()).out).toBe(before.out)
  expect((await runProgram(home, settings, 'audit')).code).toBe(0)
})

test('a server does it by itself, unless a setting keeps them', async () => {
  const home = await oldLedger('server', 12)
  const keeping = await startProgram(home, { ...settings, KEEP_DETAILS: 'off' })
  expect(counts(home)).toEqual({ details: 12, charges: 12 })
  keeping.child.kill('SIGTERM')
  await keeping.child.exited
  expect(counts(home)).toEqual({ details: 12, charges: 12 })
  const pruning = await startProgram(home, settings)
  await until(() => JSON.stringify(counts(home)) === JSON.stringify({ details: 0, charges: 12 }))
  pruning.child.kill('SIGTERM')
  expect(await pruning.child.exited).toBe(0)
  expect((await runProgram(home, settings, 'audit')).code).toBe(0)
})

test('on PostgreSQL months go whole, and the command says how many', async () => {
  const database = await untouchedPostgres()
  const today = new Date()
  const clock = { at: Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 6, 10) }
  const store = await openStore({ url: database.url, now: () => clock.at })
  await createOneKey(store)
  await oldCalls(store, clock).call(clock.at, 'one')
  await store.close()
  const home = join(folder, 'postgres')
  mkdirSync(home)
  const done = await runProgram(home, { DATABASE_URL: database.url }, 'prune', '--months', '5')
  expect(done.out).toBe('deleted: details of 1 whole month, details of 0 calls, 0 other rows; no posting\n')
  expect((await runProgram(home, { DATABASE_URL: database.url }, 'audit')).code).toBe(0)
  await database.stop()
})
