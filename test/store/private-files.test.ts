/** Only their owner can read the ledger's files: they show who spends what. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openOutboxFolder } from '../../src/book/outbox-folder.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-private-'))
const before = process.umask()

beforeAll(() => {
  process.umask(0o022)
})
afterAll(() => {
  process.umask(before)
  rmSync(folder, { recursive: true, force: true })
})

const rightsOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const rightsIn = (path: string) => readdirSync(path).map((name) => [name, rightsOf(join(path, name))])

test('a new database, its log and its folders', async () => {
  const data = join(folder, 'deep', 'data')
  const store = await openStore({ url: `sqlite:${join(data, 'ledger.db')}` })
  await store.wallets.createWallet({ id: 'wal_1', orgId: 'org', name: 'one' }, byTest)
  expect(rightsIn(data).sort()).toEqual([
    ['ledger.db', '600'],
    ['ledger.db-shm', '600'],
    ['ledger.db-wal', '600'],
  ])
  expect([rightsOf(data), rightsOf(join(folder, 'deep'))]).toEqual(['700', '700'])
  await store.close()
})

test('a database that an older version left open to others; a folder that was there stays as it is', async () => {
  const data = join(folder, 'old')
  const url = `sqlite:${join(data, 'ledger.db')}`
  await (await openStore({ url })).close()
  chmodSync(join(data, 'ledger.db'), 0o644)
  chmodSync(data, 0o755)
  const store = await openStore({ url })
  await store.wallets.createWallet({ id: 'wal_1', orgId: 'org', name: 'one' }, byTest)
  for (const [name, rights] of rightsIn(data)) expect([name, rights]).toEqual([name, '600'])
  expect(rightsOf(data)).toBe('755')
  await store.close()
})

test('the journal', async () => {
  const path = join(folder, 'journal')
  const journal = await openOutboxFolder(path)
  const file = await journal.create('one')
  await file.append('text')
  await file.close()
  expect([rightsOf(path), rightsIn(path)]).toEqual(['700', [['one', '600']]])
})
