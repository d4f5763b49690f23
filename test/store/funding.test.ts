/** Money from outside and on credit, on every engine: limits that hold, invoices that add up, payments credited once. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Nano } from '../../src/core/money.ts'
import { creditAccountOf, type LoanRefused } from '../../src/ledger/types.ts'
import { Overdrawn } from '../../src/store/faults.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { openTestStore } from '../memory-ledger.ts'
import { engines, stopSound } from './engines.ts'
import { CENT, detailFor } from './world.ts'

const DAY = 86_400_000

for (const engine of engines) {
  describe(`funding on ${engine.name}`, () => {
    let now = Date.UTC(2026, 10, 21, 12)
    let serial = 0
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let store: Store

    beforeAll(async () => {
      database = await engine.fresh()
      store = await openTestStore({ url: database.url, now: () => now })
    })
    afterAll(async () => {
      await stopSound({ store, stop: () => store.close() }, database)
    })

    /** A wallet with a key, and its credit line if a limit is given. */
    const begin = async (it: { fund?: Nano; limit?: Nano; limits?: object } = {}) => {
      serial += 1
      const [walletId, keyId] = [`w${serial}`, `k${serial}`]
      const account = creditAccountOf(walletId)
      await store.wallets.createWallet({ id: walletId, orgId: `o${serial}`, name: walletId }, byTest)
      if (it.fund !== undefined)
        await store.ledger.post({
          kind: 'topup',
          ref: walletId,
          debit: 'cash',
          credit: walletId,
          amount: it.fund,
        })
      if (it.limit !== undefined)
        await store.credit.grantCredit({ walletId, limit: it.limit, netDays: 14 }, byTest)
      const key = { id: keyId, hash: keyId, orgId: `o${serial}`, walletId, label: keyId, prefix: '' }
      await store.keys.createKey({ ...key, limits: it.limits ?? {} }, byTest)
      let calls = 0
      const ask = (need: Nano, from: 'wallet' | 'credit' = 'credit', instance = 'i') =>
        store.ledger.lend({
          instance,
          keyId,
          ...(from === 'credit' ? { payer: account } : {}),
          leaseId: `${keyId} ${from} ${instance} ${now} ${++calls}`,
          need,
          want: need,
          useful: 1n,
          ttlMs: 10_000,
        })
      /** A call from lease to charge. */
      const call = async (amount: Nano, from: 'wallet' | 'credit' = 'credit', model = 'm') => {
        const lease = await ask(amount, from)
        if (lease.outcome !== 'lent') throw new Error(`${lease.outcome} ${lease.limit}`)
        const callId = `${keyId} ${++calls}`
        const result = await store.ledger.commit({
          instance: 'i',
          intents: [{ callId, leaseId: lease.leaseId, hold: amount }],
          progress: [],
          settles: [
            {
              callId,
              leaseId: lease.leaseId,
              payer: from === 'credit' ? account : walletId,
              charge: amount,
              excess: 0n,
              detail: detailFor(keyId, { model, usage: { input: 3, output: 2 }, startedAt: now }),
            },
          ],
          voids: [],
        })
        return { callId, left: result.settled.get(callId), leaseId: lease.leaseId }
      }
      const line = async () => {
        const found = await store.credit.creditLine(walletId)
        if (found === undefined) throw new Error('no line')
        return found
      }
      return { walletId, keyId, account, ask, call, line }
    }

    const refusal = async (asked: Promise<unknown>): Promise<Partial<LoanRefused>> => {
      const { outcome, limit, available } = (await asked) as LoanRefused
      return { outcome, ...(limit === undefined ? {} : { limit }), available }
    }
    const balance = async (walletId: string) => (await store.wallets.wallet(walletId))?.balance
    const refused = (limit: NonNullable<LoanRefused['limit']>, available = 0n): Partial<LoanRefused> => ({
      outcome: 'spent',
      limit,
      available,
    })

    test('without a credit line nothing is lent, and money in the wallet is not touched', async () => {
      const { ask, walletId } = await begin({ fund: 20n * CENT })
      expect(await refusal(ask(CENT))).toEqual(refused('no_credit_line'))
      expect(await balance(walletId)).toBe(20n * CENT)
      expect(await store.credit.creditLine(walletId)).toBeUndefined()
    })

    test('another wallet cannot be drawn on, nor its line', async () => {
      const rich = await begin({ fund: 100n * CENT, limit: 100n * CENT })
      const { keyId } = await begin({ fund: CENT })
      for (const payer of [rich.walletId, rich.account, 'revenue']) {
        const asked = { instance: 'i', keyId, payer, leaseId: `${keyId} ${payer}` }
        const answer = store.ledger.lend({ ...asked, need: CENT, want: CENT, useful: 1n, ttlMs: 10_000 })
        expect(await refusal(answer)).toEqual(refused('no_credit_line'))
      }
    })

    test('a line is used up to its limit and not a nano-dollar further; the wallet stays as it was', async () => {
      const { call, ask, line, walletId } = await begin({ fund: 5n * CENT, limit: 10n * CENT })
      expect((await call(7n * CENT)).left).toBe(3n * CENT)
      expect(await line()).toMatchObject({ owed: 7n * CENT, limit: 10n * CENT, status: 'active' })
      expect(await refusal(ask(3n * CENT + 1n))).toEqual(refused('credit_line', 3n * CENT))
      expect((await call(3n * CENT)).left).toBe(0n)
      expect(await refusal(ask(1n))).toEqual(refused('credit_line'))
      expect(await balance(walletId)).toBe(5n * CENT)
      expect((await call(2n * CENT, 'wallet')).left).toBe(3n * CENT)
      expect((await store.wallets.list()).filter(({ id }) => id.startsWith('credit:'))).toEqual([])
    })

    test('many processes at once lend no more than the limit', async () => {
      const { ask, line } = await begin({ limit: 50n * CENT })
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) => ask(2n * CENT, 'credit', `p${index}`)),
      )
      const lent = answers.reduce((sum, one) => sum + (one.outcome === 'lent' ? one.grown : 0n), 0n)
      expect(lent).toBe(50n * CENT)
      expect(answers.filter(({ outcome }) => outcome === 'lent')).toHaveLength(25)
      expect((await line()).owed).toBe(0n)
    })

    test("a key's caps bind what it spends from both, and room leased on one is called back for the other", async () => {
      const { ask, call } = await begin({
        fund: 50n * CENT,
        limit: 50n * CENT,
        limits: { spendCap: 6n * CENT },
      })
      await call(2n * CENT, 'wallet')
      await call(2n * CENT, 'credit')
      expect(await refusal(ask(3n * CENT, 'credit'))).toMatchObject({ limit: 'spend_cap_usd' })
      expect(await ask(2n * CENT, 'wallet')).toMatchObject({ outcome: 'lent' })
      expect(await refusal(ask(2n * CENT, 'credit'))).toMatchObject({
        outcome: 'recall',
        limit: 'spend_cap_usd',
      })
    })

    test('stop_at is about the wallet: credit is not stopped by it', async () => {
      const { ask } = await begin({ fund: 5n * CENT, limit: 20n * CENT, limits: { stopAt: 5n * CENT } })
      expect(await refusal(ask(CENT, 'wallet'))).toMatchObject({ limit: 'stop_at_remaining_usd' })
      expect(await ask(CENT, 'credit')).toMatchObject({ outcome: 'lent' })
    })

    test('a limit may be lowered under what is owed; nothing more is lent until it is paid', async () => {
      const { call, ask, line, walletId } = await begin({ limit: 20n * CENT })
      await call(15n * CENT)
      await store.credit.grantCredit({ walletId, limit: 10n * CENT, netDays: 7 }, byTest)
      expect(await refusal(ask(1n))).toEqual(refused('credit_line'))
      expect(await line()).toMatchObject({ owed: 15n * CENT, limit: 10n * CENT, netDays: 7 })
      await store.credit.grantCredit({ walletId, limit: 16n * CENT, netDays: 7 }, byTest)
      expect((await call(CENT)).left).toBe(0n)
      await store.credit.grantCredit({ walletId, limit: 0n, netDays: 7 }, byTest)
      expect(await refusal(ask(1n))).toEqual(refused('no_credit_line'))
      expect((await line()).status).toBe('withdrawn')
    })

    test('a refunded call is owed no more', async () => {
      const { call, account, line } = await begin({ limit: 20n * CENT })
      const { callId } = await call(4n * CENT)
      await store.ledger.post({
        kind: 'refund',
        ref: callId,
        debit: 'revenue',
        credit: account,
        amount: 3n * CENT,
      })
      expect((await line()).owed).toBe(CENT)
    })

    test('a credit line cannot be opened for what is no wallet', async () => {
      const { account } = await begin({ limit: CENT })
      for (const walletId of ['nobody', 'revenue', account])
        await expect(store.credit.grantCredit({ walletId, limit: CENT, netDays: 1 }, byTest)).rejects.toThrow(
          'no wallet',
        )
    })

    test('each ended month is invoiced once, in cents; what is less is carried, and nothing is lost', async () => {
      now = Date.UTC(2026, 10, 30, 23, 59, 59, 999)
      const { call, walletId, line, account } = await begin({ fund: 500n * CENT, limit: 400n * CENT })
      await call(3n * CENT + 3n)
      const { callId } = await call(CENT + CENT / 2n, 'credit', 'n')
      now = Date.UTC(2026, 11, 1)
      await call(2n * CENT + CENT / 2n - 4n)
      expect(await store.credit.invoices(walletId)).toEqual([])
      now += 3_600_000 - 1
      await store.credit.closeMonths()
      expect(await store.credit.invoices(walletId)).toEqual([])
      now += 1
      await Promise.all([store.credit.closeMonths(), store.credit.closeMonths(), store.credit.closeMonths()])
      await store.credit.closeMonths()
      const [first, ...none] = await store.credit.invoices(walletId)
      expect(none).toEqual([])
      const id = `INV-${walletId}-000001`
      expect(first).toEqual({
        id,
        walletId,
        month: '2026-11',
        brought: 0n,
        used: 4n * CENT + CENT / 2n + 3n,
        total: 4n * CENT,
        carried: CENT / 2n + 3n,
        endsAt: Date.UTC(2026, 11, 1, 0, 30),
        issuedAt: now,
        dueAt: now + 14 * DAY,
        status: 'open',
      })
      // A refund counts on the day of its call; the next invoice takes it off, because this one is written.
      await store.ledger.post({
        kind: 'refund',
        ref: callId,
        debit: 'revenue',
        credit: account,
        amount: CENT,
      })
      const november = await store.credit.statement(walletId, '2026-11')
      expect(november).toMatchObject({
        opening: 0n,
        used: 3n * CENT + CENT / 2n + 3n,
        paid: 0n,
        closing: 3n * CENT + CENT / 2n + 3n,
        invoice: { id, used: 4n * CENT + CENT / 2n + 3n },
      })
      expect(
        november?.lines.map(({ model, requests, inputTokens, amount }) => [
          model,
          requests,
          inputTokens,
          amount,
        ]),
      ).toEqual([
        ['m', 1, 3, 3n * CENT + 3n],
        ['n', 1, 3, CENT / 2n],
      ])
      expect(await store.credit.payInvoice({ id, from: 'wallet' }, byTest)).toBe('paid')
      expect(await store.credit.payInvoice({ id, from: 'wallet' }, byTest)).toBe('paid_before')
      expect(await store.credit.payInvoice({ id, from: 'cash' }, byTest)).toBe('paid_before')
      expect(await balance(walletId)).toBe(496n * CENT)
      const december = await store.credit.statement(walletId, '2026-12')
      expect(december).toMatchObject({
        opening: 3n * CENT + CENT / 2n + 3n,
        used: 2n * CENT + CENT / 2n - 4n,
        paid: 4n * CENT,
        closing: 2n * CENT - 1n,
      })
      expect((await line()).owed).toBe(2n * CENT - 1n)
      // Two silent months later: the rest of December, then January with only what was carried.
      now = Date.UTC(2027, 1, 1, 1)
      await store.credit.closeMonths()
      const shown = (await store.credit.invoices(walletId)).map(
        ({ month, brought, used, total, carried }) => [month, brought, used, total, carried],
      )
      expect(shown).toEqual([
        ['2027-01', CENT - 1n, 0n, 0n, CENT - 1n],
        ['2026-12', CENT / 2n + 3n, CENT + CENT / 2n - 4n, CENT, CENT - 1n],
        ['2026-11', 0n, 4n * CENT + CENT / 2n + 3n, 4n * CENT, CENT / 2n + 3n],
      ])
      expect(await store.credit.statement(walletId, '2026-10')).toBeUndefined()
      expect(await store.credit.statement(walletId, '2026-13')).toBeUndefined()
    })

    test('an invoice past due suspends the line and not the wallet; paying it opens the line again', async () => {
      const { call, ask, line, walletId } = await begin({ fund: 4n * CENT, limit: 50n * CENT })
      await call(5n * CENT)
      now = Date.UTC(2027, 2, 1, 1)
      await store.credit.closeMonths()
      const id = `INV-${walletId}-000001`
      now += 14 * DAY
      expect(await ask(CENT)).toMatchObject({ outcome: 'lent' })
      now += 1
      expect(await refusal(ask(CENT))).toEqual(refused('past_due'))
      expect((await line()).status).toBe('past_due')
      expect((await store.credit.invoice(id))?.status).toBe('past_due')
      expect(await ask(2n * CENT, 'wallet')).toMatchObject({ outcome: 'lent' })
      expect(await store.credit.payInvoice({ id, from: 'wallet' }, byTest)).toBe('short')
      await store.ledger.post({
        kind: 'topup',
        ref: `${walletId} more`,
        debit: 'cash',
        credit: walletId,
        amount: 2n * CENT,
      })
      // Enough together with what the idle lease holds, which is recalled.
      expect(await store.credit.payInvoice({ id, from: 'wallet' }, byTest)).toBe('leased')
      now += 12_000
      await store.ledger.reap({ graceMs: 100, longestCallMs: 1_000 })
      expect(await store.credit.payInvoice({ id, from: 'wallet' }, byTest)).toBe('paid')
      expect(await balance(walletId)).toBe(CENT)
      expect(await ask(CENT)).toMatchObject({ outcome: 'lent' })
      expect(await store.credit.payInvoice({ id: 'INV-nobody', from: 'cash' }, byTest)).toBe('unknown')
    })

    test('copies of one payment at the same time credit it once', async () => {
      const { walletId } = await begin()
      await store.funding.openCheckout({ id: `c${serial}`, walletId, amount: 25n * CENT }, byTest)
      const payment = { checkoutId: `c${serial}`, payment: `pi_${serial}`, amount: 25n * CENT }
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, () => store.funding.creditPayment(payment)),
      )
      expect(outcomes.filter((outcome) => outcome === 'posted')).toHaveLength(1)
      expect(await store.funding.creditPayment(payment)).toBe('replayed')
      expect(await balance(walletId)).toBe(25n * CENT)
      expect((await store.funding.checkout(`c${serial}`))?.paid).toBe(true)
      expect(await store.funding.creditPayment({ ...payment, checkoutId: 'strange' })).toBe('unknown')
    })

    test('never more is credited than was asked for, nor than was paid', async () => {
      const { walletId } = await begin()
      const pay = async (asked: Nano, paid: Nano) => {
        const id = `c${++serial}`
        await store.funding.openCheckout({ id, walletId, amount: asked }, byTest)
        await store.funding.creditPayment({ checkoutId: id, payment: `pi_${serial}`, amount: paid })
        return balance(walletId)
      }
      expect(await pay(10n * CENT, 12n * CENT)).toBe(10n * CENT)
      expect(await pay(10n * CENT, 7n * CENT)).toBe(17n * CENT)
    })

    test('a payment for an invoice pays it; one that comes too late goes to the wallet', async () => {
      now = Date.UTC(2027, 3, 2)
      const { call, walletId, line } = await begin({ limit: 50n * CENT })
      await call(5n * CENT)
      now = Date.UTC(2027, 4, 1, 1)
      await store.credit.closeMonths()
      const invoiceId = `INV-${walletId}-000001`
      for (const name of ['a', 'b']) {
        const id = `${walletId} ${name}`
        await store.funding.openCheckout({ id, walletId, invoiceId, amount: 5n * CENT }, byTest)
        const payment = { checkoutId: id, payment: `pi_${id}`, amount: 5n * CENT }
        expect(await store.funding.creditPayment(payment)).toBe('posted')
        expect(await store.funding.creditPayment(payment)).toBe('replayed')
      }
      expect(await store.credit.invoice(invoiceId)).toMatchObject({
        status: 'paid',
        paidRef: `stripe:pi_${walletId} a`,
      })
      expect((await line()).owed).toBe(0n)
      expect(await balance(walletId)).toBe(5n * CENT)
    })

    test('what a payer takes back is owed by the wallet, which pays for nothing until it is filled', async () => {
      const { walletId, call, ask, line } = await begin({ limit: 50n * CENT })
      await store.funding.openCheckout({ id: walletId, walletId, amount: 10n * CENT }, byTest)
      await store.funding.creditPayment({ checkoutId: walletId, payment: walletId, amount: 10n * CENT })
      await call(8n * CENT, 'wallet')
      const back = { id: `re_${walletId}`, payment: walletId, outstanding: 10n * CENT }
      expect(await Promise.all([1, 2, 3].map(() => store.funding.takeBack(back)))).toContain('posted')
      expect(await store.funding.takeBack(back)).toBe('replayed')
      expect(await balance(walletId)).toBe(-8n * CENT)
      expect(await refusal(ask(1n, 'wallet'))).toEqual(refused('wallet'))
      expect(await refusal(ask(CENT, 'credit'))).toEqual(refused('past_due'))
      expect((await line()).status).toBe('past_due')
      const fill = (ref: string, amount: Nano) =>
        store.ledger.post({
          kind: 'topup',
          ref: `${walletId} ${ref}`,
          debit: 'cash',
          credit: walletId,
          amount,
        })
      await fill('half', 5n * CENT)
      expect(await refusal(ask(1n, 'wallet'))).toEqual(refused('wallet'))
      await fill('rest', 5n * CENT)
      expect(await refusal(ask(3n * CENT, 'wallet'))).toEqual(refused('wallet', 2n * CENT))
      await expect(
        store.ledger.post({
          kind: 'adjust',
          ref: walletId,
          debit: walletId,
          credit: 'cash',
          amount: 2n * CENT + 1n,
        }),
      ).rejects.toThrow(Overdrawn)
      expect(await ask(2n * CENT, 'wallet')).toMatchObject({ outcome: 'lent' })
    })

    test('a refund that fails and a dispute that is won leave the wallet as it was, in any order', async () => {
      const { walletId } = await begin()
      await store.funding.openCheckout({ id: walletId, walletId, amount: 10n * CENT }, byTest)
      await store.funding.creditPayment({ checkoutId: walletId, payment: walletId, amount: 10n * CENT })
      const first = { id: `re_${walletId}`, payment: walletId }
      await store.funding.takeBack({ ...first, outstanding: 0n })
      await store.funding.takeBack({ ...first, outstanding: 4n * CENT })
      expect(await balance(walletId)).toBe(10n * CENT)
      const second = { id: `dp_${walletId}`, payment: walletId }
      await store.funding.takeBack({ ...second, outstanding: 6n * CENT })
      expect(await balance(walletId)).toBe(4n * CENT)
      await store.funding.takeBack({ ...second, outstanding: 0n })
      await store.funding.takeBack({ ...second, outstanding: 0n })
      expect(await balance(walletId)).toBe(10n * CENT)
      expect(await store.funding.takeBack({ ...second, payment: 'pi_strange', outstanding: 6n })).toBe(
        'unknown',
      )
    })

    test('a refund and a dispute of one payment take what it brought in once, in any order, also at the same time', async () => {
      const steps = [
        { id: 're', outstanding: 4n * CENT },
        { id: 'dp', outstanding: 10n * CENT },
        { id: 'dp', outstanding: 6n * CENT },
        { id: 're', outstanding: 0n },
      ]
      // The wallet after each step: the dispute is lost, except for the refunded part.
      const expected = [6n, 0n, 0n, 4n]
      for (const order of ['in order', 'reversed', 'together']) {
        const { walletId } = await begin()
        await store.funding.openCheckout({ id: walletId, walletId, amount: 10n * CENT }, byTest)
        await store.funding.creditPayment({ checkoutId: walletId, payment: walletId, amount: 10n * CENT })
        const take = ({ id, outstanding }: { id: string; outstanding: Nano }) =>
          store.funding.takeBack({ id: `${id}_${walletId}`, payment: walletId, outstanding })
        if (order === 'together') await Promise.all([...steps, ...steps].map(take))
        else
          for (const [index, step] of (order === 'reversed' ? steps.toReversed() : steps).entries()) {
            await take(step)
            if (order === 'in order') expect(await balance(walletId)).toBe((expected[index] ?? 0n) * CENT)
          }
        expect([order, await balance(walletId)]).toEqual([order, 4n * CENT])
      }
    })
  })
}
