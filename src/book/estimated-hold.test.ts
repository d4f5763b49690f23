/** A call by an own key has two holds on two leases: both end, or it is not answered. */
import { expect, test } from 'bun:test'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { detailFor } from '../../test/store/world.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import { createBook } from './book.ts'

const START = Date.UTC(2026, 10, 21, 12, 0, 0)
const detail = { ...detailFor('k'), vendorEstimate: '300' }

for (const shared of [true, false])
  test(`a call of which one half was fenced is not answered, and leaves nothing (${shared ? 'at once' : 'row by row'})`, async () => {
    const store = await openTestStore({ url: 'sqlite::memory:', now: () => START, shared })
    await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
    await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 10n ** 10n })
    const limits = { spendCap: 10n ** 10n }
    const of = { id: 'k', hash: 'h', orgId: 'o', walletId: 'w', label: 'k', prefix: 'k' }
    const key = await store.keys.createKey({ ...of, limits }, byTest)
    const clock: Clock = {
      now: () => START,
      monotonicMs: () => 0,
      sleep: () => new Promise<void>(() => undefined),
      turn: () => Promise.resolve(),
    }
    const book = createBook({ store, clock, instance: 'a', random: () => 0, log: silentLog })
    await book.start()
    const hold = async (callId: string) => {
      const list = { amount: 400n, useful: 1n }
      const held = await book.hold({ callId, key, amount: 100n, useful: 1n, list })
      if (held instanceof Refusal || 'outcome' in held) throw new Error('no hold')
      return held
    }
    expect((await (await hold('c1')).settle(30n, detail)).charged).toBe(30n)
    const spend = await store.keys.spend('k')
    expect([spend.spent, spend.estimated.spent, spend.requests, spend.held]).toEqual([330n, 300n, 1, 0n])
    const lineEnds: bigint[] = []
    const line = {
      ...{ callId: 'line', amount: () => 5n, opened: Promise.resolve(true), checkpoint: () => undefined },
      extend: async () => 'refused' as const,
      settle: async (charged: bigint) => {
        lineEnds.push((await store.keys.spend('k')).estimated.spent)
        return { charged, remaining: undefined }
      },
      void: async () => undefined,
    }
    const ofLine = { amount: 10n, useful: 1n }
    const beside = await book.holdBeside(line, { callId: 'line', key, ...ofLine })
    if (beside instanceof Refusal || 'outcome' in beside) throw new Error('no hold')
    expect(await beside.opened).toBe(true)
    const { commit } = store.ledger
    const ledger = Promise.withResolvers<void>()
    store.ledger.commit = (batch) => ledger.promise.then(() => commit(batch))
    const settled = beside.settle(5n, { ...detail, vendorEstimate: '7' })
    await Bun.sleep(20)
    // The line does not end before the ledger has its estimate: whoever is killed between the two sends it again.
    expect(lineEnds).toEqual([])
    ledger.resolve()
    store.ledger.commit = commit
    expect((await settled).charged).toBe(5n)
    expect(lineEnds).toEqual([307n])
    const list = { amount: 2n * limits.spendCap, useful: 1n }
    const refused = await book.hold({ callId: 'c2', key, amount: 100n, useful: 1n, list })
    expect(refused).toMatchObject({ outcome: 'refused', limit: 'spend_cap_usd', estimated: true })
    expect(book.leased().held).toBe(0n)
    for (const [at, lease] of ['a:1', 'a:2'].entries()) {
      await store.ledger.release('a', [lease])
      const fenced = await hold(`fenced ${at}`)
      expect(fenced.settle(30n, detail)).rejects.toThrow()
      expect(await fenced.opened).toBe(false)
    }
    await book.drain(0)
    const after = await store.keys.spend('k')
    expect([after.spent, after.estimated.spent, after.requests, after.held]).toEqual([337n, 307n, 1, 0n])
    expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
    await store.close()
  })
