/** A database clock that was hours ahead and was set right: nothing stays locked for those hours, on every engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
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
      store = await openStore({ url: database.url, now: () => now })
      await createOneKey(store)
    })
    afterEach(async () => {
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await database.stop()
    })

    const grant = (instance: string, amount: bigint) =>
      store.grant({
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
      for (const until = now + seconds * 1_000; now < until; now += 4_000) await store.reap(BOUNDS)
    }

    test('money that a process leased before it was killed comes back', async () => {
      now += HOURS
      expect(await grant('dead', 100n * CENT)).toMatchObject({ outcome: 'granted' })
      now -= HOURS
      await reapFor(75)
      expect(await grant('alive', 100n * CENT)).toMatchObject({ outcome: 'granted' })
    }, 60_000)

    test('a call that a killed process had open is charged its checkpoint and closed', async () => {
      now += HOURS
      const lease = await grant('dead', 100n * CENT)
      if (lease.outcome !== 'granted') throw new Error(lease.outcome)
      const { leaseId } = lease
      await store.flush(batchOf('dead', { intents: [{ callId: 'c', leaseId, hold: 40n * CENT }] }))
      await store.flush(batchOf('dead', { progress: [{ callId: 'c', hold: 40n * CENT, spent: 10n * CENT }] }))
      now -= HOURS
      await reapFor(150)
      expect((await store.wallet('w'))?.held).toBe(0n)
      expect(await store.balance('w')).toBe(90n * CENT)
    }, 60_000)

    test('a lease of a process that lives is not fenced', async () => {
      now += HOURS
      const lease = await grant('alive', 50n * CENT)
      if (lease.outcome !== 'granted') throw new Error(lease.outcome)
      now -= HOURS
      await store.reap(BOUNDS)
      now += 9_000
      await store.reap(BOUNDS)
      const intents = [{ callId: 'c', leaseId: lease.leaseId, hold: CENT }]
      await store.flush(batchOf('alive', { intents }))
      expect((await store.wallet('w'))?.held).toBe(CENT)
    }, 60_000)

    const unaware = async (since: number) => (await store.unaware(since, 2_000)).map(({ id }) => id)

    test('a process that was killed keeps no revocation waiting', async () => {
      now += HOURS
      await store.beat('dead', undefined)
      now -= HOURS
      const changed = await store.changeKey('k', { disabledReason: 'operator', byCreator: true })
      expect(await unaware(changed!.at)).toEqual(['dead'])
      await reapFor(4)
      expect(await unaware(changed!.at)).toEqual([])
    }, 60_000)

    test('what a process saw under the wrong clock proves nothing under the right one', async () => {
      now += HOURS
      const before = await store.beat('alive', undefined)
      now += 100
      await store.beat('alive', before.at)
      const seen = now
      now -= HOURS
      const changed = await store.changeKey('k', { disabledReason: 'operator', byCreator: true })
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      const first = await store.beat('alive', seen)
      // It carries what was seen under the wrong clock; yet it reads the change.
      expect(first.changed.map(({ id }) => id)).toEqual(['k'])
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      await store.beat('alive', first.at)
      expect(await unaware(changed!.at)).toEqual([])
    }, 60_000)

    test('a change made under the wrong clock is acknowledged under the right one', async () => {
      now += HOURS
      const changed = await store.changeKey('k', { disabledReason: 'operator', byCreator: true })
      now -= HOURS
      const first = await store.beat('alive', undefined)
      expect(first.changed.map(({ id }) => id)).toEqual(['k'])
      expect(await unaware(changed!.at)).toEqual(['alive'])
      now += 100
      await store.beat('alive', first.at)
      expect(await unaware(changed!.at)).toEqual([])
    }, 60_000)

    test('what a killed process had claimed is free again', async () => {
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'claimed' }
      const claim = (instance: string, callId: string) =>
        store.begin({ ref, fingerprint: 'same', callId, instance, lockMs: 60_000 })
      now += HOURS
      await store.beat('dead', undefined)
      await claim('dead', 'first')
      now -= HOURS
      expect(await claim('alive', 'second')).toEqual({ state: 'running', by: 'dead' })
      await reapFor(5)
      expect(await claim('alive', 'second')).toEqual({ state: 'first', callId: 'first' })
    }, 60_000)
  })
