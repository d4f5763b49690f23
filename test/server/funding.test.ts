/** Wallets funded by Stripe: the official library against a local fake, hostile webhooks, each payment credited once. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { jsonOf, startTestServer, type TestServer, USD } from './harness.ts'
import {
  disputeOf,
  eventOf,
  type FakeStripe,
  paidSession,
  paymentOf,
  refundOf,
  signatureOf,
  startFakeStripe,
} from './stripe-fake.ts'

const CENT = USD / 100n

for (const engine of serverEngines) {
  describe(`Stripe on ${engine.name}`, () => {
    let stripe: FakeStripe
    let server: TestServer
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let serial = 0

    beforeAll(async () => {
      stripe = startFakeStripe()
      database = await engine.fresh()
      server = await startTestServer({ url: database.url, fund: 0n, stripe: stripe.settings })
    })
    afterAll(async () => {
      await stopSound(server, database)
      await stripe.stop()
    })

    const deliver = async (payload: string, signature?: string | null): Promise<Response> =>
      server.fetch(
        new Request('http://turnpike.test/api/webhooks/stripe', {
          method: 'POST',
          headers: {
            'content-type': 'application/json; charset=utf-8',
            ...(signature === null ? {} : { 'stripe-signature': signature ?? (await signatureOf(payload)) }),
          },
          body: payload,
        }),
      )
    const outcomeOf = async (payload: string): Promise<string> => {
      const response = await deliver(payload)
      const body = await jsonOf(response)
      return response.status === 200 ? body.outcome : `${response.status} ${body.error.code}`
    }
    const open = async (usd: number): Promise<string> => {
      const response = await server.post('/api/wallet/checkout', { amount_usd: usd })
      expect(response.status).toBe(201)
      return (await jsonOf(response)).id
    }
    const paid = (checkout: string, payment: string, cents: number, more: object = {}) =>
      eventOf('checkout.session.completed', paidSession(checkout, payment, cents, more))
    /** The sum that the steps added to the wallet. */
    const added = async (steps: () => Promise<unknown>): Promise<bigint> => {
      const before = await server.balance()
      await steps()
      return (await server.balance()) - before
    }
    const name = (prefix: string) => `${prefix}_${++serial}`

    test('events are counted by what came of them', async () => {
      const counted = () => {
        const { meters } = server.gateway.watch
        return ['taken', 'refused'].map((of) => meters?.registry.counter('stripeEvents', [of]).value ?? 0)
      }
      const [taken = 0, refused = 0] = counted()
      const event = eventOf('refund.created', refundOf('pi_strange', name('re'), 800))
      expect((await deliver(event)).status).toBe(200)
      expect((await deliver(event, 't=1,v1=00')).status).toBe(400)
      expect(counted()).toEqual([taken + 1, refused + 1])
    })

    test.each([
      ['payment_intent.succeeded', { id: 'pi_x', amount_received: 500, currency: 'usd' }],
      ['payment_intent.payment_failed', { id: 'pi_x', metadata: null }],
      ['payment_intent.succeeded', paymentOf('chk_x', '', 500)],
      ['checkout.session.completed', paidSession({} as never, 'pi_x', 500)],
      ['checkout.session.completed', paidSession('chk_x', '\u0000', 500)],
      ['refund.created', refundOf('pi_x', [] as never, 500)],
      ['charge.dispute.closed', disputeOf('pi_x', 'dp_x', 500, undefined as never)],
      ['charge.dispute.closed', { ...disputeOf('pi_x', 'dp_x', 500, 'won'), balance_transactions: {} }],
    ])('a signed %s that is none of Stripe moves nothing: %j', async (type, object) => {
      expect(await outcomeOf(eventOf(type, object))).toBe('ignored')
    })

    test('a checkout asks Stripe for the amount, and its webhook credits the wallet', async () => {
      const response = await server.post('/api/wallet/checkout', { amount_usd: 25.5 })
      const { id, url, amount_usd } = await jsonOf(response)
      const session = stripe.sessions.at(-1)
      expect([response.status, url, amount_usd]).toEqual([
        201,
        `https://checkout.invalid/${session?.id}`,
        25.5,
      ])
      expect(Object.fromEntries(session?.form ?? [])).toEqual({
        mode: 'payment',
        client_reference_id: id,
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': 'usd',
        'line_items[0][price_data][unit_amount]': '2550',
        'line_items[0][price_data][product_data][name]': 'Model gateway credits',
        'metadata[turnpike_checkout]': id,
        'payment_intent_data[metadata][turnpike_checkout]': id,
        success_url: `http://turnpike.test/api/wallet/checkout/${id}`,
        cancel_url: `http://turnpike.test/api/wallet/checkout/${id}`,
      })
      expect(session?.headers.get('idempotency-key')).toBe(id)
      const state = () => server.get(`/api/wallet/checkout/${id}`, '').then(jsonOf)
      expect(await state()).toEqual({ id, status: 'open', amount_usd: 25.5, invoice: null })
      expect(await added(() => deliver(paid(id, 'pi_first', 2550)))).toBe(2550n * CENT)
      expect(await state()).toMatchObject({ status: 'paid' })
      expect(await server.store.ledger.transfersOf('stripe:pi_first')).toEqual([
        {
          kind: 'topup',
          ref: 'stripe:pi_first',
          debit: 'cash',
          credit: server.wallet,
          amount: 2550n * CENT,
        },
      ])
    })

    test.each([
      [{ amount_usd: 0.49 }],
      [{ amount_usd: 10_000.01 }],
      [{ amount_usd: 1.005 }],
      [{ amount_usd: '5' }],
      [{ amount_usd: -5 }],
      [{ amount_usd: null }],
      [{}],
    ])('the amount %j is refused before Stripe is asked', async (body) => {
      const before = stripe.sessions.length
      const response = await server.post('/api/wallet/checkout', body)
      expect([response.status, (await jsonOf(response)).error.param]).toEqual([400, 'amount_usd'])
      expect(stripe.sessions).toHaveLength(before)
    })

    test('a checkout needs a key, and a failure of Stripe is a 503 that reveals nothing of it', async () => {
      expect((await server.post('/api/wallet/checkout', { amount_usd: 5 }, {}, '')).status).toBe(401)
      stripe.failWith(402)
      const response = await server.post('/api/wallet/checkout', { amount_usd: 5 })
      stripe.failWith(undefined)
      const text = await response.text()
      expect(response.status).toBe(503)
      expect(JSON.parse(text).error).toMatchObject({ code: 'upstream_error', provider: 'stripe' })
      expect(text).not.toContain('sk_test')
    })

    test('tampered, old, unsigned and wrongly signed events credit nothing', async () => {
      const id = await open(9)
      const payload = paid(id, name('pi'), 900)
      const hostile: [string, string | null][] = [
        [payload, null],
        [payload, ''],
        [payload, 't=1,v1=00'],
        [payload, await signatureOf(payload, { secret: 'whsec_of_somebody_else' })],
        [payload, await signatureOf(payload, { ageSeconds: 301 })],
        [payload.replace('900', '9000'), await signatureOf(payload)],
        [`${payload} `, await signatureOf(payload)],
        [payload, (await signatureOf(payload)).replace('v1=', 'v0=')],
        [payload, await signatureOf(payload, { secret: '' })],
        ['not json', await signatureOf(payload)],
      ]
      const before = await server.balance()
      for (const [body, signature] of hostile) {
        const response = await deliver(body, signature)
        expect([response.status, (await jsonOf(response)).error.param]).toEqual([400, 'Stripe-Signature'])
      }
      expect(await server.balance()).toBe(before)
      expect(await outcomeOf(payload)).toBe('done')
    })

    test('a signed event that is no event is refused without harm', async () => {
      for (const body of ['null', '[]', '{}', '"text"', 'not json']) {
        const response = await deliver(body)
        expect([body, response.status >= 200 && response.status < 500]).toEqual([body, true])
      }
    })

    test('an event that was signed for a time to come is refused, a clock that is a little ahead is not', async () => {
      const payload = paid(await open(3), name('pi'), 300)
      // Well beyond the five minutes: the clock goes on while the test runs.
      for (const ageSeconds of [-420, -600, -86_400]) {
        const ahead = await signatureOf(payload, { ageSeconds })
        expect([ageSeconds, (await deliver(payload, ahead)).status]).toEqual([ageSeconds, 400])
        // The library reads the last of several times.
        const twice = ahead.replace(/^t=(\d+)/, `t=${Math.floor(Date.now() / 1000)},t=$1`)
        expect((await deliver(payload, twice)).status).toBe(400)
      }
      expect(
        await added(async () => deliver(payload, await signatureOf(payload, { ageSeconds: -200 }))),
      ).toBe(300n * CENT)
    })

    test('both secrets are good while they change', async () => {
      const payload = paid(await open(3), name('pi'), 300)
      const signature = await signatureOf(payload, { secret: 'whsec_of_next_month' })
      expect(await added(() => deliver(payload, signature))).toBe(300n * CENT)
    })

    test('the same payment is credited once: replays, other events of it, twenty at the same time', async () => {
      const id = await open(12)
      const payment = name('pi')
      const payload = paid(id, payment, 1200)
      const late = eventOf('checkout.session.async_payment_succeeded', paidSession(id, payment, 1200))
      const intent = eventOf('payment_intent.succeeded', paymentOf(id, payment, 1200))
      const replay = async () => {
        const outcomes = await Promise.all([
          ...Array.from({ length: 18 }, () => outcomeOf(payload)),
          outcomeOf(late),
          outcomeOf(intent),
        ])
        return outcomes.filter((outcome) => outcome === 'done').length
      }
      expect(await added(async () => expect(await replay()).toBe(1))).toBe(1200n * CENT)
      expect(await added(async () => expect(await replay()).toBe(0))).toBe(0n)
    })

    test('an event that says another amount credits no more than was asked for', async () => {
      const id = await open(4)
      expect(await added(() => deliver(paid(id, name('pi'), 400_000)))).toBe(400n * CENT)
    })

    test('what is not paid, not ours, not in USD or of the other mode is ignored', async () => {
      const id = await open(6)
      const payment = name('pi')
      const ignored = [
        paid(id, payment, 600, { payment_status: 'unpaid' }),
        paid(id, payment, 600, { payment_status: 'no_payment_required', payment_intent: null }),
        paid(id, payment, 600, { currency: 'eur' }),
        paid(id, payment, 600, { metadata: {} }),
        paid('chk_strange', payment, 600),
        paid(id, payment, -600),
        eventOf('checkout.session.completed', paidSession(id, payment, 600), { livemode: true }),
        eventOf('checkout.session.expired', paidSession(id, payment, 600)),
        eventOf('customer.created', { id: 'cus_1', object: 'customer' }),
      ]
      const before = await server.balance()
      for (const payload of ignored) expect([payload, await outcomeOf(payload)]).toEqual([payload, 'ignored'])
      expect(await server.balance()).toBe(before)
    })

    test('a bank debit is credited when its money came, not before', async () => {
      const id = await open(7)
      const payment = name('pi')
      expect(await outcomeOf(paid(id, payment, 700, { payment_status: 'unpaid' }))).toBe('ignored')
      const came = eventOf('checkout.session.async_payment_succeeded', paidSession(id, payment, 700))
      expect(await added(() => deliver(came))).toBe(700n * CENT)
    })

    test('refunds are taken out of the wallet once, and put back when they fail', async () => {
      const payment = name('pi')
      await deliver(paid(await open(20), payment, 2000))
      const refund = (type: string, cents: number, status: string, id: string) =>
        eventOf(`refund.${type}`, refundOf(payment, id, cents, status))
      const [first, second] = [name('re'), name('re')]
      const taken = await added(async () => {
        expect(await outcomeOf(refund('created', 500, 'pending', first))).toBe('done')
        expect(await outcomeOf(refund('updated', 500, 'succeeded', first))).toBe('replayed')
        expect(await outcomeOf(refund('created', 300, 'succeeded', second))).toBe('done')
      })
      expect(taken).toBe(-800n * CENT)
      expect(await added(() => deliver(refund('failed', 300, 'failed', second)))).toBe(300n * CENT)
      expect(await added(() => deliver(refund('failed', 300, 'failed', second)))).toBe(0n)
    })

    test('a dispute takes the money until it is won; an inquiry takes none', async () => {
      const payment = name('pi')
      await deliver(paid(await open(20), payment, 2000))
      const id = name('dp')
      const dispute = (type: string, status: string, name = id) =>
        eventOf(`charge.dispute.${type}`, disputeOf(payment, name, 2000, status))
      expect(await added(() => deliver(dispute('created', 'warning_needs_response', 'dp_inquiry')))).toBe(0n)
      expect(await added(() => deliver(dispute('created', 'needs_response')))).toBe(-2000n * CENT)
      expect(await added(() => deliver(dispute('funds_withdrawn', 'under_review')))).toBe(0n)
      expect(await added(() => deliver(dispute('closed', 'won')))).toBe(2000n * CENT)
      expect(await added(() => deliver(dispute('funds_reinstated', 'won')))).toBe(0n)
      const lost = name('dp')
      expect(await added(() => deliver(dispute('closed', 'lost', lost)))).toBe(-2000n * CENT)
    })

    test('a dispute of a partly refunded payment takes the rest of it, and one that is lost in part gives no more back', async () => {
      const payment = name('pi')
      await deliver(paid(await open(20), payment, 2000))
      const id = name('dp')
      const dispute = (type: string, status: string, moved: number[]) =>
        eventOf(`charge.dispute.${type}`, {
          ...disputeOf(payment, id, 2000, status),
          balance_transactions: moved.map((amount) => ({ amount, currency: 'usd', fee: 1500 })),
        })
      const refund = eventOf('refund.created', refundOf(payment, name('re'), 500))
      expect(await added(() => deliver(refund))).toBe(-500n * CENT)
      expect(await added(() => deliver(dispute('created', 'needs_response', [-2000])))).toBe(-1500n * CENT)
      // The bank returned what had been refunded; the payer keeps 20 USD, once.
      expect(await added(() => deliver(dispute('funds_reinstated', 'lost', [-2000, 500])))).toBe(0n)
      expect(await added(() => deliver(dispute('closed', 'lost', [-2000, 500])))).toBe(0n)
      expect(await server.store.ledger.transfersOf(`stripe:${id}`)).toMatchObject([{ amount: 1500n * CENT }])
    })

    test('a refund heard of before its payment is asked for again; that of another product is ignored', async () => {
      const id = await open(8)
      const payment = name('pi')
      stripe.payments.set(payment, { turnpike_checkout: id })
      const refund = eventOf('refund.created', refundOf(payment, name('re'), 800))
      expect(await outcomeOf(refund)).toBe('503 service_unavailable')
      expect(await added(() => deliver(paid(id, payment, 800)))).toBe(800n * CENT)
      expect(await outcomeOf(refund)).toBe('done')
      expect(await outcomeOf(eventOf('refund.created', refundOf('pi_strange', name('re'), 800)))).toBe(
        'ignored',
      )
    })
  })
}

test('without a webhook secret the addresses of Stripe do not exist', async () => {
  const server = await startTestServer({})
  const payload = paidSession('chk_1', 'pi_1', 100)
  const hook = await server.post('/api/webhooks/stripe', payload, {
    'stripe-signature': await signatureOf('x', { secret: '' }),
  })
  expect([hook.status, (await jsonOf(hook)).error.code]).toEqual([404, 'not_found'])
  expect((await server.post('/api/wallet/checkout', { amount_usd: 5 })).status).toBe(404)
  expect((await server.get('/api/wallet/checkout/chk_1')).status).toBe(404)
  await server.stop()
})

test('an empty secret never verifies, whoever configured it', async () => {
  const stripe = startFakeStripe()
  const settings = { ...stripe.settings, webhookSecrets: [] }
  const server = await startTestServer({ stripe: settings })
  const payload = eventOf('checkout.session.completed', paidSession('chk_1', 'pi_1', 100))
  const response = await server.post('/api/webhooks/stripe', payload, {
    'stripe-signature': await signatureOf(payload, { secret: '' }),
  })
  expect(response.status).toBe(400)
  await server.stop()
  await stripe.stop()
  expect(`${new Secret('x')}`).toBe('[secret]')
})
