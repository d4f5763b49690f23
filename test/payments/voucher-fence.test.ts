/** A call under a voucher that was given up meanwhile is neither opened nor charged, however it comes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DAY_MS } from '../../src/core/time.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { NewVoucher } from '../../src/store/payments/channel-port.ts'
import type { Store } from '../../src/store/port.ts'
import { bookScene } from '../store/audit-scene.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { batchOf, CENT, detailFor } from '../store/world.ts'

const UNIT = 1_000n
/** A call costs less than a whole number of units. */
const COST = 10_100n

for (const engine of engines.filter(({ lasting }) => lasting))
  describe(`a voucher that was given up, on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store
    let at = 0
    beforeAll(async () => {
      database = await engine.fresh()
      const scene = await bookScene(database)
      await scene.store.close()
      at = scene.address.now?.() ?? 0
      store = await openStore({ ...scene.address, now: () => at })
    })
    afterAll(async () => {
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await database.stop()
    })

    const newVoucher = (channel: string, more: Partial<NewVoucher> = {}): NewVoucher => ({
      id: `voucher of ${channel}`,
      callId: `call of ${channel}`,
      fingerprint: 'f',
      amount: CENT,
      payer: 'payer',
      channel: { id: channel, asset: 'token', account: `x402:channel:${channel}`, config: '{}', unit: UNIT },
      most: CENT,
      signature: 'signed',
      deposit: undefined,
      seen: { balance: 10n * CENT, claimed: 0n, leavingAt: undefined },
      transaction: undefined,
      ...more,
    })

    /** Takes the first voucher of a new channel, and returns what its call brings. */
    const taken = async (channel: string) => {
      const voucher = newVoucher(channel)
      const { id, callId } = voucher
      const { account } = voucher.channel
      const took = await store.channels.takeVoucher(voucher)
      expect(took.outcome).toBe('authorized')
      const lent = await store.ledger.lend({
        instance: 'i',
        keyId: 'maker',
        payer: account,
        leaseId: `i:${channel}`,
        need: CENT,
        want: CENT,
        useful: 1n,
        ttlMs: DAY_MS,
      })
      const leaseId = lent.outcome === 'lent' ? lent.leaseId : lent.outcome
      const ofCall = { id, channel, unit: UNIT, most: CENT, signature: 'signed' }
      const settle = {
        callId,
        leaseId,
        payer: account,
        charge: COST,
        excess: 0n,
        detail: detailFor('maker'),
        voucher: ofCall,
      }
      return { id, settle, intent: { callId, leaseId, hold: CENT, voucher: ofCall } }
    }
    const stateOf = async (id: string) => (await store.payments.payment(id))?.state
    const giveUp = async (id: string) => {
      at += 10_000
      await store.channels.chargeVoucher(id)
      expect(await stateOf(id)).toBe('failed')
    }
    const chargedOf = async (channel: string) => (await store.channels.channel(channel))?.charged

    test('one that was not is charged with its call, in whole units', async () => {
      const { id, settle, intent } = await taken('chain:kept')
      const done = await store.ledger.commit(batchOf('i', { intents: [intent], settles: [settle] }))
      expect([...done.settled.keys()]).toEqual([settle.callId])
      expect([await stateOf(id), await chargedOf('chain:kept')]).toEqual(['settled', 11_000n])
      const repeated = await store.ledger.commit(batchOf('i', { intents: [intent], settles: [settle] }))
      expect(repeated.chargedBefore.get(settle.callId)).toBe(COST)
      expect(await chargedOf('chain:kept')).toBe(11_000n)
    })

    test('one whose call is open is not given up', async () => {
      const { id, settle, intent } = await taken('chain:open')
      await store.ledger.commit(batchOf('i', { intents: [intent] }))
      at += 10_000
      await store.channels.chargeVoucher(id)
      expect(await stateOf(id)).toBe('authorized')
      await store.ledger.commit(batchOf('i', { settles: [settle] }))
      expect([await stateOf(id), await chargedOf('chain:open')]).toEqual(['settled', 11_000n])
    })

    test('its call is not opened', async () => {
      const { id, settle, intent } = await taken('chain:late')
      await giveUp(id)
      const opened = await store.ledger.commit(batchOf('i', { intents: [intent] }))
      expect(opened.opened.size).toBe(0)
      const both = await store.ledger.commit(batchOf('i', { intents: [intent], settles: [settle] }))
      expect([both.opened.size, both.settled.size]).toEqual([0, 0])
      expect(await chargedOf('chain:late')).toBe(0n)
    })

    test('what its call settles when its lease is over is written off', async () => {
      const { id, settle } = await taken('chain:reaped')
      await giveUp(id)
      await store.ledger.commit(batchOf('i', { settles: [settle] }))
      const posted = await store.ledger.transfersOf(settle.callId)
      expect(posted.map(({ kind }) => kind)).toEqual(['writeoff'])
      expect(await chargedOf('chain:reaped')).toBe(0n)
    })

    describe('taken with the claim of its answer', () => {
      const channel = 'chain:begun'
      const ref = { keyId: 'guests', endpoint: 'x402', key: 'answer' }
      const claim = { ref, instance: 'i', lockMs: 1_000 }
      const next = (id: string, more: Partial<NewVoucher> = {}) =>
        newVoucher(channel, { id, callId: `call of ${id}`, seen: undefined, most: 11_000n + CENT, ...more })
      const begun = (voucher: NewVoucher, by = claim) => store.channels.beginVoucher(voucher, by)
      /** The call that has the answer, of which only a repeat of the same call hears. */
      const claimedBy = async () => {
        const asked = { ...claim, fingerprint: 'f', callId: 'nobody', instance: 'other' }
        const state = await store.idempotency.begin(asked)
        const callId = state.state === 'first' ? state.callId : state.state
        await store.idempotency.forget(ref, callId, 'other')
        return callId
      }
      beforeAll(async () => {
        const { settle, intent } = await taken(channel)
        await store.ledger.commit(batchOf('i', { intents: [intent], settles: [settle] }))
      })

      for (const [what, more] of [
        ['that begins before where its channel stands', { most: CENT }],
        ['that begins behind it', { most: 12_000n + CENT }],
        ['beyond the deposit', { amount: 10n * CENT, most: 11_000n + 10n * CENT }],
        ['of a channel that nobody knows', { channel: newVoucher('chain:nobody').channel }],
      ] as const)
        test(`one ${what} is not, and nothing is claimed`, async () => {
          expect(await begun(next(what, more))).toBeUndefined()
          expect([await stateOf(what), await claimedBy()]).toEqual([undefined, 'nobody'])
        })

      test('neither is one of a channel that was not looked at of late', async () => {
        at += 30_000
        expect(await begun(next('late'))).toBeUndefined()
        const seen = { balance: 10n * CENT, claimed: 0n, leavingAt: undefined }
        const took = await store.channels.takeVoucher(next('late', { seen }))
        expect(took.outcome).toBe('authorized')
        await giveUp('late')
      })

      test('nor one whose name, or whose answer, somebody has', async () => {
        expect(await begun(next('late'))).toBeUndefined()
        await store.idempotency.begin({ ...claim, fingerprint: 'f', callId: 'earlier' })
        expect(await begun(next('new'))).toBeUndefined()
        expect([await stateOf('new'), await claimedBy()]).toEqual([undefined, 'earlier'])
      })

      test('the next one is, and others are not while it has the channel', async () => {
        const it = await begun(next('next'))
        expect([it?.channel.id, it?.channel.charged, it?.channel.pending]).toEqual([channel, 11_000n, 'next'])
        expect(await stateOf('next')).toBe('authorized')
        const other = { ...claim, ref: { ...ref, key: 'another answer' } }
        expect(
          await begun(next('beside', { amount: 2n * CENT, most: 11_000n + 2n * CENT }), other),
        ).toBeUndefined()
        expect(await begun(next('next', { callId: 'a copy' }), other)).toBeUndefined()
        expect((await store.payments.payment('next'))?.callId).toBe('call of next')
        expect(await claimedBy()).toBe('call of next')
        await giveUp('next')
      })
    })

    describe('recorded with the intent of its call', () => {
      const channel = 'chain:with'
      const refOf = (id: string) => ({ keyId: 'guests', endpoint: 'x402', key: id })
      let lease: Awaited<ReturnType<typeof taken>>
      beforeAll(async () => {
        lease = await taken(channel)
        await store.ledger.commit(batchOf('i', { intents: [lease.intent], settles: [lease.settle] }))
      })

      /** The next voucher, which begins where the channel stands, unless it begins so much later. */
      const next = async (id: string, { later = 0n, amount = CENT } = {}) => {
        const record = { fingerprint: 'f', amount, payer: 'payer', ref: refOf(id), lockMs: 1_000 }
        const most = ((await chargedOf(channel)) ?? 0n) + later + amount
        const voucher = { id, channel, unit: UNIT, most, signature: `signed ${id}`, record }
        const answer = { ref: record.ref, answer: { status: 200, headers: {}, body: id } }
        const callId = `call of ${id}`
        return {
          intent: { ...lease.intent, hold: COST, callId, voucher },
          settle: { ...lease.settle, callId, voucher, answer },
        }
      }
      const nameOf = async (id: string) => {
        const asked = { ref: refOf(id), fingerprint: 'f', callId: 'nobody', instance: 'other', lockMs: 1_000 }
        const state = await store.idempotency.begin(asked)
        if (state.state === 'first') await store.idempotency.forget(asked.ref, state.callId, 'other')
        return state.state === 'first' ? state.callId : state
      }

      test('in one commit with its charge, however often that is sent', async () => {
        const { intent, settle } = await next('one')
        for (const opened of [1, 2]) {
          const done = await store.ledger.commit(batchOf('i', { intents: [intent], settles: [settle] }))
          expect([opened, [...done.opened]]).toEqual([opened, [intent.callId]])
          expect([await stateOf('one'), await chargedOf(channel)]).toEqual(['settled', 22_000n])
        }
        expect(await nameOf('one')).toMatchObject({ state: 'done', answer: { body: 'one' } })
        const { signature, pending } = (await store.channels.channel(channel)) ?? {}
        expect([signature, pending]).toEqual(['signed one', undefined])
      })

      test('and charged later', async () => {
        const { intent, settle } = await next('two')
        await store.ledger.commit(batchOf('i', { intents: [intent] }))
        expect([await stateOf('two'), await nameOf('two')]).toEqual(['authorized', 'call of two'])
        expect((await store.channels.channel(channel))?.pending).toBe('two')
        const beside = await next('beside')
        expect((await store.ledger.commit(batchOf('i', { intents: [beside.intent] }))).opened.size).toBe(0)
        await store.ledger.commit(batchOf('i', { settles: [settle] }))
        expect([await stateOf('two'), await chargedOf(channel)]).toEqual(['settled', 33_000n])
      })

      const refused = async (id: string, it: Awaited<ReturnType<typeof next>>) => {
        const before = await chargedOf(channel)
        const done = await store.ledger.commit(batchOf('i', { intents: [it.intent], settles: [it.settle] }))
        expect([done.opened.size, done.settled.size]).toEqual([0, 0])
        expect([await stateOf(id), await chargedOf(channel)]).toEqual([undefined, before])
        expect((await store.channels.channel(channel))?.pending).toBeUndefined()
      }
      for (const [what, more] of [
        ['begins before where its channel stands', { later: -UNIT }],
        ['begins behind it', { later: UNIT }],
        ['ends beyond the deposit', { amount: 11n * CENT }],
      ] as const)
        test(`not if it ${what}: its call is not opened, and nothing is claimed`, async () => {
          await refused(what, await next(what, more))
          expect(await nameOf(what)).toBe('nobody')
        })

      test('not if somebody has the name of its answer', async () => {
        const its = { ref: refOf('named'), fingerprint: 'f', callId: 'earlier', instance: 'i', lockMs: 1_000 }
        await store.idempotency.begin(its)
        await refused('named', await next('named'))
      })

      test('not once its payer leaves, nor long after its channel was looked at', async () => {
        at += 60_000
        await refused('stale', await next('stale'))
        await store.channels.channelsLeaving([channel])
        const { voucher } = (await next('leaves')).intent
        const seen = { balance: 10n * CENT, claimed: 0n, leavingAt: 1 }
        const look = newVoucher(channel, { id: 'looks', callId: 'looks', most: voucher.most, seen })
        expect((await store.channels.takeVoucher(look)).outcome).toBe('leaving')
        await refused('leaves', await next('leaves'))
      })
    })

    test('its job does not begin', async () => {
      const { id, intent, settle } = await taken('chain:job')
      await giveUp(id)
      const begun = await store.runs.begin({
        id: intent.callId,
        keyId: 'maker',
        walletId: 'w',
        payer: settle.payer,
        voucher: id,
        model: 'm',
        amount: CENT,
        useful: 1n,
        owner: 'i',
        ownerMs: 1_000,
        deadlineMs: 1_000,
      })
      expect(begun).toMatchObject({ outcome: 'spent', limit: 'payment' })
    })
  })
