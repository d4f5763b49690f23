/** Money in the console on both engines: pages of movements, cards and their rule, invoices, rules, sub-wallets, receipts. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { nanoFromDecimal } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { byTest } from '../by-test.ts'
import { followingClock } from '../following-clock.ts'
import { chat, completion, jsonOf, USD } from '../server/harness.ts'
import { eventOf, type FakeStripe, paymentOf, signatureOf, startFakeStripe } from '../server/stripe-fake.ts'
import { serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

const HOUR = 3_600_000

type Shown = { at: string; kind: string; ref: string; amount_usd: string; balance_usd: string }

const nano = (text: string): bigint => {
  const amount = nanoFromDecimal(text.replace('-', '')) ?? 0n
  return text.startsWith('-') ? -amount : amount
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    let stripe: FakeStripe
    let it: TestConsole
    let owner: Visitor
    let token = ''
    /** How far the database's clock is ahead: it begins at noon, so hours later is the same day. */
    let ahead = 12 * HOUR - (Date.now() % (24 * HOUR))
    beforeAll(async () => {
      stripe = startFakeStripe()
      it = await startConsoleOn(engine, {
        now: () => Date.now() + ahead,
        clock: followingClock(() => Date.now() + ahead),
        stripe: stripe.settings,
        receipts: 'header',
      })
      owner = await it.visit('owner@example.com', 'owner')
      token = (await jsonOf(await owner.ask('POST', '/keys', { label: 'one' }))).key
    })
    afterAll(async () => {
      await it.stop()
      await stripe.stop()
    })

    const call = (more: object = {}, headers: Record<string, string> = {}) =>
      it.post('/v1/chat/completions', chat({ max_tokens: 50, ...more }), headers, token)
    const ask = async (method: string, path: string, body?: unknown) => {
      const response = await owner.ask(method, path, body)
      return { status: response.status, body: await jsonOf(response) }
    }
    const lastEvent = async () => (await it.store.events.list({ orgId: 'org_test', most: 1 }))[0]

    /** All movements, in pages of so many. */
    const moved = async (page: number): Promise<readonly Shown[]> => {
      const all: Shown[] = []
      for (let before = ''; ; ) {
        const { body } = await ask('GET', `/wallet/movements?limit=${page}${before}`)
        all.push(...body.data)
        if (body.next === null) return all
        before = `&before=${encodeURIComponent(body.next)}`
      }
    }

    test('movements are the same in pages of any size, before and after they are rolled up, and run to the balance', async () => {
      for (let day = 0; day < 5; day++) {
        for (let n = 0; n < 2; n++) {
          it.answerWith(() =>
            completion('x', { prompt_tokens: 11 + day, completion_tokens: 5 + n, total_tokens: 0 }),
          )
          const response = await call()
          await response.text()
          if (n === 1)
            await it.store.ledger.post({
              kind: 'refund',
              ref: response.headers.get('x-request-id') ?? '',
              debit: 'revenue',
              credit: it.wallet,
              amount: 7n,
            })
          ahead += HOUR
        }
        // Two at the same millisecond have an order, too.
        for (const part of ['a', 'b'])
          await it.store.ledger.post({
            kind: 'grant',
            ref: `gift ${day} ${part}`,
            debit: 'promo',
            credit: it.wallet,
            amount: 1_000n + BigInt(day),
          })
        ahead += 22 * HOUR
      }
      const once = await moved(500)
      expect(once.length).toBe(1 + 5 * (1 + 1 + 2))
      let balance = await it.balance()
      for (const { amount_usd: amount, balance_usd: after } of once) {
        expect(nano(after)).toBe(balance)
        balance -= nano(amount)
      }
      expect(balance).toBe(0n)
      for (const page of [1, 3, 7]) expect(await moved(page)).toEqual([...once])
      await it.store.reports.rollUp()
      for (const page of [2, 500]) expect(await moved(page)).toEqual([...once])
      expect((await ask('GET', '/wallet/movements?before=nonsense')).status).toBe(400)
    })

    test('a card is saved by a top-up, charged by its rule only, and forgotten; each is recorded', async () => {
      const rule = { auto_top_up: { below_usd: 5, amount_usd: 20, monthly_max_usd: 60 } }
      expect((await ask('PUT', '/wallet/auto-top-up', rule)).status).toBe(400)
      const opened = await ask('POST', '/wallet/top-up', { amount_usd: 30, save_payment_method: true })
      expect(opened.status).toBe(201)
      const form = stripe.sessions.at(-1)?.form
      expect(form?.get('payment_intent_data[setup_future_usage]')).toBe('off_session')
      expect(form?.get('success_url')).toBe(`http://turnpike.test/console/wallet?checkout=${opened.body.id}`)
      expect((await ask('GET', `/wallet/checkouts/${opened.body.id}`)).body.status).toBe('open')
      const payload = eventOf(
        'payment_intent.succeeded',
        paymentOf(opened.body.id, 'pi_1', 3_000, {
          customer: 'cus_1',
          payment_method: 'pm_1',
          setup_future_usage: 'off_session',
        }),
      )
      const before = await it.balance()
      await it.post('/api/webhooks/stripe', payload, { 'stripe-signature': await signatureOf(payload) })
      expect(await it.balance()).toBe(before + 30n * USD)
      expect((await ask('GET', `/wallet/checkouts/${opened.body.id}`)).body.status).toBe('paid')
      expect((await ask('PUT', '/wallet/auto-top-up', rule)).status).toBe(200)
      expect((await ask('GET', '/wallet')).body.top_ups).toMatchObject({ card_saved: true, active: true })
      expect(await lastEvent()).toMatchObject({
        what: 'wallet.rules_changed',
        before: { auto_top_up: null },
        after: rule,
      })
      // What is not sent stays as somebody else has set it, and the whole must be a rule.
      const part = async (of: object) => (await ask('PUT', '/wallet/auto-top-up', { auto_top_up: of })).status
      const set = async () => {
        const { rule: stored } = (await ask('GET', '/wallet')).body.top_ups
        if (stored === null) return null
        return Object.fromEntries(
          Object.entries(stored).map(([name, usd]) => [name, usd === null ? null : Number(usd)]),
        )
      }
      expect(await set()).toEqual(rule.auto_top_up)
      expect(await part({ below_usd: 7 })).toBe(200)
      expect(await set()).toEqual({ below_usd: 7, amount_usd: 20, monthly_max_usd: 60 })
      expect([await part({ amount_usd: 61 }), await part({ monthly_max_usd: 19 })]).toEqual([400, 400])
      expect(await part({ monthly_max_usd: null, amount_usd: 61 })).toBe(200)
      expect(await set()).toEqual({ below_usd: 7, amount_usd: 61, monthly_max_usd: null })
      expect([await part({ amount_usd: 20 }), await part({}), await part({ other: 1 })]).toEqual([
        200, 200, 400,
      ])
      expect(await set()).toEqual({ below_usd: 7, amount_usd: 20, monthly_max_usd: null })
      // Nor does a change that comes at the same time undo another.
      for (const below_usd of [11, 12, 13]) {
        const monthly_max_usd = below_usd * 10
        expect(await Promise.all([part({ below_usd }), part({ monthly_max_usd })])).toEqual([200, 200])
        expect(await set()).toEqual({ below_usd, amount_usd: 20, monthly_max_usd })
      }
      // One that is wrong only beside a change that came in between says so as any other.
      const { wallets } = it.gateway.store
      const { changeWalletRules } = wallets
      const said: unknown[] = []
      Object.assign(wallets, {
        changeWalletRules: async (...change: Parameters<typeof changeWalletRules>) => {
          Object.assign(wallets, { changeWalletRules })
          expect(await part({ amount_usd: 61, monthly_max_usd: null })).toBe(200)
          const changing = changeWalletRules(...change)
          said.push(await changing.catch((fault: unknown) => fault))
          return changing
        },
      })
      expect(await part({ monthly_max_usd: 60 })).toBe(400)
      expect(said).toEqual([expect.any(Refusal)])
      expect(await set()).toEqual({ below_usd: 13, amount_usd: 61, monthly_max_usd: null })
      // A rule that was turned off meanwhile stays off.
      const off = ask('PUT', '/wallet/auto-top-up', { auto_top_up: null })
      expect([200, 400]).toContain(await part({ below_usd: 14 }))
      await off
      expect(await set()).toBeNull()
      expect((await ask('PUT', '/wallet/auto-top-up', rule)).status).toBe(200)
      expect((await ask('DELETE', '/wallet/card')).status).toBe(200)
      expect(stripe.detached).toEqual(['pm_1'])
      const removal = await lastEvent()
      expect(removal?.what).toBe('wallet.card_removed')
      // What is refused leaves no event.
      expect((await ask('DELETE', '/wallet/card')).status).toBe(404)
      expect((await lastEvent())?.id).toBe(removal?.id)
      expect((await ask('PUT', '/wallet/auto-top-up', { auto_top_up: null })).status).toBe(200)
      expect([await part({ below_usd: 7 }), await part({})]).toEqual([400, 400])
    })

    test('rules hold when the page says so, a pattern without a model is refused, and both are recorded', async () => {
      expect((await ask('PUT', '/rules', { blocked_models: ['no-such-*'] })).status).toBe(400)
      expect((await ask('PUT', '/rules', { auto_top_up: null })).status).toBe(400)
      const put = await ask('PUT', '/rules', { blocked_models: ['mock/small'], per_call_max_usd: 0.5 })
      expect(put.body).toMatchObject({ blocked_models: ['mock/small'], per_call_max_usd: '0.5' })
      expect((await jsonOf(await call())).error.code).toBe('model_not_allowed')
      expect(await lastEvent()).toMatchObject({
        what: 'wallet.rules_changed',
        after: { blocked_models: ['mock/small'], per_call_max_usd: 0.5 },
      })
      expect((await ask('PUT', '/rules', { blocked_models: null, per_call_max_usd: null })).status).toBe(200)
      expect((await call()).status).toBe(200)
    })

    test('a sub-wallet is made, lowered and deleted, and binds calls each time', async () => {
      const made = await ask('POST', '/sub-wallets', { label: 'research', budget_usd: 2 })
      expect([made.status, made.body.remaining_usd]).toEqual([201, '2'])
      const { id } = made.body
      const inSub = async () => (await call({}, { 'x-sub-wallet': id })).status
      expect(await inSub()).toBe(200)
      // The database's clock is some days ahead of the server's by now.
      const to = new Date(Date.now() + 240 * HOUR).toISOString().slice(0, 10)
      const used = await ask('GET', `/usage?group_by=sub_wallet,payment_mode&to=${to}`)
      const inIt = used.body.rows.find((row: any) => row.sub_wallet === id)
      expect(inIt).toMatchObject({ sub_wallet_label: 'research', payment_mode: 'wallet', requests: 1 })
      const cost = async () => (await ask('GET', '/sub-wallets')).body.data[0].spent_usd
      expect(inIt.cost_usd).toBe(await cost())
      // A key is bound to it on its page, and released.
      const key = (await ask('GET', '/keys')).body.data.find(({ label }: any) => label === 'one')
      const bind = (sub_wallet: string | null) => ask('PUT', `/keys/${key.id}`, { sub_wallet })
      expect((await bind('sub_nobody')).status).toBe(404)
      expect((await bind(id)).body.sub_wallet).toBe(id)
      expect((await lastEvent())?.after).toMatchObject({ subWallet: id })
      expect((await call()).status).toBe(200)
      expect(Number(await cost())).toBeGreaterThan(Number(inIt.cost_usd))
      expect((await bind(null)).body.sub_wallet).toBe(null)
      expect((await ask('PUT', `/sub-wallets/${id}`, { budget_usd: 0.000001 })).status).toBe(200)
      expect(await inSub()).toBe(402)
      expect((await lastEvent())?.what).toBe('sub_wallet.changed')
      const other = await it.visit('other@example.com', 'owner', 'org_other')
      expect((await other.ask('PUT', `/sub-wallets/${id}`, { label: 'mine' })).status).toBe(404)
      expect((await ask('DELETE', `/sub-wallets/${id}`)).status).toBe(200)
      expect((await ask('GET', '/sub-wallets')).body.data).toEqual([])
      expect((await lastEvent())?.what).toBe('sub_wallet.deleted')
    })

    test('a receipt that is pasted is judged, and a call tells its own', async () => {
      const response = await call()
      await response.text()
      const id = response.headers.get('x-request-id') ?? ''
      const own = await ask('GET', `/calls/${id}/receipt`)
      expect(own.status).toBe(200)
      const good = await ask('POST', '/receipts/check', { receipt: own.body.receipt })
      expect(good.body).toMatchObject({ valid: true, claims: own.body.claims })
      const changed = `${own.body.receipt.slice(0, -4)}AAAA`
      expect((await ask('POST', '/receipts/check', { receipt: changed })).body.error).toBe(
        'signature_mismatch',
      )
      const other = await it.visit('stranger@example.com', 'owner', 'org_other')
      expect((await other.ask('GET', `/calls/${id}/receipt`)).status).toBe(404)
    })

    test('an invoice is paid from the wallet once, or at Stripe, by who may pay', async () => {
      await it.store.credit.grantCredit({ walletId: it.wallet, limit: USD, netDays: 14 }, byTest)
      it.answerWith(() => completion('x', { prompt_tokens: 1, completion_tokens: 5_000, total_tokens: 0 }))
      for (let n = 0; n < 12; n++)
        expect((await call({ max_tokens: 5_000 }, { 'x-payment-protocol': 'mpp' })).status).toBe(200)
      const now = new Date(Date.now() + ahead)
      const month = now.toISOString().slice(0, 7)
      ahead += Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 2) - now.getTime()
      await it.store.credit.closeMonths()
      // After the jump of the clock the process asks the ledger first; a payment must not be sent twice for that.
      await until(() => it.gateway.book.health().fresh)
      const [invoice] = (await ask('GET', '/wallet')).body.invoices
      expect(invoice).toMatchObject({ month, total_usd: '0.6', status: 'open' })
      const path = `/wallet/invoices/${invoice.id}/pay`
      const byCard = await ask('POST', path, { method: 'stripe' })
      expect(byCard.body.checkout.url).toContain('cs_test')
      const before = await it.balance()
      for (const outcome of ['paid', 'paid_before'])
        expect((await ask('POST', path, { method: 'wallet' })).body).toMatchObject({
          outcome,
          checkout: null,
        })
      expect(await it.balance()).toBe(before - nano('0.6'))
      expect(await lastEvent()).toMatchObject({ what: 'invoice.paid', subject: invoice.id })
      const stranger = await it.visit('payer@example.com', 'owner', 'org_other')
      expect((await stranger.ask('POST', path, { method: 'wallet' })).status).toBe(404)
    })
  })
