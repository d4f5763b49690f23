/** A batch of 50,000 lines: lines that begin and end are found by their places, without statistics of the new rows. */
import { expect, test } from 'bun:test'
import type { LineEnd, NewBatch } from '../../src/store/batches/batch-port.ts'
import { openStore } from '../../src/store/open-store.ts'
import { postgresForTests } from '../postgres.ts'
import { rowsRead } from './rows-read.ts'
import { createOneKey, detailFor } from './world.ts'

const LINES = 50_000
const ADDED_AT_ONCE = 5_000
const [STEPS, AT_ONCE] = [60, 32]
/** What a line reads of rows by indexes: its own, by several of them, and what its step reads for all. */
const ROWS_EACH = 60
const TABLES = ['batch', 'batch_line', 'inflight', 'transfer', 'usage_detail', 'lease', 'budget']

test('a line of a large batch begins and ends without a look at the others', async () => {
  const database = await postgresForTests()
  const store = await openStore({ url: database.url })
  await createOneKey(store)
  const begins: NewBatch = {
    ...{ id: 'b', form: 'openai', onCap: 'refuse', input: 'file', owner: 'i', ownerMs: 600_000 },
    ...{ keyId: 'k', walletId: 'w', payer: 'w', lifeMs: 600_000 },
    asked: { endpoint: '/v1/chat/completions', mode: 'wallet' },
  }
  expect(await store.batches.open(begins, 9)).toBe('opened')
  for (let from = 0; from < LINES; from += ADDED_AT_ONCE) {
    const lines = Array.from({ length: ADDED_AT_ONCE }, (_, at) => {
      const n = from + at + 1
      return { n, customId: `l${n}`, at: n, bytes: 1, bound: 100n, route: '' }
    })
    await store.batches.addLines('b', 'i', lines)
  }
  expect(await store.batches.begin('b', 'i')).toEqual({ outcome: 'begun' })
  await store.close()
  const before = await rowsRead(database.url, TABLES)
  const again = await openStore({ url: database.url })
  const next = () => ({
    ...{ owner: 'i', route: '' },
    callIds: Array.from({ length: AT_ONCE }, () => crypto.randomUUID()),
  })
  let open = (await again.batches.take('b', next()))?.lines ?? []
  for (let step = 0; step < STEPS; step++) {
    const ends = open.map(({ n, callId }): LineEnd => {
      const settle = { charge: 70n, excess: 0n, detail: detailFor('k') }
      return { n, callId, state: 'succeeded', settle, result: '{}', receipt: undefined }
    })
    const { ended, taken } = await again.batches.endAndTake('b', ends, next())
    expect(ended.size).toBe(AT_ONCE)
    open = taken?.lines ?? []
  }
  await again.close()
  const after = await rowsRead(database.url, TABLES)
  expect((after - before) / STEPS / AT_ONCE).toBeLessThan(ROWS_EACH)
  await database.stop()
})
