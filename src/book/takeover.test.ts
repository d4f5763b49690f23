/** A call that another process takes over under the same id, as for a repeat under an Idempotency-Key. */

import { afterEach, expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { detailFor } from '../../test/store/world.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import type { Store } from '../store/port.ts'
import { createBook } from './book.ts'
import type { Book, Hold } from './contract.ts'

const START = Date.UTC(2026, 10, 21, 12, 0, 0)
const WALLET = 10_000_000_000n

const detail = detailFor('k')

const ref = { keyId: 'k', endpoint: 'chat', key: 'i' }
const answer = (body: string) => ({ ref, answer: { status: 200, headers: {}, body } })

let open: Store | undefined
afterEach(async () => {
  await open?.close()
  open = undefined
})

/** Processes on one store; none sends heartbeats by itself, so each is silent once time has passed. */
const scene = async (shared: boolean) => {
  let time = 0
  const opened = await openTestStore({ url: 'sqlite::memory:', now: () => START + time, shared })
  open = opened
  let lending: Promise<void> = Promise.resolve()
  const store: Store = {
    ...opened,
    ledger: { ...opened.ledger, lend: (ask) => lending.then(() => opened.ledger.lend(ask)) },
  }
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: WALLET })
  await store.keys.createKey(
    {
      id: 'k',
      hash: 'h',
      orgId: 'o',
      walletId: 'w',
      label: 'k',
      prefix: 'k',
      limits: {},
    },
    byTest,
  )
  const key = (await store.keys.key('k'))!
  const bookOf = async (instance: string): Promise<Book> => {
    const clock = {
      now: () => START + time,
      monotonicMs: () => 0,
      sleep: () => new Promise<void>(() => undefined),
      turn: () => Promise.resolve(),
    }
    const book = createBook({ store, clock, instance, random: () => 0, log: silentLog })
    await book.start()
    return book
  }
  const attempt = async (book: Book, amount: bigint): Promise<Hold> => {
    const hold = await book.hold({ callId: 'c', key, amount, useful: 1n })
    if (hold instanceof Refusal || 'outcome' in hold) throw new Error('no hold')
    return hold
  }
  const begin = () =>
    store.idempotency.begin({ ref, fingerprint: 'f', callId: 'c', instance: 'a', lockMs: 1_000 })
  return {
    store,
    attempt,
    /** The call has an Idempotency-Key. */
    claim: async () => expect((await begin()).state).toBe('first'),
    /** What its next repeat gets. */
    kept: async () => {
      const state = await begin()
      return state.state === 'done' ? state.answer.body : state.state
    },
    bookOf,
    /** From now on loans wait until this is called. */
    lendsLate: () => {
      const late = Promise.withResolvers<void>()
      lending = late.promise
      return late.resolve
    },
    wait: (ms: number) => {
      time += ms
    },
    charges: async () => (await store.ledger.transfersOf('c')).map(({ kind, amount }) => [kind, amount]),
    sound: async () => expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([]),
  }
}

for (const shared of [true, false]) {
  const how = shared ? 'at once' : 'row by row'

  test(`the repeat is charged the cost in its answer, though the first attempt held less (${how})`, async () => {
    const { attempt, bookOf, wait, charges, sound } = await scene(shared)
    expect(await (await attempt(await bookOf('a'), 50n)).opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    expect((await repeat.settle(100n, detail)).charged).toBe(100n)
    expect(await charges()).toEqual([['usage', 100n]])
    await sound()
  })

  test(`the first attempt cannot take the repeat's intent away (${how})`, async () => {
    const { store, attempt, bookOf, wait, charges, sound } = await scene(shared)
    const first = await attempt(await bookOf('a'), 100n)
    expect(await first.opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    repeat.checkpoint(60n)
    await first.void()
    // The process of the repeat is killed here, after delivering 60.
    wait(60_000)
    for (const _ of [1, 2]) {
      await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
      wait(1)
    }
    expect(await charges()).toEqual([['usage', 60n]])
    expect((await store.wallets.wallet('w'))?.held).toBe(0n)
    await sound()
  })

  test(`an attempt that finds its call charged otherwise does not answer (${how})`, async () => {
    const { attempt, bookOf, wait, charges, sound } = await scene(shared)
    const first = await attempt(await bookOf('a'), 100n)
    expect(await first.opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    await first.settle(70n, detail)
    expect(repeat.settle(20n, detail)).rejects.toThrow()
    expect(await charges()).toEqual([['usage', 70n]])
    await sound()
  })

  test(`room that comes after the call was void does not extend its repeat (${how})`, async () => {
    const { store, attempt, bookOf, lendsLate, sound } = await scene(shared)
    const book = await bookOf('a')
    const first = await attempt(book, 100n)
    expect(await first.opened).toBe(true)
    const lend = lendsLate()
    const extended = first.extend(10_000n, 0n, false)
    await first.void()
    const repeat = await attempt(book, 100n)
    expect(await repeat.opened).toBe(true)
    lend()
    expect(await extended).toBe('refused')
    expect((await store.wallets.wallet('w'))?.held).toBe(100n)
    await sound()
    await repeat.settle(100n, detail)
  })

  test(`a repeat whose process lives beside the first attempt's is not opened on its intent (${how})`, async () => {
    const { attempt, bookOf, charges, sound } = await scene(shared)
    const first = await attempt(await bookOf('a'), 50n)
    expect(await first.opened).toBe(true)
    const repeat = await attempt(await bookOf('b'), 100n)
    const settled = repeat.settle(100n, detail)
    expect(settled).rejects.toThrow()
    expect(await repeat.opened).toBe(false)
    await first.settle(40n, detail)
    expect(await charges()).toEqual([['usage', 40n]])
    await sound()
  })

  test(`of two attempts that cost the same only the one that was charged answers and is kept (${how})`, async () => {
    const { attempt, bookOf, wait, claim, kept, charges, sound } = await scene(shared)
    await claim()
    const first = await attempt(await bookOf('a'), 100n)
    expect(await first.opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    expect((await first.settle(70n, detail, answer('one'))).charged).toBe(70n)
    await expect(repeat.settle(70n, detail, answer('another'))).rejects.toThrow()
    expect([await kept(), await charges()]).toEqual(['one', [['usage', 70n]]])
    await sound()
  })

  test(`and so it is when their leases were reaped before either came to its end (${how})`, async () => {
    const { store, attempt, bookOf, wait, claim, kept, charges, sound } = await scene(shared)
    await claim()
    const first = await attempt(await bookOf('a'), 100n)
    expect(await first.opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    wait(60_000)
    for (const _ of [1, 2]) await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
    await repeat.settle(70n, detail, answer('one'))
    await expect(first.settle(70n, detail, answer('another'))).rejects.toThrow()
    expect([await kept(), await charges()]).toEqual(['one', [['usage', 70n]]])
    await sound()
  })

  test(`after a recovered charge the first answer that comes is kept, and no other is given (${how})`, async () => {
    const { store, attempt, bookOf, wait, claim, kept, charges, sound } = await scene(shared)
    await claim()
    const first = await attempt(await bookOf('a'), 100n)
    expect(await first.opened).toBe(true)
    wait(5_000)
    const repeat = await attempt(await bookOf('b'), 100n)
    expect(await repeat.opened).toBe(true)
    repeat.checkpoint(60n)
    wait(60_000)
    for (const _ of [1, 2]) await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
    await first.settle(60n, detail, answer('one'))
    await expect(repeat.settle(60n, detail, answer('another'))).rejects.toThrow()
    expect([await kept(), await charges()]).toEqual(['one', [['usage', 60n]]])
    await sound()
  })
}
