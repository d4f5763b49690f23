/** Amounts that no column holds are refused before they break a wallet, on every engine. */
import { expect, test } from 'bun:test'
import { TooLarge } from '../../src/store/faults.ts'
import { openStore } from '../../src/store/open-store.ts'
import { brokenLaws, engines } from './engines.ts'
import { createOneKey } from './world.ts'

for (const engine of engines)
  test(`a wallet takes no more than it can count, ${engine.name}`, async () => {
    const database = await engine.fresh()
    const store = await openStore({ url: database.url })
    try {
      await createOneKey(store)
      const before = await store.ledger.balance('w')
      const fund = (ref: string, amount: bigint) =>
        store.ledger.post({ kind: 'topup', ref, debit: 'cash', credit: 'w', amount })
      const billion = 10n ** 18n
      for (const ref of ['a', 'b', 'c']) await fund(ref, billion)
      for (const amount of [billion, 2n ** 62n, 9n * billion, 2n ** 63n, 2n ** 64n])
        expect(await fund(`over ${amount}`, amount).catch((error: unknown) => error)).toBeInstanceOf(TooLarge)
      expect((await store.wallets.wallet('w'))?.balance).toBe(before + 3n * billion)
      expect(await brokenLaws(store)).toEqual([])
      const ask = { instance: 'i', keyId: 'k', leaseId: 'l', need: 5n, want: 5n, useful: 1n, ttlMs: 1_000 }
      expect(await store.ledger.lend(ask)).toMatchObject({ outcome: 'lent' })
    } finally {
      await store.close()
      await database.stop()
    }
  })
