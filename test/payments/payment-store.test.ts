/** Payments in the ledger, on both engines: taken in once, charged once, changed once, whoever asks and however often. */

import { describe, expect, test } from 'bun:test'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import type { AuthorizedPayment, NewPayment } from '../../src/store/payments/payment-port.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { USD } from '../server/harness.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { detailFor } from '../store/world.ts'

const GUESTS = 'key_guests'

const payment = (id: string, more: Partial<NewPayment> = {}): NewPayment => ({
  id,
  callId: `call-${id}`,
  fingerprint: 'f',
  account: `x402_${id}`,
  amount: 1_000_000n,
  payer: '0xpayer',
  sent: '{}',
  firstTryMs: 0,
  ...more,
})

const makeKeys = async (store: Store): Promise<void> => {
  await store.wallets.createWallet({ id: 'wal_guests', orgId: 'x402', name: 'guests' }, byTest)
  await store.wallets.createWallet({ id: 'wal_bearer', orgId: 'org', name: 'bearer' }, byTest)
  await store.keys.createKey(
    {
      id: GUESTS,
      hash: 'guests',
      orgId: 'x402',
      walletId: 'wal_guests',
      label: 'guests',
      prefix: 'x402',
      limits: {},
    },
    byTest,
  )
}

const detail = detailFor(GUESTS)

const transfer = (kind: string, ref: string, debit: string, credit: string) =>
  `insert into transfer (kind, ref, debit, credit, amount, key_id, month, at)
   values ('${kind}', '${ref}', '${debit}', '${credit}', 7, null, null, 0)`

for (const engine of engines.filter(({ lasting }) => lasting))
  test.each([
    ['a payment that was never taken in', [`update x402_payment set state = 'settled' where id = 'open'`]],
    ['money from the chain without a payment', [transfer('topup', 'x402:nobody', 'x402', 'promo')]],
    ['money from Stripe without a payment', [transfer('topup', 'x402:stripe:p:usd:1', 'cash', 'promo')]],
    ['a loss on a payment that was not lost', [transfer('adjust', 'x402:a', 'loss', 'promo')]],
    [
      'a call on the payment of another',
      [
        transfer('usage', 'call-other', 'x402_a', 'revenue'),
        `update account set balance = balance - 7 where id = 'x402_a'`,
      ],
    ],
  ])(`the audit on ${engine.name} finds %s`, async (_what, breaks) => {
    const database = await engine.fresh()
    const store = await openTestStore({ url: database.url })
    await makeKeys(store)
    await store.payments.beginPayment(payment('open'))
    await store.payments.beginPayment(payment('a'))
    await store.payments.settlePayment('a', 't')
    expect(await brokenLaws(store)).toEqual([])
    const raw = openEngine({ url: database.url })
    for (const text of breaks) await raw.batch('control', [{ text, params: [] }])
    expect((await brokenLaws(store)).map(({ check }) => check)).toContain(
      'an x402 payment is taken in once, and pays for its own call only',
    )
    await raw.close()
    await store.close()
    await database.stop()
  })

let serial = 0
const lend = (store: Store, instance: string, payer: string, need = 1_000_000n) =>
  store.ledger.lend({
    instance,
    keyId: GUESTS,
    payer,
    leaseId: `${instance}:${++serial}`,
    need,
    want: need,
    useful: 0n,
    ttlMs: 10_000,
  })

const commit = (store: Store, instance: string, more: object) =>
  store.ledger.commit({ instance, intents: [], progress: [], settles: [], voids: [], ...more })

const settleOf = (it: NewPayment, leaseId: string, charge: bigint) => ({
  callId: it.callId,
  leaseId,
  payer: it.account,
  charge,
  excess: 0n,
  detail,
})

for (const engine of engines)
  describe(`payments on ${engine.name}`, () => {
    const withStore = async (work: (store: Store) => Promise<void>, now?: () => number) => {
      const database = await engine.fresh()
      const store = await openTestStore({ url: database.url, ...(now === undefined ? {} : { now }) })
      try {
        await makeKeys(store)
        await work(store)
        expect(await brokenLaws(store)).toEqual([])
      } finally {
        await store.close()
        await database.stop()
      }
    }

    test('a payment is taken in once, however many ask', () =>
      withStore(async (store) => {
        const first = payment('a')
        const begun = await Promise.all([
          store.payments.beginPayment(first),
          store.payments.beginPayment({ ...first, callId: 'call-other', fingerprint: 'g' }),
        ])
        expect(new Set(begun.map(({ callId }) => callId)).size).toBe(1)
        await Promise.all(
          ['t1', 't1', 't1'].map((transaction) => store.payments.settlePayment('a', transaction)),
        )
        expect(await store.ledger.balance('x402')).toBe(-1_000_000n)
        expect(await store.ledger.balance(first.account)).toBe(1_000_000n)
        expect(await store.payments.payment('a')).toMatchObject({ state: 'settled', transaction: 't1' })
        expect((await store.payments.payment('a'))?.sent).toBeUndefined()
        // A late no does not undo it, and its account is nobody's wallet.
        await store.payments.failPayment('a', 'late')
        expect((await store.payments.payment('a'))?.state).toBe('settled')
        expect((await store.wallets.list()).map(({ id }) => id)).toEqual(['wal_bearer'])
      }))

    test('a failed payment may be tried again, and found to be paid after all', () =>
      withStore(async (store) => {
        await store.payments.beginPayment(payment('a'))
        await store.payments.failPayment('a', 'no_funds')
        expect(await store.payments.payment('a')).toMatchObject({ state: 'failed', reason: 'no_funds' })
        expect(await store.ledger.balance('x402')).toBe(0n)
        const other = await store.payments.beginPayment(
          payment('a', { callId: 'call-2', fingerprint: 'g', sent: '{"token":2}' }),
        )
        // A late no to what was sent before is not one to this.
        await store.payments.failPayment('a', 'no_funds', '{}')
        expect((await store.payments.payment('a'))?.state).toBe('settling')
        expect(other).toMatchObject({ state: 'settling', callId: 'call-2' })
        await store.payments.settlePayment('a', 't')
        expect(await store.ledger.balance('x402')).toBe(-1_000_000n)
      }))

    test('a payment under the minimum of a wallet is leased to its last nano, and not beyond', () =>
      withStore(async (store) => {
        const it = payment('a', { amount: 7n })
        await store.payments.beginPayment(it)
        await store.payments.settlePayment('a', 't')
        expect(await lend(store, 'one', it.account, 8n)).toMatchObject({ outcome: 'spent' })
        const granted = await lend(store, 'one', it.account, 7n)
        expect(granted).toMatchObject({ outcome: 'lent', grown: 7n })
        expect(await lend(store, 'two', it.account, 1n)).toMatchObject({
          outcome: expect.not.stringMatching('lent'),
        })
      }))

    test('a payment without a key is given back unserved when it is asked for, and then holds no call', () =>
      withStore(async (store) => {
        const it = payment('a')
        await store.payments.beginPayment(it)
        expect(await store.payments.payChange('a', 'wal_guests')).toEqual({ outcome: 'open' })
        await store.payments.settlePayment('a', 't')
        // A call of it has failed, and its process keeps the lease.
        await store.instances.beat('one', undefined)
        const lease = await lend(store, 'one', it.account)
        if (lease.outcome !== 'lent') throw new Error(lease.outcome)
        const back = { outcome: 'paid', amount: 1_000_000n, to: 'wal_guests' } as const
        expect(await store.payments.payChange('a', 'wal_guests')).toEqual(back)
        const intents = [{ callId: it.callId, leaseId: lease.leaseId, hold: 1_000_000n }]
        expect((await commit(store, 'one', { intents })).opened.size).toBe(0)
        expect((await lend(store, 'one', it.account)).outcome).toBe('spent')
        expect(await store.ledger.balance('wal_guests')).toBe(1_000_000n)
      }))

    test('change waits for the end of the call, is paid once, and ends the lease', () =>
      withStore(async (store) => {
        const it = payment('a', { creditTo: 'wal_bearer' })
        await store.payments.beginPayment(it)
        expect(await store.payments.payChange('a', 'wal_bearer')).toEqual({ outcome: 'open' })
        await store.payments.settlePayment('a', 't')
        expect(await store.payments.payChange('a', 'wal_bearer')).toEqual({ outcome: 'open' })
        await store.instances.beat('one', undefined)
        const lease = await lend(store, 'one', it.account)
        if (lease.outcome !== 'lent') throw new Error(lease.outcome)
        await commit(store, 'one', {
          intents: [{ callId: it.callId, leaseId: lease.leaseId, hold: 1_000_000n }],
        })
        expect(await store.payments.payChange('a', 'wal_bearer')).toEqual({ outcome: 'open' })
        await commit(store, 'one', { settles: [settleOf(it, lease.leaseId, 300_000n)] })
        const paid = await Promise.all(
          ['wal_bearer', 'wal_guests', 'wal_bearer'].map((to) => store.payments.payChange('a', to)),
        )
        expect(paid.filter(({ outcome }) => outcome === 'paid')).toHaveLength(1)
        expect(paid.filter(({ outcome }) => outcome === 'paid_before')).toHaveLength(2)
        const [bearer, guests] = [
          await store.ledger.balance('wal_bearer'),
          await store.ledger.balance('wal_guests'),
        ]
        expect(bearer + guests).toBe(700_000n)
        expect(await store.ledger.balance(it.account)).toBe(0n)
        expect(await store.payments.payChange('nobody', 'wal_bearer')).toEqual({ outcome: 'unknown' })
      }))

    test('what a dead process holds of a payment is freed at once; what a live one holds is not', () =>
      withStore(async (store) => {
        const it = payment('a')
        await store.payments.beginPayment(it)
        await store.payments.settlePayment('a', 't')
        const dead = await lend(store, 'dead', it.account)
        if (dead.outcome !== 'lent') throw new Error(dead.outcome)
        await commit(store, 'dead', {
          intents: [{ callId: it.callId, leaseId: dead.leaseId, hold: 1_000_000n }],
        })
        expect(await lend(store, 'live', it.account)).toMatchObject({ outcome: 'held' })
        await store.payments.freeAccount(it.account)
        await store.instances.beat('live', undefined)
        const live = await lend(store, 'live', it.account)
        if (live.outcome !== 'lent') throw new Error(live.outcome)
        const intent = { callId: it.callId, leaseId: live.leaseId, hold: 1_000_000n }
        expect((await commit(store, 'live', { intents: [intent] })).opened.size).toBe(1)
        await store.payments.freeAccount(it.account)
        expect(await lend(store, 'third', it.account)).toMatchObject({ outcome: 'held' })
        // Both settle, the one that was thought dead first or last: the payment is charged once.
        await commit(store, 'live', { settles: [settleOf(it, live.leaseId, 300_000n)] })
        await commit(store, 'dead', { settles: [settleOf(it, dead.leaseId, 400_000n)] })
        expect((await store.ledger.transfersOf(it.callId)).map(({ amount }) => amount)).toEqual([300_000n])
        expect(await store.payments.payChange('a', 'wal_bearer')).toMatchObject({
          outcome: 'paid',
          amount: 700_000n,
        })
      }))

    test('open outcomes and due change are handed out to one asker, later again, and never served payments after a day', async () => {
      let now = 1_800_000_000_000
      await withStore(
        async (store) => {
          await store.payments.beginPayment(payment('a', { firstTryMs: 5_000 }))
          expect(await store.payments.unsettledPayments(10)).toEqual([])
          now += 5_001
          const taken = await Promise.all([
            store.payments.unsettledPayments(10),
            store.payments.unsettledPayments(10),
          ])
          expect(taken.flat().map(({ id, sent }) => [id, sent])).toEqual([['a', '{}']])
          now += 5_000
          expect(await store.payments.unsettledPayments(10)).toEqual([])
          now += 60_000
          expect(await store.payments.unsettledPayments(10)).toHaveLength(1)
          await store.payments.settlePayment('a', 't')
          await store.payments.beginPayment(payment('b', { creditTo: 'wal_bearer' }))
          await store.payments.settlePayment('b', 't')
          now += 3_600_000
          expect(await store.payments.dueChange(10)).toEqual([])
          now += 24 * 3_600_000
          expect((await store.payments.dueChange(10)).map(({ id }) => id)).toEqual(['b'])
          expect(await store.payments.dueChange(10)).toEqual([])
          expect(await store.payments.payChange('b', 'wal_bearer')).toMatchObject({
            outcome: 'paid',
            amount: 1_000_000n,
          })
          now += 24 * 3_600_000
          expect(await store.payments.dueChange(10)).toEqual([])
        },
        () => now,
      )
    })

    test('a claim that nothing came of is forgotten, by its own attempt only', () =>
      withStore(async (store) => {
        const ref = { keyId: GUESTS, endpoint: 'x402', key: 'a' }
        const begin = (callId: string, fingerprint: string) =>
          store.idempotency.begin({ ref, fingerprint, callId, instance: 'one', lockMs: 1_000 })
        await store.instances.beat('one', undefined)
        expect(await begin('call-1', 'f')).toEqual({ state: 'first', callId: 'call-1' })
        await store.idempotency.forget(ref, 'call-other', 'one')
        expect((await begin('call-2', 'f')).state).toBe('running')
        await store.idempotency.forget(ref, 'call-1', 'one')
        expect(await begin('call-3', 'f')).toEqual({ state: 'first', callId: 'call-3' })
      }))

    test('caps bind a call that is paid for, and count what it is charged', () =>
      withStore(async (store) => {
        await store.keys.createKey(
          {
            id: 'key_capped',
            hash: 'capped',
            orgId: 'org',
            walletId: 'wal_bearer',
            label: 'capped',
            prefix: 'sk-',
            limits: { spendCap: 500_000n, stopAt: USD },
          },
          byTest,
        )
        const it = payment('a')
        await store.payments.beginPayment(it)
        await store.payments.settlePayment('a', 't')
        const ask = (need: bigint) =>
          store.ledger.lend({
            instance: 'one',
            keyId: 'key_capped',
            payer: it.account,
            leaseId: `one:${++serial}`,
            need,
            want: need,
            useful: 1n,
            ttlMs: 10_000,
          })
        expect(await ask(500_001n)).toMatchObject({ outcome: 'spent', limit: 'spend_cap_usd' })
        const lease = await ask(500_000n)
        if (lease.outcome !== 'lent') throw new Error(lease.outcome)
        await commit(store, 'one', {
          intents: [{ callId: it.callId, leaseId: lease.leaseId, hold: 500_000n }],
          settles: [{ ...settleOf(it, lease.leaseId, 200_000n), detail: detailFor('key_capped') }],
        })
        expect((await store.keys.spend('key_capped')).spent).toBe(200_000n)
        expect(await store.ledger.balance('wal_bearer')).toBe(0n)
      }))

    const UNIT = 1_000n
    const authorized = (id: string, more: Partial<AuthorizedPayment> = {}): AuthorizedPayment => ({
      ...payment(id),
      expiresAt: 4_000_000_000_000,
      most: 2_000_000n,
      ...more,
    })
    const charge = (store: Store, id: string) =>
      store.payments.chargePayment({ id, unit: UNIT, firstTryMs: 0 })
    /** Runs the call of an authorised payment. */
    const call = async (store: Store, it: AuthorizedPayment, amount: bigint) => {
      const lease = await lend(store, 'one', it.account)
      if (lease.outcome !== 'lent') throw new Error(lease.outcome)
      await store.instances.beat('one', undefined)
      const intent = { callId: it.callId, leaseId: lease.leaseId, hold: 1_000_000n }
      await commit(store, 'one', { intents: [intent], settles: [settleOf(it, lease.leaseId, amount)] })
    }

    test('what was authorised is held, charged, and settled for the charge in whole units, once', () =>
      withStore(async (store) => {
        const it = authorized('a')
        const begun = await Promise.all([
          store.payments.authorizePayment(it),
          store.payments.authorizePayment({ ...it, callId: 'call-other' }),
        ])
        expect(new Set(begun.map((one) => one !== 'too_much' && one.callId)).size).toBe(1)
        expect(await lend(store, 'one', it.account, 1_000_001n)).toMatchObject({ outcome: 'spent' })
        expect(await charge(store, 'a')).toMatchObject({ begun: false, payment: { state: 'authorized' } })
        expect(await store.payments.payChange('a', 'revenue')).toEqual({ outcome: 'open' })
        await call(
          store,
          { ...it, callId: begun[0] === 'too_much' ? '' : (begun[0]?.callId ?? '') },
          300_001n,
        )
        expect(await brokenLaws(store)).toEqual([])
        const charged = await Promise.all([charge(store, 'a'), charge(store, 'a')])
        expect(charged.filter((one) => one.begun)).toHaveLength(1)
        expect(charged[0]?.payment).toMatchObject({ state: 'settling', amount: 301_000n })
        expect(await brokenLaws(store)).toEqual([])
        await Promise.all(['t', 't'].map((transaction) => store.payments.settlePayment('a', transaction)))
        expect(await store.payments.payChange('a', 'revenue')).toMatchObject({
          outcome: 'paid',
          amount: 999n,
        })
        expect(await store.ledger.balance('x402')).toBe(-301_000n)
        expect(await store.ledger.balance('revenue')).toBe(301_000n)
        expect(await store.ledger.balance(it.account)).toBe(0n)
        // Nothing more is drawn on it.
        expect(await lend(store, 'one', it.account, 1n)).toMatchObject({ outcome: 'spent' })
      }))

    test('a charge whose payment cannot come is the loss of the house, and its payer authorises no more', () =>
      withStore(async (store) => {
        const it = authorized('a')
        await store.payments.authorizePayment(it)
        await call(store, it, 300_000n)
        await charge(store, 'a')
        await store.payments.failPayment('a', 'gone')
        await store.payments.failPayment('a', 'gone')
        expect(await store.payments.payment('a')).toMatchObject({ state: 'lost', reason: 'gone' })
        expect([await store.ledger.balance('loss'), await store.ledger.balance(it.account)]).toEqual([
          -300_000n,
          0n,
        ])
        expect(await store.payments.authorizePayment(authorized('b'))).toBe('too_much')
        expect(await store.payments.authorizePayment(authorized('c', { payer: '0xother' }))).toMatchObject({
          state: 'authorized',
        })
        expect(await store.payments.payChange('a', 'revenue')).toEqual({ outcome: 'unknown' })
      }))

    test('a payer has no more open than it may, however many ask at once', () =>
      withStore(async (store) => {
        const asked = await Promise.all(
          ['a', 'b', 'c', 'd'].map((id) => store.payments.authorizePayment(authorized(id))),
        )
        expect(asked.filter((one) => one === 'too_much')).toHaveLength(2)
      }))

    test('an authorisation that nothing was charged to ends when it has run out, not before', async () => {
      let now = 1_800_000_000_000
      await withStore(
        async (store) => {
          const it = authorized('a', { expiresAt: now + 600_000 })
          await store.payments.authorizePayment(it)
          now += 600_000
          expect((await store.payments.unsettledPayments(10)).map(({ id }) => id)).toEqual(['a'])
          expect((await charge(store, 'a')).payment.state).toBe('authorized')
          now += 60_001
          expect((await charge(store, 'a')).payment).toMatchObject({
            state: 'failed',
            reason: 'payment_expired',
          })
          expect(await lend(store, 'one', it.account, 1n)).toMatchObject({ outcome: 'spent' })
          // It may be authorised anew.
          expect(await store.payments.authorizePayment({ ...it, callId: 'call-2' })).toMatchObject({
            state: 'authorized',
            callId: 'call-2',
          })
          await call(store, { ...it, callId: 'call-2' }, 0n)
          expect((await charge(store, 'a')).payment).toMatchObject({
            state: 'failed',
            reason: 'nothing_charged',
          })
        },
        () => now,
      )
    })

    test('while a call is open its authorisation does not end', async () => {
      let now = 1_800_000_000_000
      await withStore(
        async (store) => {
          const it = authorized('a', { expiresAt: now + 1_000 })
          await store.payments.authorizePayment(it)
          const lease = await lend(store, 'one', it.account)
          if (lease.outcome !== 'lent') throw new Error(lease.outcome)
          const intent = { callId: it.callId, leaseId: lease.leaseId, hold: 1_000_000n }
          await commit(store, 'one', { intents: [intent] })
          now += 100_000
          expect((await charge(store, 'a')).payment.state).toBe('authorized')
          await commit(store, 'one', { settles: [settleOf(it, lease.leaseId, 300_000n)] })
          expect((await charge(store, 'a')).begun).toBe(true)
          await store.payments.settlePayment('a', 't')
        },
        () => now,
      )
    })
  })
