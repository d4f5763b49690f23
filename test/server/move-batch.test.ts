/** A line that is open when its organisation is to move is waited for, and ends where it began; the others are run there. */
import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { openFolder } from '../../src/assets/folder.ts'
import { moveOrganisation } from '../../src/store/move/move-organisation.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { chatLine, startBatchServer } from './batch-rig.ts'
import { completion, USD } from './harness.ts'

const LINES = 5
const COST = 60_000n
const OWN = { orgId: 'org_lines', walletId: 'wal_lines' }

test('an open line keeps a batch here until it has ended, and is run once', async () => {
  const file = engines.find(({ name }) => name === 'SQLite in a file')
  if (file === undefined) throw new Error('there are files')
  const databases = [await file.fresh(), await file.fresh()]
  const folder = await tempFolder('turnpike-line-')
  const [a, b] = await Promise.all(
    databases.map(({ url }) => startBatchServer({ url, change: { bytes: openFolder(folder) } })),
  )
  if (a === undefined || b === undefined) throw new Error('there are two')
  await a.store.wallets.createWallet({ id: OWN.walletId, orgId: OWN.orgId, name: 'lines' }, byTest)
  const paid = { kind: 'topup', ref: 'paid', debit: 'cash', credit: OWN.walletId, amount: USD } as const
  await a.store.ledger.post(paid)
  const { token, id: keyId } = await a.newKey({}, OWN)
  const gate = Promise.withResolvers<void>()
  const asked: string[] = []
  for (const server of [a, b]) {
    Object.assign(server.gateway.options, { batchLinesOpen: 1 })
    server.answerWith(async ({ text }) => {
      asked.push(/say \d+/.exec(text)?.[0] ?? '')
      if (asked.length === 1) await gate.promise
      return completion('hello')
    })
  }
  const all = Array.from({ length: LINES }, (_, n) => chatLine(n))
  const input_file_id = await a.upload(token, all)
  const batch = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id } as const
  const { id } = await a.client(token).batches.create(batch)
  await until(() => asked.length === 1)
  const move = (waitMs: number) =>
    moveOrganisation({
      ...{ orgId: OWN.orgId, by: byTest, waitMs, tell: () => undefined },
      from: { url: databases[0]?.url ?? '', cell: 'a' },
      to: { url: databases[1]?.url ?? '', cell: 'b' },
    })
  const said = await move(3_000).catch((error: Error) => error.message)
  expect(said).toBe('its open calls did not end within 3 s: it stays, and its keys work again')
  const moving = move(600_000)
  await until(async () => (await a.store.keys.key(keyId))?.cell === 'leaving b')
  gate.resolve()
  await moving
  const there = await b.store.batches.batchFor(id.slice('batch_'.length), keyId)
  expect(there?.state).not.toBe('ended')
  const ended = await b.ended(token, id)
  expect(ended.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 })
  expect((await b.results(token, ended.output_file_id)).size).toBe(LINES)
  expect(asked.toSorted()).toEqual(all.map((_, n) => `say ${n}`))
  const revenue = await Promise.all([a, b].map(({ store }) => store.ledger.balance('revenue')))
  expect(revenue).toEqual([COST, BigInt(LINES - 1) * COST])
  expect((await b.store.wallets.wallet(OWN.walletId))?.balance).toBe(USD - BigInt(LINES) * COST)
  for (const { store } of [a, b]) expect(await brokenLaws(store)).toEqual([])
  for (const server of [a, b]) await server.stop()
  await rm(folder, { recursive: true })
  for (const database of databases) await database.stop()
})
