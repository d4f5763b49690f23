/** A SQLite ledger with calls of some weeks ago, whose wallet they leave with so much: `w` of `o`, with the key `k`. */
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { seedCalls } from '../console/seed.ts'

export const makeCalledLedger = async (path: string, calls: number, left = 0n): Promise<void> => {
  const store = await openStore({ url: `sqlite:${path}` })
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  const key = { orgId: 'o', walletId: 'w', label: 'l', prefix: 'p', id: 'k', hash: 'h', limits: {} }
  await store.keys.createKey(key, byTest)
  const amount = 1_000n * BigInt(calls) + left
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount })
  await store.close()
  const at = Date.now() - 40 * 86_400_000
  seedCalls(
    path,
    'w',
    Array.from({ length: calls }, (_, nth) => ({
      keyId: 'k',
      at: at + nth * 300_000,
      model: 'mock/small',
      vendor: 'mock',
      amount: 1_000n,
      input: 10,
      output: 5,
    })),
  )
}
