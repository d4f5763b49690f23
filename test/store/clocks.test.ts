/** A database clock that was hours ahead and was set right: nothing stays locked for those hours, on every engine. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { brokenLaws, engines } from './engines.ts'
import { batchOf, CENT, createOneKey } from './world.ts'

const HOURS = 8 * 3_600_000
const BOUNDS = { graceMs: 1_000, longestCallMs: 30_000 }

for (const engine of engines)
  describe(`clocks set right, ${engine.name}`, () => {
    let now: number
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeEach(async () => {
      now = Date.UTC(2026, 10, 21, 20)
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await createOneKey(store)
    })
    afterEach(async () => {
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await database.stop()
    })

    const lend = (instance: string, amount: bigint) =>
      store.ledger.lend({
        instance,
        keyId: 'k',
        leaseId: `${instance}:1`,
        need: amount,
        want: amount,
        useful: 1n,
        ttlMs: 10_000,
      })
    /** Rounds of the reaper, a few seconds apart. */
    const reapFor = async (seconds: number) => {
      for (const until = now + seconds * 1_000; now < until; now += 4_000) await store.ledger.reap(BOUNDS)
    }

    test('money that a process leased before it was killed comes back', async () => {
      now += HOURS
      await store.instances.beat('dead', undefined)
      expect(await lend('dead', 100n * CENT)).toMatchObject({ outcome: 'lent' })
      now -= HOURS
      await reapFor(75)
      expect(await lend('alive', 100n * CENT)).toMatchObject({ outcome: 'lent' })
    })

    test('a call that a killed process had open is charged its checkpoint and closed', async () => {
      now += HOURS
      await store.instances.beat('dead', undefined)
      const lease = await lend('dead', 100n * CENT)
      if (lease.outcome !== 'lent') throw new Error(lease.outcome)
      const { leaseId } = lease
      await store.ledger.commit(batchOf('dead', { intents: [{ callId: 'c', leaseId, hold: 40n * CENT }] }))
      await store.ledger.commit(
        batchOf('dead', { progress: [{ callId: 'c', hold: 40n * CENT, spent: 10n * CENT }] }),
      )
      now -= HOURS
      await reapFor(150)
      expect((await store.wallets.wallet('w'))?.held).toBe(0n)
      expect(await store.ledger.balance('w')).toBe(90n * CENT)
    })

    test('a lease of a process that lives is not fenced', async () => {
      now += HOURS
      const lease = await lend('alive', 50n * CENT)
      if (lease.outcome !== 'lent') throw new Error(lease.outcome)
      now -= HOURS
      await store.ledger.reap(BOUNDS)
      now += 9_000
      await store.ledger.reap(BOUNDS)
      const intents = [{ callId: 'c', leaseId: lease.leaseId, hold: CENT }]
      await store.ledger.commit(batchOf('alive', { intents }))
      expect((await store.wallets.wallet('w'))?.held).toBe(CENT)
    })

    const unaware = async (since: number) => (await store.instances.unaware(since, 2_000)).map(({ id }) => id)

    test('a process that was killed keeps no revocation waiting', async () => {
      now += HOURS
      await store.instances.beat('dead', undefined)
      now -= HOURS
      const changed = await store.keys.changeKey('k', { disabledReason: 'operator', byCreator: true }, byTest)
      expect(await unaware(changed!.at)).toEqual(['dead'])
      await reapFor(4)
      expect(await unaware(changed!.at)).toEqual([])
    })

    test('what a process saw under the wrong clock proves nothing under the right one', async () => {
      now += HOURS
      const before = await store.instances.beat('alive', undefined)
      now += 100
      await store.instances.beat('alive', before.at)
      const seen = now
      now -= HOURS
      const changed = await store.keys.changeKey('k', { disabledReason: 'operator', byCreator: true }, byTest)
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      const first = await store.instances.beat('alive', seen)
      // It carries what was seen under the wrong clock; yet it reads the change.
      expect(first.changed.map(({ id }) => id)).toEqual(['k'])
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      await store.instances.beat('alive', first.at)
      expect(await unaware(changed!.at)).toEqual([])
    })

    test('a change made under the wrong clock is acknowledged under the right one', async () => {
      now += HOURS
      const changed = await store.keys.changeKey('k', { disabledReason: 'operator', byCreator: true }, byTest)
      now -= HOURS
      const first = await store.instances.beat('alive', undefined)
      expect(first.changed.map(({ id }) => id)).toEqual(['k'])
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      await store.instances.beat('alive', first.at)
      expect(await unaware(changed!.at)).toEqual([])
    })

    test('what a killed process had claimed is free again', async () => {
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'claimed' }
      const claim = (instance: string, callId: string) =>
        store.idempotency.begin({ ref, fingerprint: 'same', callId, instance, lockMs: 60_000 })
      now += HOURS
      await store.instances.beat('dead', undefined)
      await claim('dead', 'first')
      now -= HOURS
      expect(await claim('alive', 'second')).toEqual({ state: 'running', by: 'dead' })
      await reapFor(5)
      expect(await claim('alive', 'second')).toEqual({ state: 'first', callId: 'first' })
    })

    const rules = {
      autoTopUp: { below: 200n * CENT, amount: 50n * CENT },
    }
    /** What is due a minute after the clock was set right, of what was tried under the wrong clock. */
    const dueAgain = async <T>(take: () => Promise<readonly T[]>): Promise<[readonly T[], readonly T[]]> => {
      const before = await take()
      now -= HOURS - 60_000
      return [before, await take()]
    }

    test('an alert that was not taken is sent again', async () => {
      now += HOURS
      const channel = {
        id: 'c',
        orgId: 'o',
        name: 'c',
        kind: 'webhook',
        target: 'https://example.com/',
      } as const
      await store.alerts.makeChannel(channel, byTest)
      await store.alerts.testChannel(channel, {}, byTest)
      const [before, after] = await dueAgain(() => store.alerts.takeDeliveries(10))
      expect(before).toHaveLength(1)
      expect(after).toHaveLength(1)
    })

    test('a payment whose outcome is not known is asked for again', async () => {
      now += HOURS
      await store.payments.beginPayment({
        id: 'p',
        callId: 'c',
        fingerprint: 'f',
        account: 'x402_p',
        amount: CENT,
        payer: '0xpayer',
        sent: '{}',
        firstTryMs: -1,
      })
      const [before, after] = await dueAgain(() => store.payments.unsettledPayments(10))
      expect([...before, ...after].map(({ id }) => id)).toEqual(['p', 'p'])
    })

    test('a top-up without an answer is asked for again, and given up while Stripe still knows it', async () => {
      now += HOURS
      await store.funding.openCheckout({ id: 'first', walletId: 'w', amount: CENT }, byTest)
      await store.funding.savePaymentMethod({ checkoutId: 'first', customer: 'cus', method: 'pm', at: 1 })
      await store.wallets.changeWalletRules('w', rules, byTest)
      const due = () => store.funding.dueTopUps({ newId: () => `top-up-${now}`, dailyMax: 100n * CENT })
      const [before, after] = await dueAgain(due)
      expect(before).toHaveLength(1)
      expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
      now += 20 * 3_600_000
      await due()
      expect((await store.funding.topUpStatus('w')).paused).toBe('outcome_unknown')
    })

    test("a wallet that reached its day's maximum is topped up the next day", async () => {
      await store.wallets.changeWalletRules('w', rules, byTest)
      await store.funding.openCheckout({ id: 'first', walletId: 'w', amount: CENT }, byTest)
      await store.funding.savePaymentMethod({ checkoutId: 'first', customer: 'cus', method: 'pm', at: 1 })
      const due = async () =>
        (await store.funding.dueTopUps({ newId: () => `top-up-${now}`, dailyMax: 50n * CENT })).length
      now += HOURS
      expect(await due()).toBe(1)
      await store.funding.creditPayment({
        checkoutId: `top-up-${now}`,
        payment: 'pi',
        amount: 50n * CENT,
      })
      expect(await due()).toBe(0)
      now -= HOURS - 60_000
      // It has had all it may have today.
      expect(await due()).toBe(0)
      now += 4 * 3_600_000
      expect(await due()).toBe(1)
    })
  })
