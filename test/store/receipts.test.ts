/**
 * What the store says of a charged call, on every engine: as settled, recovered after a crash, or paid by the house.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/core/json-body.ts'
import type { ChargedCall, CommitBatch, UsageDetail } from '../../src/ledger/types.ts'
import { claimsOf } from '../../src/receipts/claims.ts'
import { recompute } from '../../src/receipts/recompute.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines } from './engines.ts'
import { CENT } from './world.ts'

const detail: UsageDetail = {
  keyId: 'k',
  model: 'v/m',
  vendor: 'v',
  usage: { input: 100, output: 20 },
  estimated: false,
  priceVersion: 'p1',
  startedAt: Date.UTC(2026, 10, 21),
  tookMs: 12,
  firstByteMs: 5,
  ended: 'ok',
  receipt: {
    prices: { input: 50_000_000, output: 250_000_000 },
    authorized: 4n * CENT,
    payment: { mode: 'wallet' },
    requestHash: 'sha256:a',
    responseHash: 'sha256:b',
  },
}

for (const engine of engines)
  describe(engine.name, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
      await store.ledger.post({ kind: 'topup', ref: 'w', debit: 'cash', credit: 'w', amount: 20n * CENT })
      const limits = { spendCap: 8n * CENT }
      await store.keys.createKey(
        {
          id: 'k',
          hash: 'k',
          orgId: 'o',
          walletId: 'w',
          label: '',
          prefix: '',
          limits,
        },
        byTest,
      )
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    const commit = (part: Partial<CommitBatch>) =>
      store.ledger.commit({ instance: 'i', intents: [], progress: [], settles: [], voids: [], ...part })
    const open = async (callId: string): Promise<string> => {
      const ask = { need: 4n * CENT, want: 4n * CENT, useful: 1n, ttlMs: 10_000 }
      const loan = await store.ledger.lend({ instance: 'i', keyId: 'k', leaseId: `l ${callId}`, ...ask })
      if (loan.outcome !== 'lent') throw new Error(loan.outcome)
      await commit({ intents: [{ callId, leaseId: loan.leaseId, hold: 4n * CENT }] })
      return loan.leaseId
    }
    const settle = (callId: string, leaseId: string) =>
      commit({ settles: [{ callId, leaseId, payer: 'w', charge: CENT, excess: 0n, detail }] })
    const reapAll = async () => {
      now += 20_000
      await store.ledger.reap({ graceMs: 100, longestCallMs: 1_000 })
      await store.ledger.reap({ graceMs: 100, longestCallMs: 1_000 })
    }
    const amountOf = (call: ChargedCall | undefined) => {
      if (call === undefined) throw new Error('not charged')
      const claims: JsonObject = JSON.parse(JSON.stringify(claimsOf('i', call)))
      expect(recompute(claims)).toBe(call.charged)
      return claims.cost
    }

    test('a settled call comes back with every detail', async () => {
      await settle('plain', await open('plain'))
      const call = await store.receipts.chargedCall('plain')
      expect(call).toEqual({
        callId: 'plain',
        keyId: 'k',
        charged: CENT,
        payer: 'w',
        at: now,
        posted: 'as settled',
        month: '2026-11',
        detail,
      })
      expect(amountOf(call)).toMatchObject({ amount: '0.01' })
      expect(amountOf(call)).not.toHaveProperty('adjustment')
      expect(await store.receipts.chargedCall('nothing')).toBeUndefined()
    })

    test('a call charged at its checkpoint after a crash says so, also when its settlement comes late', async () => {
      const lease = await open('crashed')
      await commit({ progress: [{ callId: 'crashed', hold: 4n * CENT, spent: CENT / 2n }] })
      await reapAll()
      const call = await store.receipts.chargedCall('crashed')
      expect(call).toEqual({
        callId: 'crashed',
        keyId: 'k',
        charged: CENT / 2n,
        payer: 'w',
        at: call?.at ?? 0,
        posted: 'recovered',
        month: '2026-11',
      })
      expect(amountOf(call)).toMatchObject({ amount: '0.005', adjustment: '0.005', reason: 'recovered' })
      await settle('crashed', lease)
      expect(await store.receipts.chargedCall('crashed')).toEqual(call)
    })

    test('a call that the house paid is a receipt over nothing', async () => {
      const lease = await open('late')
      await reapAll()
      await store.keys.changeKey('k', { spendCap: CENT, byCreator: true }, byTest)
      await settle('late', lease)
      const call = await store.receipts.chargedCall('late')
      expect(call).toMatchObject({ charged: 0n, payer: 'loss', posted: 'waived', detail })
      expect(amountOf(call)).toMatchObject({ amount: '0', adjustment: '-0.01', reason: 'waived' })
    })

    test('keys are numbered; of two made at once the first stays, and both makers learn which', async () => {
      const key = (kid: string) => ({ number: 1, kid, publicKey: `public ${kid}`, sealed: `sealed ${kid}` })
      const made = await Promise.all([
        store.receipts.addReceiptKey(key('a'), 0, byTest),
        store.receipts.addReceiptKey(key('b'), 0, byTest),
      ])
      const kept = await store.receipts.receiptKeys()
      expect(kept).toHaveLength(1)
      expect([...made]).toEqual([...kept, ...kept])
      const second = await store.receipts.addReceiptKey({ ...key('c'), number: 2 }, 600_000, byTest)
      expect([second.signsFrom, second.createdAt]).toEqual([now + 600_000, now])
      expect((await store.receipts.receiptKeys()).map(({ number }) => number)).toEqual([1, 2])
      expect(await store.receipts.removeReceiptKey('c', byTest)).toBe(true)
      expect(await store.receipts.removeReceiptKey('c', byTest)).toBe(false)
    })
  })
