/** Details of old calls go away; postings, reports, refunds and the audit stay what they were, on every engine. */

import { expect, test } from 'bun:test'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { bookScene } from './audit-scene.ts'
import { brokenLaws, engines } from './engines.ts'
import { oldCalls } from './old-calls.ts'
import { createOneKey } from './world.ts'

const at = (text: string): number => Date.parse(`${text}Z`)

const opened = async (engine: (typeof engines)[number]) => {
  const database = await engine.fresh()
  const clock = { at: at('2025-01-10T08:00') }
  const store = await openTestStore({ url: database.url, now: () => clock.at })
  await createOneKey(store)
  return {
    store,
    clock,
    ...oldCalls(store, clock),
    stop: async () => {
      const broken = await brokenLaws(store)
      await store.close()
      await database.stop()
      expect(broken).toEqual([])
    },
  }
}

/** All reports of whole days between January and June. */
const reports = async (store: Store) => {
  const spans = [
    ['2025-01-01T00:00', '2025-06-01T00:00'],
    ['2025-01-01T00:00', '2025-02-01T00:00'],
    ['2025-01-20T00:00', '2025-03-12T00:00'],
    ['2025-03-01T00:00', '2025-06-01T00:00'],
  ] as const
  const all: unknown[] = []
  for (const [from, to] of spans) {
    const span = { from: at(from), to: at(to) }
    for (const of of [{}, { keyId: 'k' }, { tree: 'k' }])
      for (const groupBy of [['day', 'model', 'key'], ['model'], []] as const)
        all.push(await store.reports.usage({ ...span, ...of, orgs: 'all', only: {}, most: 10_000, groupBy }))
    for (const groupBy of [
      ['day', 'model', 'key'],
      ['month', 'vendor'],
      ['model', 'status'],
    ] as const)
      all.push(await store.reports.usage({ ...span, orgs: ['o'], groupBy, only: {}, most: 1_000 }))
  }
  return all
}

const detailOf = async (store: Store, id: string) => (await store.receipts.chargedCall(id))?.detail?.model

for (const engine of engines) {
  test(`reports, refunds, rebuilt sums and the audit are what they were, on ${engine.name}`, async () => {
    const { store, clock, call, open, settle, reap, stop } = await opened(engine)
    const january = [
      await call(at('2025-01-10T08:00'), 'one'),
      await call(at('2025-01-10T09:00'), 'two'),
      await call(at('2025-01-31T20:00'), 'one'),
    ]
    // Began in February, and was charged in March.
    clock.at = at('2025-02-28T23:59:59')
    const late = await open()
    clock.at = at('2025-03-01T00:00:05')
    await settle(late, 'late')
    await reap()
    await store.ledger.post({
      kind: 'refund',
      ref: january[0] ?? '',
      debit: 'revenue',
      credit: 'w',
      amount: 100n,
    })
    const march = await call(at('2025-03-10T08:00'), 'one')
    const may = await call(at('2025-05-10T08:00'), 'two')
    clock.at = at('2025-05-20T08:00')
    const before = await reports(store)
    expect(await detailOf(store, january[0] ?? '')).toBe('one')

    const until = await store.prune.endDetails(2)
    expect(until).toBe(at('2025-03-01T00:00'))
    expect(await reports(store)).toEqual(before)
    let [after, deleted] = ['' as string | undefined, 0]
    for (; after !== undefined; expect(await reports(store)).toEqual(before)) {
      const step: Awaited<ReturnType<Store['prune']['pruneDetails']>> = await store.prune.pruneDetails(
        until,
        after,
        2,
      )
      deleted += step.deleted
      after = step.next
    }
    // The first was refunded in March, which is still reported call by call.
    expect(deleted).toBe(2)
    const kept = [late.callId, march, may]
    expect(await Promise.all([...january, ...kept].map((id) => detailOf(store, id)))).toEqual([
      'one',
      undefined,
      undefined,
      'late',
      'one',
      'two',
    ])
    const { lines: calls } = await store.reports.calls({ orgs: ['o'], most: 100 })
    expect(calls.map(({ id, amount }) => [id, amount])).toEqual(
      [...january, late.callId, march, may].toReversed().map((id) => [id, 10_100n]),
    )
    expect(calls.filter(({ detail }) => detail !== undefined)).toHaveLength(4)

    await store.reports.forgetRollUps()
    await store.reports.rollUp()
    expect(await reports(store)).toEqual(before)
    expect(await brokenLaws(store)).toEqual([])

    // A month later the next ones go; money of old calls may still be given back, but no more than was paid.
    clock.at = at('2025-06-20T08:00')
    expect(await store.prune.endDetails(2)).toBe(at('2025-04-01T00:00'))
    expect(await store.prune.pruneDetails(at('2025-04-01T00:00'), '', 100)).toEqual({ deleted: 3 })
    expect(await reports(store)).toEqual(before)
    const refund = (amount: bigint) =>
      store.ledger.post({ kind: 'refund', ref: january[1] ?? '', debit: 'revenue', credit: 'w', amount })
    await expect(refund(10_101n)).rejects.toThrow()
    await refund(10_100n)
    const [june] = await store.reports.usage({
      orgs: 'all',
      only: {},
      most: 1,
      from: at('2025-06-01T00:00'),
      to: at('2025-07-01T00:00'),
      groupBy: [],
    })
    expect(june?.amount).toBe(-10_100n)
    // A longer retention brings nothing back, and removes nothing.
    expect(await store.prune.endDetails(5)).toBe(at('2025-01-01T00:00'))
    expect(await reports(store)).toEqual(before)
    await stop()
  })

  test(`what waits to be exported stays until it is told, on ${engine.name}`, async () => {
    const { store, clock, call, stop } = await opened(engine)
    await store.exports.noteExports(true)
    const first = await call(at('2025-01-10T08:00'), 'one')
    const second = await call(at('2025-01-11T08:00'), 'two')
    clock.at = at('2025-09-01T08:00')
    const until = await store.prune.endDetails(2)
    expect(await store.prune.pruneDetails(until, '', 100)).toEqual({ deleted: 0 })
    const exported = await store.exports.claimExports(1, 60_000)
    expect(exported.map(({ id, detail }) => [id, detail?.model])).toEqual([[first, 'one']])
    expect(await store.prune.pruneDetails(until, '', 100)).toEqual({ deleted: 0 })
    await store.exports.exported([first])
    expect(await store.prune.pruneDetails(until, '', 100)).toEqual({ deleted: 1 })
    expect((await store.exports.claimExports(9, 60_000)).map(({ detail }) => detail?.model)).toEqual(['two'])
    await store.exports.exported([second])
    expect(await store.prune.pruneDetails(until, '', 100)).toEqual({ deleted: 1 })
    await stop()
  })

  test.if(engine.lasting)(
    `books with a row of every kind hold when all that is old is gone, on ${engine.name}`,
    async () => {
      const database = await engine.fresh()
      const { store: made } = await bookScene(database)
      const payment = {
        callId: 'c',
        fingerprint: 'f',
        account: 'x402:never',
        amount: 7n,
        payer: '0xp',
        sent: '{}',
      }
      await made.payments.beginPayment({ id: 'never', ...payment, firstTryMs: 0 })
      await made.payments.failPayment('never', 'no money')
      await made.funding.openCheckout({ id: 'unpaid', walletId: 'w', amount: 5n }, byTest)
      await made.close()
      const now = at('2036-01-01T00:00')
      const store = await openTestStore({ url: database.url, now: () => now })
      await store.members.attempt('address a', 900_000)
      await store.members.brought('code b')
      const session = { id: 's', token: 't', user_id: 'p', created_at: '', updated_at: '' }
      const person = {
        id: 'p',
        name: 'p',
        email: 'p@example.com',
        email_verified: 1,
        created_at: '',
        updated_at: '',
      }
      await store.people.create('person', person)
      await store.people.create('person_session', { ...session, expires_at: '2035-12-30T00:00:00.000Z' })
      await store.people.create('person_session', {
        ...session,
        id: 's2',
        token: 't2',
        expires_at: '2036-01-02T12:00:00.000Z',
      })
      await store.close()
      const later = await openTestStore({ url: database.url, now: () => now + 2 * 86_400_000 })
      expect(await later.funding.checkout('unpaid')).toBeDefined()
      const until = await later.prune.endDetails(2)
      while ((await later.prune.pruneRest(until, 30, 1)) > 0);
      expect(await later.funding.checkout('unpaid')).toBeUndefined()
      expect(await later.payments.payment('never')).toBeUndefined()
      expect((await later.people.find('person_session', { where: [] })).map(({ id }) => id)).toEqual(['s2'])
      // A deleted counter begins anew.
      expect(await later.members.brought('code b')).toBe(1)
      expect(await later.members.brought('code b')).toBe(2)
      expect(await brokenLaws(later)).toEqual([])
      await later.close()
      await database.stop()
    },
  )
}
