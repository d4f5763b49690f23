/** Situations that a random history meets too rarely, one by one, on every engine. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Nano } from '../../src/core/money.ts'
import type { CommitBatch, Settle } from '../../src/ledger/types.ts'
import { Violation } from '../../src/store/engine/engine.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines, stopSound } from './engines.ts'
import { CENT, detailFor } from './world.ts'

const REAPED = { graceMs: 100, longestCallMs: 1_000 }

for (const engine of engines) {
  describe(`the ledger on ${engine.name}`, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let wallet = 0
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
    })
    afterAll(async () => {
      await stopSound({ store, stop: () => store.close() }, database)
    })

    /** A fresh wallet with 20 cents and a key on it. */
    const begin = async (limits = {}) => {
      wallet += 1
      const [walletId, keyId] = [`w${wallet}`, `k${wallet}`]
      await store.wallets.createWallet({ id: walletId, orgId: 'o', name: walletId }, byTest)
      await store.ledger.post({
        kind: 'topup',
        ref: walletId,
        debit: 'cash',
        credit: walletId,
        amount: 20n * CENT,
      })
      await store.keys.createKey(
        {
          id: keyId,
          hash: keyId,
          orgId: 'o',
          walletId,
          label: '',
          prefix: '',
          limits,
        },
        byTest,
      )
      const lease = async (instance: string, need: Nano): Promise<string> => {
        const leaseId = `${walletId} ${instance} ${now}`
        const result = await store.ledger.lend({
          instance,
          keyId,
          leaseId,
          need,
          want: need,
          useful: 1n,
          ttlMs: 10_000,
        })
        if (result.outcome !== 'lent') throw new Error(result.outcome)
        return result.leaseId
      }
      const settle = (callId: string, leaseId: string, charge: Nano): Settle => ({
        callId: `${walletId} ${callId}`,
        leaseId,
        payer: walletId,
        charge,
        excess: 0n,
        detail: detailFor(keyId),
      })
      const commit = (instance: string, part: Partial<CommitBatch>) =>
        store.ledger.commit({ instance, intents: [], progress: [], settles: [], voids: [], ...part })
      const open = (instance: string, callId: string, leaseId: string, hold: Nano) =>
        commit(instance, { intents: [{ callId: `${walletId} ${callId}`, leaseId, hold }] })
      const balance = async () => (await store.wallets.wallet(walletId))?.balance
      return { walletId, keyId, lease, settle, commit, open, balance }
    }

    const reapAll = async (): Promise<void> => {
      now += 20_000
      await store.ledger.reap(REAPED)
      await store.ledger.reap(REAPED)
    }

    test('a settlement after the reaping is charged if the wallet has room, once', async () => {
      const { lease, settle, commit, open, balance } = await begin()
      const id = await lease('i', CENT)
      await open('i', 'c', id, CENT)
      await reapAll()
      expect(await balance()).toBe(20n * CENT)
      for (const _ of [1, 2]) {
        const { settled } = await commit('i', { settles: [settle('c', id, CENT)] })
        expect([...settled.values()]).toEqual([19n * CENT])
      }
      expect(await balance()).toBe(19n * CENT)
    })

    test('a settlement after the reaping without room is the loss of the house, once, and its answer may go out', async () => {
      const { lease, settle, commit, open, balance } = await begin({ spendCap: 5n * CENT })
      const id = await lease('i', 4n * CENT)
      await open('i', 'c', id, 4n * CENT)
      await open('i', 'd', id, 0n)
      await reapAll()
      const again = await lease('i', 2n * CENT)
      await open('i', 'e', again, 2n * CENT)
      const loss = await store.ledger.balance('loss')
      for (const _ of [1, 2]) {
        const { settled } = await commit('i', { settles: [settle('c', id, 4n * CENT)] })
        expect([...settled.values()]).toEqual([20n * CENT])
      }
      expect(await store.ledger.balance('loss')).toBe(loss - 4n * CENT)
      expect(await balance()).toBe(20n * CENT)
    })

    test('a call that was charged at its checkpoint by the reaping is not charged again', async () => {
      const { lease, settle, commit, open, balance } = await begin()
      const id = await lease('i', 2n * CENT)
      await open('i', 'c', id, 2n * CENT)
      const { callId } = settle('c', id, 0n)
      await commit('i', { progress: [{ callId, hold: 2n * CENT, spent: CENT }] })
      await reapAll()
      expect(await balance()).toBe(19n * CENT)
      const { settled } = await commit('i', { settles: [settle('c', id, 2n * CENT)] })
      expect(settled.get(callId)).toBe(19n * CENT)
    })

    test('an attempt that repeats a call of a dead instance charges it once', async () => {
      const { lease, settle, commit, open, balance } = await begin()
      const [dead, live] = [await lease('dead', 3n * CENT), await lease('live', 3n * CENT)]
      await open('dead', 'c', dead, 3n * CENT)
      expect((await open('live', 'c', live, 3n * CENT)).opened.size).toBe(1)
      // The repeat cannot void what the other attempt may have delivered.
      const { callId } = settle('c', live, 0n)
      await commit('live', { voids: [callId] })
      expect([
        ...(await commit('live', { settles: [settle('c', live, 2n * CENT)] })).settled.values(),
      ]).toEqual([18n * CENT])
      expect([
        ...(await commit('dead', { settles: [settle('c', dead, 3n * CENT)] })).settled.values(),
      ]).toEqual([18n * CENT])
      await reapAll()
      expect(await balance()).toBe(18n * CENT)
    })

    test('a settlement whose intent is fenced in the same commit is not charged', async () => {
      const { walletId, lease, settle, commit, balance } = await begin()
      const id = await lease('i', CENT)
      await reapAll()
      const one = settle('c', id, CENT)
      const result = await commit('i', {
        intents: [{ callId: one.callId, leaseId: id, hold: CENT }],
        settles: [one],
      })
      expect({ opened: result.opened.size, settled: result.settled.size }).toEqual({ opened: 0, settled: 0 })
      expect(await balance()).toBe(20n * CENT)
      expect(await store.ledger.audit()).toEqual(
        (await store.ledger.audit()).map(({ check }) => ({ check, ok: true })),
      )
      expect(walletId).toBe(`w${wallet}`)
    })

    test('a commit that would overdraw a lease is refused for good, by name, and changes nothing', async () => {
      const { lease, settle, commit, open, balance } = await begin()
      const id = await lease('i', CENT)
      await open('i', 'c', id, 2n * CENT)
      const one = settle('c', id, 2n * CENT)
      const refusal = await commit('i', { settles: [one] }).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(Violation)
      expect(refusal).toMatchObject({ constraint: 'lease_not_overdrawn' })
      expect(await balance()).toBe(20n * CENT)
      await commit('i', { voids: [one.callId] })
    })

    test('what open calls hold is held though it is not written yet, and what nobody has is on its way back', async () => {
      const { lease, keyId } = await begin()
      const leaseId = await lease('i', 18n * CENT)
      const ask = { instance: 'i', keyId, leaseId, need: 5n * CENT, want: 0n, useful: 1n, ttlMs: 10_000 }
      expect(await store.ledger.lend({ ...ask, held: 18n * CENT, free: 0n })).toMatchObject({
        outcome: 'held',
        held: 18n * CENT,
        available: 2n * CENT,
      })
      expect(await store.ledger.lend({ ...ask, held: 0n, free: 0n })).toMatchObject({
        outcome: 'recall',
        astray: 18n * CENT,
        available: 20n * CENT,
      })
      const anew = await store.ledger.lend({ ...ask, held: 0n, free: 0n, anew: true })
      expect(anew).toMatchObject({ outcome: 'lent' })
      expect(anew).not.toMatchObject({ leaseId })
    })

    test('a lease whose id was used before opens under another, which the loan tells', async () => {
      const { keyId, lease, open } = await begin()
      const id = await lease('i', CENT)
      await reapAll()
      const ask = { instance: 'i', keyId, leaseId: id, need: CENT, want: CENT, useful: 1n, ttlMs: 10_000 }
      const result = await store.ledger.lend(ask)
      expect(result).toMatchObject({ outcome: 'lent', grown: CENT })
      if (result.outcome !== 'lent') return
      expect(result.leaseId).not.toBe(id)
      expect((await open('i', 'c', result.leaseId, CENT)).opened.size).toBe(1)
    })

    test('a call is charged to the month it was admitted in, and the month ends the lease', async () => {
      now = Date.UTC(2026, 11, 1) - 2_000
      const { keyId, lease, settle, commit, open } = await begin({ monthlyCap: 5n * CENT })
      const id = await lease('i', 4n * CENT)
      await open('i', 'c', id, 4n * CENT)
      now += 4_000
      const ask = {
        instance: 'i',
        keyId,
        leaseId: 'new',
        need: 4n * CENT,
        want: 4n * CENT,
        useful: 1n,
        ttlMs: 10_000,
      }
      expect(await store.ledger.lend(ask)).toMatchObject({ outcome: 'lent', leaseId: 'new' })
      await commit('i', { settles: [settle('c', id, 3n * CENT)] })
      expect(await store.keys.spend(keyId)).toMatchObject({
        spent: 3n * CENT,
        spentThisMonth: 0n,
        requests: 1,
      })
      await reapAll()
      expect(await store.keys.spend(keyId)).toMatchObject({
        spent: 3n * CENT,
        spentThisMonth: 0n,
        requests: 1,
      })
    })

    test('room of an old limit admits no call while its process has still to hear of a charge', async () => {
      const { walletId, keyId, lease, settle, commit, open } = await begin()
      const leaseId = await lease('i', 10n * CENT)
      await open('i', 'c', leaseId, 6n * CENT)
      await commit('i', { settles: [settle('c', leaseId, 6n * CENT)] })
      await store.wallets.changeWalletRules(walletId, { dailyLimit: 1n }, byTest)
      // For its process the first call still holds six cents of ten, so a call of two needs nothing more.
      const known = { held: 6n * CENT, free: 4n * CENT }
      const call = { need: 2n * CENT - known.free, want: 2n * CENT, useful: 1n, ttlMs: 10_000 }
      const answer = await store.ledger.lend({ instance: 'i', keyId, leaseId, ...known, ...call })
      expect(answer).toMatchObject({ outcome: 'spent', limit: 'daily_limit_usd', required: 2n * CENT })
    })

    test('a maker cannot be of another wallet, nor a sub-wallet', async () => {
      const [one, other] = [await begin(), await begin()]
      const key = {
        id: 'x',
        hash: 'x',
        orgId: 'o',
        walletId: other.walletId,
        label: '',
        prefix: '',
        limits: {},
      }
      await expect(store.keys.createKey({ ...key, parentId: one.keyId }, byTest)).rejects.toThrow(
        'must use the wallet of its parent',
      )
      const sub = { id: `sub of ${one.walletId}`, walletId: one.walletId, label: '', budget: CENT }
      await store.subWallets.createSubWallet(sub, byTest)
      await expect(
        store.subWallets.createSubWallet({ ...sub, walletId: other.walletId }, byTest),
      ).rejects.toThrow('another wallet')
      await expect(
        store.keys.createKey({ ...key, subWallet: `sub of ${one.walletId}` }, byTest),
      ).rejects.toThrow('sub-wallet')
    })
  })
}
