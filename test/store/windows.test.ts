/** Rate windows, idempotency claims, heartbeats and reports, on every engine. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Store } from '../../src/store/port.ts'
import { nothingCounted } from '../../src/store/reports/report-port.ts'
import { type RateName, rateNames, rateWindows } from '../../src/tenancy/rates.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { drawn } from '../sample.ts'
import { engines } from './engines.ts'
import { detailFor } from './world.ts'

const MINUTE = 60_000

for (const engine of engines) {
  describe(`the store on ${engine.name}`, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
      await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'main' }, byTest)
      await store.ledger.post({ kind: 'topup', ref: 'p', debit: 'cash', credit: 'w', amount: 10n ** 12n })
      await store.keys.createKey(
        {
          id: 'k',
          hash: 'h',
          orgId: 'o',
          walletId: 'w',
          label: '',
          prefix: '',
          limits: {},
        },
        byTest,
      )
    })
    afterAll(async () => {
      await store.close()
      await database.stop()
    })

    test('no minute gives out more requests than the limit, and all of them are given out', async () => {
      const step = fc.record({
        take: fc.nat({ max: 9 }),
        back: fc.nat({ max: 3 }),
        wait: fc.nat({ max: 30_000 }),
        share: fc.option(fc.integer({ min: 1, max: 4 }), { nil: 0 }),
        end: fc.boolean(),
      })
      let round = 0
      const property = fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...rateNames),
        fc.array(step, { maxLength: 25 }),
        async (limit, rate, steps) => {
          round += 1
          const key = `rated ${round}`
          const { lengthMs } = rateWindows[rate]
          let [window, used, kept] = [0, 0, 0]
          const shares: { name: string; size: number }[] = []
          for (const { take, back, wait, share: size, end } of steps) {
            now += (wait * lengthMs) / MINUTE
            const current = Math.floor(now / lengthMs) * lengthMs
            // Each window begins as if all shares were used.
            if (current !== window) [window, used] = [current, kept]
            const count = Math.max(take, size)
            const expected = Math.min(count, limit - used)
            const name = crypto.randomUUID()
            const ask = { rate, count, limit, share: { name, instance: 'p', size } }
            const share = expected === count && kept + size <= Math.floor(limit / 2) ? size : 0
            if (share > 0) shares.push({ name, size })
            kept += share
            used += expected
            expect(await store.rates.takeRates(key, [ask])).toEqual([
              { taken: expected, used, kept, share, windowStart: window, now },
            ])
            const ended = end ? shares.shift() : undefined
            kept -= ended?.size ?? 0
            for (const _ of ['sent', 'sent again'])
              if (ended !== undefined)
                await store.rates.returnRate(key, { rate, windowStart: 0, count: 0, share: ended.name })
            const returned = Math.min(back, expected)
            await store.rates.returnRate(key, { rate, windowStart: window, count: returned })
            used -= returned
            await store.rates.returnRate(key, { rate, windowStart: window - lengthMs, count: 5 })
          }
        },
      )
      await fc.assert(property, { numRuns: engine.name === 'PostgreSQL' ? drawn(5, 15) : drawn(20, 60) })
    })

    const takeShare = async (key: string, name: string, instance: string, count = 2) => {
      const share = { name, instance, size: 2 }
      return (await store.rates.takeRates(key, [{ rate: 'rpm', count, limit: 10, share }]))[0]
    }

    test('the share of a silent process counts in the window in which it ends, and in no later one', async () => {
      now = Math.ceil(now / MINUTE) * MINUTE
      await store.instances.beat('dies', undefined)
      expect(await takeShare('left', 'left 1', 'dies')).toMatchObject({ used: 2, kept: 2, share: 2 })
      const reap = () => store.ledger.reap({ graceMs: 1_000, longestCallMs: 1_000 })
      now += MINUTE
      await store.instances.beat('dies', undefined)
      await reap()
      now += 3_001
      // Nobody has asked in this window yet: what the dead process used of it is known to nobody.
      await reap()
      expect(await take('left', 0, 10)).toMatchObject({ used: 2, kept: 0 })
      now += MINUTE
      expect(await take('left', 0, 10)).toMatchObject({ used: 0, kept: 0 })
    })

    test('who finds too little recalls the shares of others, not its own', async () => {
      const beat = async (instance: string) =>
        (await store.instances.beat(instance, undefined)).recalledShares
      await takeShare('short', 'short 1', 'one')
      await takeShare('short', 'short 2', 'two')
      expect([await beat('one'), await beat('two')]).toEqual([[], []])
      expect(await takeShare('short', 'short 3', 'one', 9)).toMatchObject({ taken: 6, share: 0, kept: 4 })
      expect([await beat('one'), await beat('two')]).toEqual([[], ['short 2']])
      await store.rates.returnRate('short', { rate: 'rpm', windowStart: 0, count: 0, share: 'short 2' })
      expect(await beat('two')).toEqual([])
    })

    const take = async (key: string, count: number, limit: number, rate: RateName = 'rpm') => {
      const [got] = await store.rates.takeRates(key, [{ rate, count, limit }])
      return got
    }

    test('a window that began under a clock that was ahead still counts', async () => {
      expect(await take('skewed', 3, 4)).toMatchObject({ taken: 3 })
      const before = now
      now -= 2 * MINUTE
      expect(await take('skewed', 3, 4)).toMatchObject({ taken: 1, used: 4 })
      now = before
    })

    test('a clock that was hours ahead and was set right binds no longer than one window', async () => {
      const before = now
      now = Math.floor(now / MINUTE) * MINUTE + 1_000 + 8 * 60 * MINUTE
      expect(await take('ahead', 4, 4)).toMatchObject({ taken: 4 })
      now -= 8 * 60 * MINUTE
      // The count is kept, in the present window.
      expect(await take('ahead', 1, 4)).toMatchObject({ taken: 0, used: 4, windowStart: now - 1_000 })
      now += MINUTE
      expect(await take('ahead', 1, 4)).toMatchObject({ taken: 1, used: 1 })
      now = before
    })

    test('a clock that steps back over the start of a window gives that window no second limit', async () => {
      const start = Math.ceil(now / MINUTE) * MINUTE + MINUTE
      now = start + 20
      expect(await take('stepped', 4, 4)).toMatchObject({ taken: 4 })
      now = start - 20
      expect(await take('stepped', 1, 4)).toMatchObject({ taken: 0 })
      now = start + 500
      expect(await take('stepped', 1, 4)).toMatchObject({ taken: 0 })
    })

    test('the rates of one key are counted apart, all in one transaction', async () => {
      const asks = rateNames.map((rate, at) => ({ rate, count: 9, limit: at + 1 }))
      const first = await store.rates.takeRates('apart', asks)
      expect(first.map(({ taken }) => taken)).toEqual([1, 2, 3, 4])
      const again = await store.rates.takeRates('apart', [...asks].reverse())
      expect(again.map(({ taken, used }) => [taken, used])).toEqual([
        [0, 4],
        [0, 3],
        [0, 2],
        [0, 1],
      ])
    })

    test('a lower limit takes effect in the running window', async () => {
      await take('lowered', 8, 10)
      expect(await take('lowered', 1, 5)).toMatchObject({ taken: 0, used: 8 })
    })

    const claim = (key: string, callId: string, fingerprint = 'same', instance = 'i1') =>
      store.idempotency.begin({
        ref: { keyId: 'k', endpoint: '/v1/run', key },
        fingerprint,
        callId,
        instance,
        lockMs: 10_000,
      })

    test('of many claims of one idempotency key exactly one is first', async () => {
      await store.instances.beat('i1', undefined)
      const states = await Promise.all(['c1', 'c2', 'c3', 'c4'].map((callId) => claim('many', callId)))
      expect(states.filter(({ state }) => state === 'first')).toHaveLength(1)
      expect(states.filter(({ state }) => state === 'running')).toHaveLength(3)
      expect(await claim('many', 'c5', 'other')).toEqual({ state: 'conflict' })
    })

    test('a released claim runs again under the id of the first attempt', async () => {
      await store.instances.beat('i1', undefined)
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'released' }
      await claim('released', 'first')
      await store.idempotency.release(ref, 'i1')
      expect(await claim('released', 'second')).toEqual({ state: 'first', callId: 'first' })
      await store.idempotency.release(ref, 'i1')
      expect(await claim('released', 'third', 'other')).toEqual({ state: 'first', callId: 'third' })
    })

    test('the claim of a silent instance is free again, under the same id and for the same content only', async () => {
      await store.instances.beat('i1', undefined)
      await claim('silent', 'first')
      now += 2_000
      expect(await claim('silent', 'second', 'same', 'i2')).toEqual({ state: 'running', by: 'i1' })
      now += 1_500
      expect(await claim('silent', 'second', 'other', 'i2')).toEqual({ state: 'conflict' })
      expect(await claim('silent', 'second', 'same', 'i2')).toEqual({ state: 'first', callId: 'first' })
    })

    test('a claim that another attempt took over is not let go by the first', async () => {
      await store.instances.beat('i1', undefined)
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'taken over' }
      await claim('taken over', 'first')
      now += 3_500
      await store.instances.beat('i2', undefined)
      expect(await claim('taken over', 'second', 'same', 'i2')).toEqual({ state: 'first', callId: 'first' })
      await store.idempotency.release(ref, 'i1')
      await store.idempotency.forget(ref, 'first', 'i1')
      expect(await claim('taken over', 'third', 'same', 'i1')).toEqual({ state: 'running', by: 'i2' })
      expect(await claim('taken over', 'third', 'other', 'i1')).toEqual({ state: 'conflict' })
    })

    const detail = detailFor('k', {
      model: 'local/echo',
      usage: { input: 3, cache_read: 2, output: 4, reasoning: 1 },
    })
    const empty = { instance: 'i1', intents: [], progress: [], settles: [], voids: [] }
    const openLease = async (leaseId: string): Promise<string> => {
      const lease = await store.ledger.lend({
        instance: 'i1',
        keyId: 'k',
        leaseId,
        need: 100n,
        want: 1000n,
        useful: 1n,
        ttlMs: 1_000,
      })
      if (lease.outcome !== 'lent') throw new Error(lease.outcome)
      return lease.leaseId
    }

    test('an answer is stored with its settlement and replayed for a day', async () => {
      const lease = await openLease('answered')
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'answered' }
      const answer = {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: '{"text":"déjà \\u0000 vu"}',
      }
      await claim('answered', 'call-a')
      await store.ledger.commit({ ...empty, intents: [{ callId: 'call-a', leaseId: lease, hold: 50n }] })
      const settle = {
        callId: 'call-a',
        leaseId: lease,
        payer: 'w',
        charge: 20n,
        excess: 0n,
        detail,
        answer: { ref, answer },
      }
      await store.ledger.commit({ ...empty, settles: [settle] })
      expect(await claim('answered', 'call-b')).toEqual({ state: 'done', answer, callId: 'call-a' })
      await store.idempotency.release(ref, 'i1')
      now += 23 * 3_600_000
      expect(await claim('answered', 'call-b')).toMatchObject({ state: 'done' })
      now += 2 * 3_600_000
      expect(await claim('answered', 'call-b')).toEqual({ state: 'first', callId: 'call-b' })
    })

    test('only the answer that was charged is kept, also when the claim was let go meanwhile', async () => {
      await store.instances.beat('i1', undefined)
      const lease = await openLease('charged')
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'charged' }
      const settle = (charge: bigint, leaseId = lease) => ({
        callId: 'call-charged',
        leaseId,
        payer: 'w',
        charge,
        excess: 0n,
        detail,
        answer: { ref, answer: { status: 200, headers: {}, body: `${charge}` } },
      })
      const { answer: _none, ...silently } = settle(20n)
      await claim('charged', 'call-charged')
      await store.ledger.commit({
        ...empty,
        intents: [{ callId: 'call-charged', leaseId: lease, hold: 50n }],
      })
      await store.ledger.commit({ ...empty, settles: [silently] })
      await store.ledger.commit({ ...empty, settles: [settle(20n, 'another attempt')] })
      expect(await claim('charged', 'other')).toMatchObject({ state: 'running' })
      await store.idempotency.release(ref, 'i1')
      await store.ledger.commit({ ...empty, settles: [settle(20n)] })
      expect(await claim('charged', 'other')).toMatchObject({ state: 'done', answer: { body: '20' } })
    })

    test('an answer with characters that a database cannot keep does not stop the commit', async () => {
      const lease = await openLease('odd')
      const ref = { keyId: 'k', endpoint: '/v1/run', key: 'odd' }
      await claim('odd', 'call-odd')
      await store.ledger.commit({ ...empty, intents: [{ callId: 'call-odd', leaseId: lease, hold: 50n }] })
      const answer = { status: 200, headers: {}, body: 'nul \0 and half \ud83d a pair' }
      const settle = { callId: 'call-odd', leaseId: lease, payer: 'w', charge: 1n, excess: 0n, detail }
      await store.ledger.commit({ ...empty, settles: [{ ...settle, answer: { ref, answer } }] })
      const stored = { ...answer, body: 'nul \ufffd and half \ufffd a pair' }
      expect(await claim('odd', 'x')).toEqual({ state: 'done', answer: stored, callId: 'call-odd' })
    })

    test('usage is reported by day, model and key, at the charge that was posted', async () => {
      const lease = await openLease('reported')
      now += 1
      const from = now
      await store.ledger.commit({
        ...empty,
        intents: ['r1', 'r2'].map((callId) => ({ callId, leaseId: lease, hold: 50n })),
      })
      const settles = ['r1', 'r2'].map((callId) => ({
        callId,
        leaseId: lease,
        payer: 'w',
        charge: 21n,
        excess: 9n,
        detail,
      }))
      await store.ledger.commit({ ...empty, settles })
      const query = { orgs: 'all', only: {}, most: 10_000, from, to: now + 1 } as const
      expect(await store.reports.usage({ ...query, groupBy: ['day', 'model', 'key'] })).toEqual([
        {
          groups: {
            day: `${new Date(now).toISOString().slice(0, 10)}T00:00:00.000Z`,
            model: 'local/echo',
            key: 'k',
          },
          label: '',
          deleted: false,
          ...nothingCounted,
          cachedTokens: 4,
          requests: 2,
          inputTokens: 10,
          outputTokens: 10,
          amount: 42n,
        },
      ])
      expect(await store.reports.usage({ ...query, groupBy: [] })).toEqual([
        {
          groups: {},
          ...nothingCounted,
          cachedTokens: 4,
          requests: 2,
          inputTokens: 10,
          outputTokens: 10,
          amount: 42n,
        },
      ])
      expect(await store.reports.usage({ ...query, to: from, groupBy: ['day'] })).toEqual([])
      expect(await store.reports.usage({ ...query, keyId: 'nobody', groupBy: ['key'] })).toEqual([])
      // A refund counts back, as it does in the key's caps.
      const { spent } = await store.keys.spend('k')
      await store.ledger.post({ kind: 'refund', ref: 'r1:1', debit: 'revenue', credit: 'w', amount: 20n })
      now += 1
      for (const of of [{ keyId: 'k' }, { tree: 'k' }, {}])
        expect(await store.reports.usage({ ...query, ...of, to: now + 1, groupBy: ['model'] })).toEqual([
          {
            groups: { model: 'local/echo' },
            ...nothingCounted,
            cachedTokens: 4,
            requests: 2,
            inputTokens: 10,
            outputTokens: 10,
            amount: 22n,
          },
        ])
      expect((await store.keys.spend('k')).spent).toBe(spent - 20n)
    })

    test('a beat tells what changed lately, and who may not have heard of it', async () => {
      const first = await store.instances.beat('b1', undefined, 'udp:1')
      now += 500
      await store.instances.beat('b2', undefined)
      const changed = await store.keys.changeKey('k', { disabledReason: 'operator', byCreator: true }, byTest)
      expect(changed?.at).toBe(now)
      const unaware = async () =>
        (await store.instances.unaware(now, 2_000)).filter(({ id }) => id.startsWith('b'))
      expect(await unaware()).toEqual([{ id: 'b1', nudge: 'udp:1' }, { id: 'b2' }])
      const second = await store.instances.beat('b1', first.at, 'udp:1')
      expect(second.changed.find(({ id }) => id === 'k')).toMatchObject({
        disabledReason: 'operator',
        version: changed?.key.version,
      })
      expect(second.liveInstances).toBeGreaterThanOrEqual(2)
      // It has read the change; the proof is the next beat, which carries the instant of this one.
      expect(await unaware()).toHaveLength(2)
      await store.instances.beat('b1', second.at, 'udp:1')
      expect(await unaware()).toEqual([{ id: 'b2' }])
      await store.instances.leave('b2')
      expect(await unaware()).toEqual([])
      await store.keys.changeKey('k', { disabledReason: null, byCreator: true }, byTest)
      now += 20_000
      const later = await store.instances.beat('b1', now - 100)
      expect(later.changed).toEqual([])
    })

    test('a deleted key is gone from lists and known as deleted by its hash', async () => {
      await store.keys.createKey(
        {
          id: 'gone',
          hash: 'gone',
          orgId: 'o',
          walletId: 'w',
          label: '',
          prefix: '',
          limits: {},
        },
        byTest,
      )
      await store.keys.deleteKey('gone', false, byTest)
      expect(await store.keys.deleteKey('gone', false, byTest)).toBeUndefined()
      expect(await store.keys.keyByHash('gone')).toMatchObject({ deleted: true, version: 2 })
      expect((await store.keys.list()).map(({ id }) => id)).toEqual(['k'])
      const ask = { instance: 'i1', keyId: 'gone', leaseId: 'x', need: 1n, want: 1n, useful: 1n, ttlMs: 1 }
      expect(await store.ledger.lend(ask)).toMatchObject({ outcome: 'unknown_key' })
    })

    test('a setting is made once', async () => {
      const values = await Promise.all(['a', 'b', 'c'].map((value) => store.setting('secret', () => value)))
      expect(new Set(values).size).toBe(1)
      expect(await store.setting('secret', () => 'd')).toBe(values[0] ?? '')
    })
  })
}
