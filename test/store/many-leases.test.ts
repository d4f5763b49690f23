/** A ledger in which processes keep many leases: what loans recall stays little. */
import { describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { serverEngines } from './engines.ts'

const CENT = 10_000_000n
const LIFE_MS = 3_600_000

for (const engine of serverEngines)
  describe(engine.name, () => {
    const withStore = async (work: (store: Store) => Promise<void>) => {
      const database = await engine.fresh()
      const store = await openTestStore({ url: database.url })
      try {
        await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
        await work(store)
        expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
      } finally {
        await store.close()
        await database.stop()
      }
    }
    const fund = (store: Store, amount: bigint) =>
      store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount })
    const makeKeys = async (store: Store, count: number) => {
      for (let at = 0; at < count; at++)
        await store.keys.createKey(
          {
            id: `k${at}`,
            hash: `h${at}`,
            orgId: 'o',
            walletId: 'w',
            label: '',
            prefix: '',
            limits: {},
          },
          byTest,
        )
    }
    const lend = (store: Store, at: number, need: bigint, instance = 'p') =>
      store.ledger.lend({
        instance,
        keyId: `k${at}`,
        leaseId: `${instance}${at}`,
        need,
        want: need,
        useful: 1n,
        ttlMs: LIFE_MS,
      })
    const beat = (store: Store) => store.instances.beat('p', undefined)

    /** How many of 99 leases of ten cents are recalled when so many loans of a cent come at once. */
    const recalledFor = async (loans: number): Promise<number> => {
      let recalled = 0
      await withStore(async (store) => {
        await fund(store, 5_000n * CENT)
        await makeKeys(store, 120)
        await beat(store)
        for (let at = 0; at < 99; at++) await lend(store, at, 10n * CENT)
        const left = {
          kind: 'adjust',
          ref: 'out',
          debit: 'w',
          credit: 'cash',
          amount: 3_995n * CENT,
        } as const
        await store.ledger.post(left)
        await Promise.all(Array.from({ length: loans }, (_loan, at) => lend(store, 100 + at, CENT, 'q')))
        recalled = (await beat(store)).recalled.length
      })
      return recalled
    }

    test('ten small loans where money is nearly used up recall hardly more than one does', async () => {
      const one = await recalledFor(1)
      expect(one).toBeGreaterThan(0)
      // What is missing, and room for 16 calls more.
      expect(one).toBeLessThan(10)
      expect(await recalledFor(10)).toBeLessThanOrEqual(one + 2)
    })
  })
