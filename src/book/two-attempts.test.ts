/** One call that two processes attempt: each lease in memory stays within its lease in the ledger. */

import { expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { detailFor } from '../../test/store/world.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import { createBook } from './book.ts'
import type { Hold } from './contract.ts'

const WALLET = 10_000_000_000n
const START = Date.UTC(2026, 10, 21, 12, 0, 0)

const detail = detailFor('k')

/**
 * The first attempt's lease is reaped while its process cannot reach the ledger; then another process repeats the call.
 */
const scene = async (shared: boolean) => {
  let time = 0
  const opened = await openTestStore({ url: 'sqlite::memory:', now: () => START + time, shared })
  const refused: unknown[] = []
  const giveBack = (lease: string, back: bigint) =>
    opened.ledger.giveBack(lease, back).catch((error: unknown) => void refused.push(error))
  const store = { ...opened, ledger: { ...opened.ledger, giveBack } }
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: WALLET })
  const limits = { spendCap: WALLET }
  await store.keys.createKey(
    {
      id: 'k',
      hash: 'h',
      orgId: 'o',
      walletId: 'w',
      label: 'k',
      prefix: 'k',
      limits,
    },
    byTest,
  )
  const key = (await store.keys.key('k'))!
  const bookOf = async (instance: string) => {
    const clock = {
      now: () => START,
      monotonicMs: () => 0,
      sleep: () => new Promise<void>(() => undefined),
      turn: () => Promise.resolve(),
    }
    const book = createBook({ store, clock, instance, random: () => 0, log: silentLog })
    await book.start()
    return book
  }
  const attempt = async (book: Awaited<ReturnType<typeof bookOf>>): Promise<Hold> => {
    const hold = await book.hold({ callId: 'c', key, amount: 100n, useful: 1n })
    if (hold instanceof Refusal || 'outcome' in hold) throw new Error('no hold')
    expect(await hold.opened).toBe(true)
    return hold
  }
  const cutOff = await attempt(await bookOf('a'))
  time += 20_000
  for (const _ of [1, 2]) await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
  const book = await bookOf('b')
  return { store, refused, cutOff, repeat: await attempt(book), book }
}

for (const shared of [true, false])
  for (const end of ['settles for less', 'is void'] as const)
    test(`a repeat that ${end} after the first attempt was charged gives back no more than is left (${shared ? 'at once' : 'row by row'})`, async () => {
      const { store, refused, cutOff, repeat, book } = await scene(shared)
      await cutOff.settle(70n, detail)
      if (end === 'is void') await repeat.void()
      else expect(repeat.settle(20n, detail)).rejects.toThrow()
      await book.drain(0)
      expect(refused).toEqual([])
      expect((await store.wallets.wallet('w'))?.held).toBe(0n)
      expect((await store.wallets.wallet('w'))?.balance).toBe(WALLET - 70n)
      expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
      await store.close()
    })
