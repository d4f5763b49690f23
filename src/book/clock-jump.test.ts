/**
 * A database clock that jumps ahead: all processes look silent and all leases look expired, and yet no call is lost.
 */

import { expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { virtualTime } from '../../test/virtual-time.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import { createBook } from './book.ts'
import type { Book } from './contract.ts'

const START = Date.UTC(2026, 10, 21, 6)
const CENT = 10_000_000n
const HOURS = 8 * 3_600_000

test('calls of a process that lives are opened while the clock jumps ahead, and money of a dead one comes back', async () => {
  const { now, clock, pass } = virtualTime(START)
  let ahead = 0
  const store = await openTestStore({ url: 'sqlite::memory:', now: () => START + now() + ahead })
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 10_000n * CENT })
  const [orgId, walletId] = ['o', 'w']
  await store.keys.createKey(
    { id: 'k', hash: 'h', orgId, walletId, label: 'k', prefix: 'k', limits: {} },
    byTest,
  )
  const key = (await store.keys.key('k'))!
  const start = async (instance: string): Promise<Book> => {
    const book = createBook({ store, clock, instance, random: () => 0, log: silentLog })
    const started = book.start()
    await pass(200)
    await started
    return book
  }
  const books = [await start('a'), await start('b')]
  await store.ledger.lend({
    instance: 'dead',
    keyId: 'k',
    leaseId: 'dead:1',
    need: CENT,
    want: CENT,
    useful: 1n,
    ttlMs: 10_000,
  })
  const opened: boolean[] = []
  let serial = 0
  const callFor = async (ms: number) => {
    for (const until = now() + ms; now() < until; ) {
      for (const book of books)
        void Promise.resolve(book.hold({ callId: `c${++serial}`, key, amount: CENT, useful: 1n })).then(
          async (hold) => {
            if (hold instanceof Refusal || 'outcome' in hold) return opened.push(false)
            opened.push(await hold.opened)
            return hold.void()
          },
        )
      await pass(100)
    }
  }
  await callFor(2_000)
  ahead = HOURS
  await callFor(20_000)
  expect(opened.length).toBeGreaterThan(400)
  expect(opened.filter((one) => !one)).toEqual([])
  await pass(30_000)
  expect((await store.wallets.wallet('w'))?.held).toBe(0n)
  await store.close()
})
