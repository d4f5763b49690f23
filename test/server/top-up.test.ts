/** Automatic top-ups: the official library against a local fake, one payment whatever fails and when. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { changeRules } from '../../src/control/money/rules.ts'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { lookAtRules, sendDue } from '../../src/gateway/alerts/keep-watching.ts'
import { topUpOnce } from '../../src/payment/top-ups.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, USD } from './harness.ts'
import { eventOf, type FakeStripe, paymentOf, refundOf, signatureOf, startFakeStripe } from './stripe-fake.ts'

const RULES = '/api/wallet/rules'
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

for (const engine of serverEngines)
  describe(`top-ups on ${engine.name}`, () => {
    let stripe: FakeStripe
    let server: TestServer
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let serial = 0
    /** How far the database's clock is ahead. */
    let ahead = 0

    beforeAll(async () => {
      stripe = startFakeStripe()
      database = await engine.fresh()
      server = await startTestServer({
        url: database.url,
        stripe: stripe.settings,
        now: () => Date.now() + ahead,
      })
    })
    afterAll(async () => {
      await stopSound(server, database)
      await stripe.stop()
    })

    const deliver = async (payload: string): Promise<string> => {
      const response = await server.post('/api/webhooks/stripe', payload, {
        'stripe-signature': await signatureOf(payload),
      })
      expect(response.status).toBe(200)
      return (await jsonOf(response)).outcome
    }
    const sweep = (): Promise<void> => {
      const { store } = server.gateway
      const { stripe: payments } = server.gateway.payments
      if (payments === undefined) throw new Error('no Stripe')
      return topUpOnce({
        store: store.funding,
        stripe: payments,
        log: silentLog,
      })
    }

    /** An account with 100 USD, a saved card and a rule: 20 USD are charged below 50 USD. */
    const begin = async (more: { method?: string; rule?: object } = {}) => {
      const name = `top_${++serial}`
      const wallet = `wal_${name}`
      await server.store.wallets.createWallet({ id: wallet, orgId: `org_${name}`, name }, byTest)
      const { token } = await server.newKey({}, { walletId: wallet, orgId: `org_${name}` })
      const put = (rules: unknown) => server.send('PUT', RULES, rules, token)
      const status = async () => (await jsonOf(await server.get(RULES, token))).auto_top_up_status
      const save = async (usd: number, method: string, more: object = {}) => {
        const asked = { amount_usd: usd, save_payment_method: true }
        const opened = await jsonOf(await server.post('/api/wallet/checkout', asked, {}, token))
        const saved = {
          customer: `cus_${name}`,
          payment_method: method,
          setup_future_usage: 'off_session',
          ...more,
        }
        const event = eventOf(
          'payment_intent.succeeded',
          paymentOf(opened.id, `pi_${name}_${++serial}`, usd * 100, {
            created: 1_795_000_000 + serial,
            ...saved,
          }),
        )
        return { opened, event, session: stripe.sessions.at(-1)?.form ?? new URLSearchParams() }
      }
      const card = await save(100, more.method ?? `pm_${name}`)
      await deliver(card.event)
      const rule = { below_usd: 50, amount_usd: 20, ...more.rule }
      expect((await put({ auto_top_up: rule })).status).toBe(200)
      const balance = async () => (await server.store.wallets.wallet(wallet))?.balance
      /** Takes money out, as if it had been spent. */
      const spend = (usd: number) =>
        server.store.ledger.post({
          kind: 'adjust',
          ref: `${name} ${++serial}`,
          debit: wallet,
          credit: 'revenue',
          amount: BigInt(usd) * USD,
        })
      const charges = () => stripe.charges.filter(({ form }) => form.customer === `cus_${name}`)
      /** Stripe's event about a payment, the last one unless another is given. */
      const paid = (charge = charges().at(-1)) =>
        deliver(
          eventOf(
            'payment_intent.succeeded',
            paymentOf(charge?.key ?? '', charge?.id ?? '', Number(charge?.form.amount), {
              customer: `cus_${name}`,
            }),
          ),
        )
      /** Asks Stripe for the due payments, and leaves its answer under way. */
      const ask = async (): Promise<string> => {
        const [due] = await server.store.funding.dueTopUps({
          newId: () => `atu_${name}_${++serial}`,
          dailyMax: 100n * USD,
        })
        if (due === undefined) throw new Error('nothing is due')
        expect(await server.gateway.payments.stripe?.charge(due)).toBe('paid')
        return due.id
      }
      return { name, wallet, token, put, status, save, card, rule, balance, spend, charges, paid, ask }
    }

    test('a card is saved by a checkout that says so, and a rule needs one', async () => {
      const { token } = await server.newKey({}, { canManage: true })
      const put = (auto_top_up: object) => server.send('PUT', RULES, { auto_top_up }, token)
      const refused = await jsonOf(await put({ below_usd: 5, amount_usd: 20 }))
      expect(refused).toMatchObject({ error: 'invalid_parameter', param: 'auto_top_up' })
      expect(refused.message).toContain('"save_payment_method": true')

      const { name, card, save, status } = await begin()
      expect(card.opened.consent).toContain('charge it later without asking you')
      expect(Object.fromEntries(card.session)).toMatchObject({
        mode: 'payment',
        customer_creation: 'always',
        'allowed_payment_method_types[0]': 'card',
        'payment_intent_data[setup_future_usage]': 'off_session',
        'custom_text[submit][message]': card.opened.consent,
      })
      expect(await status()).toEqual({
        payment_method_saved: true,
        active: true,
        paused: null,
        waits_until: null,
        pending_usd: 0,
        charged_today_usd: 0,
        charged_this_month_usd: 0,
      })
      const again = await save(5, 'pm_other')
      expect([again.session.get('customer'), again.session.has('customer_creation')]).toEqual([
        `cus_${name}`,
        false,
      ])
    })

    test('only the account saves a card; a payment that saves none leaves the rule without one', async () => {
      const { token } = await server.newKey({}, { trialUntil: Date.now() + HOUR })
      const asked = { amount_usd: 5, save_payment_method: true }
      expect((await server.post('/api/wallet/checkout', asked, {}, token)).status).toBe(403)
      const wrong = await server.post('/api/wallet/checkout', { ...asked, save_payment_method: 'yes' })
      expect((await jsonOf(wrong)).error.param).toBe('save_payment_method')
      const { id } = await jsonOf(await server.post('/api/wallet/checkout', { amount_usd: 5 }))
      await deliver(
        eventOf('payment_intent.succeeded', paymentOf(id, 'pi_plain', 500, { customer: 'cus_plain' })),
      )
      expect((await jsonOf(await server.get(RULES))).auto_top_up_status.payment_method_saved).toBe(false)
    })

    test.each([
      [{ amount_usd: 0.49 }, 'auto_top_up.amount_usd'],
      [{ amount_usd: 1.005 }, 'auto_top_up.amount_usd'],
      [{ amount_usd: 101 }, 'auto_top_up.amount_usd'],
      [{ monthly_max_usd: 19 }, 'auto_top_up.monthly_max_usd'],
    ])('a rule that could never charge is refused: %j', async (wrong, param) => {
      const { put, rule } = await begin()
      const refused = await put({ auto_top_up: { ...rule, ...wrong } })
      expect([refused.status, (await jsonOf(refused)).param]).toEqual([400, param])
    })

    test('a call that takes the wallet below the amount charges the card once; only the event credits it', async () => {
      const { token, name, balance, charges, paid, put, status } = await begin()
      await put({ auto_top_up: { below_usd: 100, amount_usd: 20 } })
      await sweep()
      expect(charges()).toHaveLength(0)
      server.answerWith(() => completion('x'))
      expect((await server.post('/v1/chat/completions', chat(), {}, token)).status).toBe(200)
      const before = await balance()
      for (let round = 0; round < 3; round++) await sweep()
      const [charge] = charges()
      expect([charges().length, charge?.form]).toEqual([
        1,
        {
          amount: '2000',
          currency: 'usd',
          customer: `cus_${name}`,
          payment_method: `pm_${name}`,
          'allowed_payment_method_types[0]': 'card',
          off_session: 'true',
          confirm: 'true',
          description: 'Model gateway credits, topped up by the rule of the wallet',
          'metadata[turnpike_checkout]': charge?.key ?? '',
        },
      ])
      expect(await balance()).toBe(before)
      expect(await status()).toMatchObject({ pending_usd: 20, charged_today_usd: 20 })
      expect(await Promise.all([paid(), paid(), paid()])).toContain('done')
      expect(await paid()).toBe('replayed')
      expect(await balance()).toBe((before ?? 0n) + 20n * USD)
      await sweep()
      expect(charges()).toHaveLength(1)
      expect(await status()).toMatchObject({ active: true, pending_usd: 0, charged_this_month_usd: 20 })
    })

    test('several processes at once charge once, also when the event comes in between', async () => {
      const { charges, paid, spend, balance } = await begin()
      await spend(60)
      await Promise.all(Array.from({ length: 6 }, sweep))
      expect(charges()).toHaveLength(1)
      await Promise.all([paid(), sweep(), paid(), sweep(), sweep()])
      expect([charges().length, await balance()]).toEqual([1, 60n * USD])
    })

    test('a process that dies before it asks leaves a payment that the next one asks for under the same id', async () => {
      const { charges, spend, paid, balance } = await begin()
      await spend(60)
      const [taken] = await server.store.funding.dueTopUps({
        newId: () => `atu_died_${++serial}`,
        dailyMax: 100n * USD,
      })
      await sweep()
      expect(charges()).toHaveLength(0)
      ahead += MINUTE + 1
      await Promise.all([sweep(), sweep()])
      expect(charges().map(({ key }) => key)).toEqual([taken?.id ?? ''])
      await paid()
      await sweep()
      expect([charges().length, await balance()]).toEqual([1, 60n * USD])
    })

    test('a lost answer is requested again by the same key, or its event comes first', async () => {
      for (const first of ['the answer', 'the event']) {
        const { charges, spend, paid, status, balance } = await begin()
        await spend(60)
        stripe.loseAnswers(3)
        await sweep()
        stripe.loseAnswers(0)
        expect([charges().length, (await status()).pending_usd]).toEqual([1, 20])
        if (first === 'the event') await paid()
        for (let round = 0; round < 3; round++) {
          ahead += HOUR
          await sweep()
        }
        if (first === 'the answer') expect(await balance()).toBe(40n * USD)
        expect(await paid()).toBe(first === 'the answer' ? 'done' : 'replayed')
        await sweep()
        expect([first, charges().length, await balance()]).toEqual([first, 1, 60n * USD])
      }
    })

    test('an answer that comes after its event changes nothing', async () => {
      for (const late of ['paid', 'card_declined'] as const) {
        const { charges, spend, paid, status, balance, ask } = await begin()
        await spend(60)
        const id = await ask()
        expect(await paid()).toBe('done')
        expect(await server.store.funding.topUpAnswered(id, late)).toBe(false)
        await sweep()
        expect([charges().length, await balance()]).toEqual([1, 60n * USD])
        expect(await status()).toMatchObject({ active: true, pending_usd: 0 })
      }
    })

    test('what was paid while its rule was turned off keeps the next payment waiting for its event', async () => {
      const { charges, spend, paid, put, rule, ask, balance } = await begin()
      await spend(60)
      const id = await ask()
      await put({ auto_top_up: null })
      expect(await server.store.funding.topUpAnswered(id, 'paid')).toBe(true)
      await put({ auto_top_up: rule })
      ahead += 2 * HOUR
      await sweep()
      expect([charges().length, await balance()]).toEqual([1, 40n * USD])
      await paid()
      await sweep()
      expect([charges().length, await balance()]).toEqual([1, 60n * USD])
    })

    test('a card that is refused after another was saved pauses nothing', async () => {
      const { name, charges, spend, status, save } = await begin({ method: 'pm_card_declined' })
      await spend(60)
      const [due] = await server.store.funding.dueTopUps({ newId: () => `atu_${name}`, dailyMax: 100n * USD })
      await deliver((await save(1, `pm_${name}`)).event)
      expect(await server.store.funding.topUpAnswered(due?.id ?? '', 'card_declined')).toBe(true)
      expect(await status()).toMatchObject({ active: true, paused: null })
      await sweep()
      expect(charges()).toHaveLength(1)
    })

    test('an outcome that stays unknown is given up before Stripe forgets the key, and still credited if it was paid', async () => {
      const { charges, spend, paid, status, balance } = await begin()
      await spend(60)
      stripe.loseAnswers(3)
      await sweep()
      stripe.loseAnswers(0)
      ahead += 20 * HOUR
      const before = stripe.asked()
      await sweep()
      expect(await status()).toMatchObject({ active: false, paused: 'outcome_unknown', pending_usd: 0 })
      ahead += DAY
      await sweep()
      expect(stripe.asked()).toBe(before)
      expect(await paid()).toBe('done')
      expect([charges().length, await balance()]).toEqual([1, 60n * USD])
      expect(await status()).toMatchObject({ active: true, paused: null })
    })

    test.each(['card_declined', 'expired_card', 'authentication_required', 'gone'])(
      'a card that is refused (%s) pauses the rule, tells its owner once, and is not asked for again',
      async (code) => {
        const reason = code === 'gone' ? 'payment_method_gone' : code
        const { token, name, charges, spend, status, put, rule, save, wallet, card } = await begin({
          method: `pm_${code}`,
        })
        await put({ alert_webhook_url: 'https://hooks.example.com/paused' })
        await spend(60)
        const before = stripe.asked()
        for (let round = 0; round < 5; round++) {
          await sweep()
          ahead += HOUR
        }
        expect([charges().length, stripe.asked() - before]).toEqual([0, 1])
        expect(await status()).toMatchObject({
          active: false,
          paused: reason,
          pending_usd: 0,
          charged_today_usd: 0,
        })
        expect((await jsonOf(await server.get(RULES, token))).auto_top_up).toMatchObject({ amount_usd: 20 })
        expect(await alerts()).toMatchObject([
          { type: 'wallet.top_up_paused', data: { wallet_id: wallet, reason, balance_usd: 40 } },
        ])
        expect(await alerts()).toEqual([])
        // An old event must not end the pause; the owner does, with the rule or another card.
        expect(await deliver(card.event)).toBe('replayed')
        await sweep()
        expect(stripe.asked() - before).toBe(1)
        await put({ auto_top_up: rule })
        await sweep()
        expect([(await status()).paused, stripe.asked() - before]).toEqual([reason, 2])
        await deliver((await save(1, `pm_${name}`)).event)
        expect(await status()).toMatchObject({ active: true, paused: null })
        await sweep()
        expect(charges()).toHaveLength(1)
      },
    )

    /** The body that a webhook would get now. */
    const alerts = async () => {
      const bodies: unknown[] = []
      const webhooks = {
        resolve: async () => ['93.184.215.14'],
        fetch: async (_url: string, init: BunFetchRequestInit) => {
          bodies.push(JSON.parse(String(init.body)))
          return new Response(null, { status: 204 })
        },
      }
      const { store, hash } = server
      const watching = { store, clock: systemClock, log: silentLog, hash, webhooks }
      ahead += MINUTE
      await lookAtRules(watching)
      await Promise.all(await sendDue(watching))
      return bodies
    }

    test('a rule that is turned off stops what is not paid yet; a changed one does not charge the older amount', async () => {
      const { charges, spend, put, rule, status } = await begin()
      await spend(60)
      const take = (store: Store) =>
        store.funding.dueTopUps({ newId: () => `atu_off_${++serial}`, dailyMax: 100n * USD })
      expect(await take(server.store)).toHaveLength(1)
      await put({ auto_top_up: null })
      ahead += MINUTE + 1
      const before = stripe.asked()
      await sweep()
      expect([stripe.asked() - before, await status()]).toMatchObject([0, { active: false }])
      // Stripe may have taken it, so the next one waits until its event would have come.
      await put({ auto_top_up: { ...rule, amount_usd: 30 } })
      await sweep()
      expect(charges()).toHaveLength(0)
      ahead += HOUR
      await sweep()
      expect(charges().map(({ form }) => form.amount)).toEqual(['3000'])
    })

    test('the maximum of a month, of a day and of payments a day are kept until the next begins', async () => {
      const { charges, spend, paid, status, put } = await begin({ rule: { monthly_max_usd: 45 } })
      await spend(100)
      const run = async () => {
        for (let round = 0; round < 12; round++) {
          await sweep()
          if ((await status()).pending_usd > 0) await paid()
        }
        return charges().length
      }
      expect(await run()).toBe(2)
      expect((await status()).waits_until).toMatch(/^\d{4}-\d\d-01T00:00:00.000Z$/)
      await put({ auto_top_up: { below_usd: 500, amount_usd: 30 } })
      // The operator's 100 USD a day: 20 + 20 + 30 + 30.
      expect(await run()).toBe(4)
      expect(await status()).toMatchObject({ active: true, charged_today_usd: 100 })
      ahead += DAY
      await put({ auto_top_up: { below_usd: 500, amount_usd: 0.5 } })
      expect(await run()).toBe(14)
      await run()
      expect(await run()).toBe(14)
      ahead += DAY
      expect(await run()).toBeGreaterThan(14)
    })

    test('money that the payer takes back is not charged again by itself', async () => {
      const { charges, spend, paid, status, balance } = await begin()
      await spend(60)
      await sweep()
      await paid()
      const charge = charges()[0]
      const refund = eventOf('refund.created', refundOf(charge?.id ?? '', `re_${++serial}`, 2000))
      expect(await deliver(refund)).toBe('done')
      await sweep()
      expect([charges().length, await balance()]).toEqual([1, 40n * USD])
      expect(await status()).toMatchObject({ active: false, paused: 'payment_taken_back' })
    })

    test('money that the operator pays back is not charged again by itself', async () => {
      const { charges, wallet, status, balance, spend } = await begin()
      const back = { walletId: wallet, amount: 60n * USD, ref: `back ${wallet}` }
      expect(await server.store.funding.withdraw(back, byTest)).toBe('posted')
      await sweep()
      expect([charges().length, await balance()]).toEqual([0, 40n * USD])
      expect(await status()).toMatchObject({ active: false, paused: 'payment_taken_back' })
      await spend(1)
      expect(await server.store.funding.withdraw(back, byTest)).toBe('replayed')
    })

    test('a card of an account that is suspended is not charged until it goes on, and a pause outlives that', async () => {
      const { charges, wallet, spend, status, put, rule, paid } = await begin()
      const suspend = (suspended: string | null) =>
        changeRules(server.gateway, { walletId: wallet, change: { suspended }, by: byTest })
      await suspend('abuse')
      await spend(60)
      await sweep()
      expect([charges().length, (await status()).active]).toEqual([0, false])
      // The rule is its owner's, and is kept.
      expect((await put({ auto_top_up: { ...rule, amount_usd: 30 } })).status).toBe(200)
      await sweep()
      expect(charges()).toEqual([])
      await suspend(null)
      await sweep()
      expect(charges().map(({ form }) => form.amount)).toEqual(['3000'])
      await paid()
      const back = { walletId: wallet, amount: USD, ref: `back ${wallet}` }
      expect(await server.store.funding.withdraw(back, byTest)).toBe('posted')
      await suspend('abuse')
      await suspend(null)
      expect(await status()).toMatchObject({ active: false, paused: 'payment_taken_back' })
    })

    test('money that goes back while an account is suspended is not charged again when it goes on', async () => {
      const { charges, wallet, status } = await begin()
      const suspend = (suspended: string | null) =>
        changeRules(server.gateway, { walletId: wallet, change: { suspended }, by: byTest })
      await suspend('a dispute')
      const back = { walletId: wallet, amount: 60n * USD, ref: `back ${wallet}` }
      expect(await server.store.funding.withdraw(back, byTest)).toBe('posted')
      await suspend(null)
      await sweep()
      expect(charges()).toEqual([])
      expect(await status()).toMatchObject({ active: false, paused: 'payment_taken_back' })
    })

    test('a card of an account that is forgotten is not charged for what was due', async () => {
      const { charges, wallet, spend } = await begin()
      await spend(60)
      // Nobody knows whether Stripe heard of it.
      const take = () =>
        server.store.funding.dueTopUps({ newId: () => `atu_gone_${++serial}`, dailyMax: 100n * USD })
      expect(await take()).toHaveLength(1)
      const { forget, keys } = server.store
      for (const id of await forget.keysToEnd(wallet)) await keys.deleteKey(id, true, byTest)
      await forget.forgetCustomer(wallet, byTest)
      ahead += 10 * MINUTE
      await sweep()
      expect(charges()).toEqual([])
    })

    test('a card that its owner removes is detached and not charged', async () => {
      const { token, name, charges, spend, status, card, save } = await begin()
      const remove = () => server.send('DELETE', '/api/wallet/payment-method', undefined, token)
      expect(await jsonOf(await remove())).toEqual({ deleted: true })
      expect(stripe.detached).toContain(`pm_${name}`)
      expect((await remove()).status).toBe(404)
      await spend(60)
      await sweep()
      expect([charges().length, (await status()).payment_method_saved]).toEqual([0, false])
      // A copy of the event that saved it does not bring it back.
      await deliver(card.event)
      expect((await status()).payment_method_saved).toBe(false)
      await deliver((await save(1, `pm_${name}_2`)).event)
      await sweep()
      expect(charges().map(({ form }) => form.payment_method)).toEqual([`pm_${name}_2`])
    })

    test('an event of a failed payment pauses a rule, and is nothing to a checkout', async () => {
      const { spend, charges, status } = await begin()
      await spend(60)
      await sweep()
      const failed = (checkout: string) =>
        eventOf('payment_intent.payment_failed', {
          ...paymentOf(checkout, 'pi_failed', 2000),
          last_payment_error: { code: 'authentication_required' },
        })
      expect(await deliver(failed('chk_of_a_payer'))).toBe('ignored')
      expect(await deliver(failed(charges()[0]?.key ?? ''))).toBe('done')
      expect((await status()).paused).toBe('authentication_required')
    })
  })
