/** Post-paid calls (mpp): off until granted, never above the limit, billed by month, suspended alone when past due. */

import { afterEach, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { comingBack } from '../late-ledger.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  USD,
} from './harness.ts'
import { eventOf, paidSession, signatureOf, startFakeStripe } from './stripe-fake.ts'

const CENT = USD / 100n
const DAY = 86_400_000
/** What the harness's vendor bills: ten tokens in, five out. */
const COST = 60_000n
const mpp = { 'x-payment-protocol': 'mpp' }

for (const engine of serverEngines) {
  describe(`mpp on ${engine.name}`, () => {
    let stops: (() => Promise<unknown>)[] = []
    let now = Date.now()

    /** Ends with an audit of everything. */
    const start = async (setup: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> => {
      const database = await engine.fresh()
      now = Date.UTC(2026, 10, 21, 12)
      const server = await startTestServer({ url: database.url, now: () => now, fund: 0n, ...setup })
      stops.push(() => stopSound(server, database))
      return server
    }
    afterEach(async () => {
      const ending = stops
      stops = []
      for (const stop of ending) await stop()
    })

    const grant = (server: TestServer, limit: bigint) =>
      server.store.credit.grantCredit({ walletId: server.wallet, limit, netDays: 14 }, byTest)
    const owed = async (server: TestServer) => (await server.store.credit.creditLine(server.wallet))?.owed
    const held = async (server: TestServer) => (await server.store.credit.creditLine(server.wallet))?.held
    const errorOf = async (response: Response) => {
      const { error } = await jsonOf(response)
      return [response.status, error.code, error.limit, error.available_credits]
    }
    const call = (server: TestServer, more: object = {}, headers: object = {}, token?: string) =>
      server.post('/v1/chat/completions', chat({ max_tokens: 5, ...more }), { ...mpp, ...headers }, token)

    test('without a credit line: 402 that says so, and the vendor is not asked', async () => {
      const server = await start({ fund: 5n * USD })
      const response = await call(server)
      expect(response.status).toBe(402)
      const { error } = await jsonOf(response)
      expect(error).toMatchObject({
        type: 'insufficient_balance',
        code: 'insufficient_balance',
        limit: 'no_credit_line',
        available_credits: 0,
      })
      expect(typeof error.required_credits).toBe('number')
      expect(error.message).toContain('not enabled for this account')
      expect(server.asked).toEqual([])
      expect(await server.balance()).toBe(5n * USD)
      expect((await server.get('/api/billing').then(jsonOf)).data).toEqual({
        wallet: server.wallet,
        status: 'none',
        invoices: [],
      })
    })

    test('no key is 401, an unknown mode 400, and wallet is a mode too', async () => {
      const server = await start({ fund: USD })
      const none = await server.post('/v1/chat/completions', chat(), mpp, '')
      expect([none.status, (await jsonOf(none)).error.code]).toEqual([401, 'missing_authorization'])
      for (const mode of ['MPP', 'credit', ''])
        expect((await call(server, {}, { 'x-payment-protocol': mode })).status).toBe(400)
      expect((await call(server, {}, { 'x-payment-protocol': 'wallet' })).status).toBe(200)
    })

    test('a call and a stream are owed to the nano-dollar; the empty wallet is not asked', async () => {
      const server = await start()
      await grant(server, USD)
      const whole = await call(server)
      const body = await jsonOf(whole)
      expect([whole.status, whole.headers.get('x-cost-usd'), body.usage.cost]).toEqual([
        200,
        '0.00006',
        0.00006,
      ])
      // What is left of the credit line, in credits: 100 less 0.006.
      expect([body._balance_warning, body._remaining_credits]).toEqual([false, 99.994])
      server.answerWith(() => streaming(streamEvents(['a', 'b'])))
      const streamed = await call(server, { stream: true, stream_options: { include_usage: true } })
      expect(eventsOf(await streamed.text()).at(-1)).toBe('[DONE]')
      expect(await owed(server)).toBe(2n * COST)
      expect(await server.balance()).toBe(0n)
      expect((await errorOf(await call(server, {}, { 'x-payment-protocol': 'wallet' })))[2]).toBe('wallet')
      const { data } = await server.get('/api/billing').then(jsonOf)
      expect(data).toMatchObject({ status: 'active', limit_usd: 1, owed_usd: 0.00012, net_days: 14 })
    })

    test('fifty calls at the same time never owe more than the limit', async () => {
      const server = await start()
      // A hold of five tokens and a few bytes: the limit is enough for some of them.
      await grant(server, 700_000n)
      server.answerWith(async () => {
        await Bun.sleep(20)
        return completion('hello')
      })
      // Where open calls hold the money for longer than a call waits, as on a busy machine, it gets a 429.
      const untilAnswered = async (): Promise<Response> => {
        const answer = await comingBack(() => call(server))
        return answer.status === 429 ? untilAnswered() : answer
      }
      const answers = await Promise.all(Array.from({ length: 50 }, untilAnswered))
      const good = answers.filter(({ status }) => status === 200).length
      expect(answers.every(({ status }) => status === 200 || status === 402)).toBe(true)
      expect(good).toBeGreaterThan(0)
      expect(good).toBeLessThan(12)
      expect(await owed(server)).toBe(BigInt(good) * COST)
      for (let tries = 0; tries < 20; tries++) await (await call(server)).text()
      expect(((await owed(server)) ?? 0n) <= 700_000n).toBe(true)
      expect((await errorOf(await call(server))).slice(0, 3)).toEqual([
        402,
        'insufficient_balance',
        'credit_line',
      ])
    })

    test("a key's caps count both modes, and a reseller's child owes to the reseller's line", async () => {
      const server = await start({ fund: USD })
      await grant(server, USD)
      const parent = await server.newKey({ spendCap: 330_000n })
      const child = await server.newKey({}, { parentId: parent.id })
      expect((await call(server, {}, {}, child.token)).status).toBe(200)
      expect((await call(server, {}, { 'x-payment-protocol': 'wallet' }, child.token)).status).toBe(200)
      expect(await owed(server)).toBe(COST)
      const refused = await call(server, { max_tokens: 500 }, {}, child.token)
      expect((await errorOf(refused)).slice(0, 3)).toEqual([402, 'insufficient_balance', 'spend_cap_usd'])
      const bill = await server.get('/api/billing', child.token)
      expect([bill.status, (await jsonOf(bill)).error.code]).toEqual([403, 'forbidden'])
    })

    test('an Idempotency-Key repeats a post-paid call without charging it again', async () => {
      const server = await start()
      await grant(server, USD)
      const first = await call(server, {}, { 'idempotency-key': 'a' })
      const second = await call(server, {}, { 'idempotency-key': 'a' })
      expect([await first.text(), second.headers.get('idempotent-replayed')]).toEqual([
        await second.text(),
        'true',
      ])
      expect(await owed(server)).toBe(COST)
    })

    test('a failed vendor is not owed for', async () => {
      const server = await start()
      await grant(server, USD)
      server.answerWith(() => new Response('no', { status: 500 }))
      expect((await call(server)).status).toBe(503)
      expect(await owed(server)).toBe(0n)
      while (server.gateway.book.health().openCalls > 0) await Bun.sleep(5)
      expect(await held(server)).toBe(0n)
    })

    /** A server whose November is invoiced at 3 cents and a bit. */
    const withInvoice = async (setup: Parameters<typeof startTestServer>[0] = {}) => {
      const server = await start(setup)
      await grant(server, USD)
      server.answerWith(() =>
        completion('x', { prompt_tokens: 1, completion_tokens: 500, total_tokens: 501 }),
      )
      for (let calls = 0; calls < 6; calls++)
        expect((await call(server, { max_tokens: 500 })).status).toBe(200)
      now = Date.UTC(2026, 11, 1, 2)
      await server.store.credit.closeMonths()
      return { server, id: `INV-${server.wallet}-000001` }
    }
    const pay = (server: TestServer, id: string, method: string, token?: string) =>
      server.post(`/api/billing/invoices/${id}/pay`, { method }, {}, token)

    test('the month is stated and invoiced, and paid from the wallet once', async () => {
      const { server, id } = await withInvoice({ fund: 5n * CENT })
      const { data } = await server.get('/api/billing/statements/2026-11').then(jsonOf)
      expect(data).toMatchObject({
        month: '2026-11',
        opening_usd: 0,
        used_usd: 0.030006,
        paid_usd: 0,
        closing_usd: 0.030006,
        lines: [
          { label: 'test', model: 'mock/small', requests: 6, output_tokens: 3000, amount_usd: 0.030006 },
        ],
        invoice: { id, status: 'open', total_usd: 0.03, carried_usd: 0.000006, paid_at: null },
      })
      for (const month of ['2026-10', '2026-1', 'now'])
        expect((await server.get(`/api/billing/statements/${month}`)).status).toBe(404)
      const stranger = await server.newKey(
        {},
        {
          walletId: (
            await server.store.wallets.createWallet(
              { id: `${server.wallet}b`, orgId: 'b', name: 'b' },
              byTest,
            )
          ).id,
        },
      )
      expect((await pay(server, id, 'wallet', stranger.token)).status).toBe(404)
      expect((await pay(server, id, 'cash')).status).toBe(400)
      const outcomes = await Promise.all([pay(server, id, 'wallet'), pay(server, id, 'wallet')])
      for (const response of outcomes)
        expect([response.status, (await jsonOf(response)).data.status]).toEqual([200, 'paid'])
      expect(await server.balance()).toBe(2n * CENT)
      expect(await owed(server)).toBe(6_000n)
    })

    test('while another process keeps the money of the wallet, its owner is not told to bring more', async () => {
      const { server, id } = await withInvoice({ fund: 5n * CENT })
      const { id: keyId } = await server.newKey()
      const lent = { instance: 'slow', leaseId: 'slow', useful: 1n, ttlMs: 60_000 }
      const [need, want] = [4n * CENT, 4n * CENT]
      const loan = await server.store.ledger.lend({ ...lent, keyId, need, want })
      expect(loan.outcome).toBe('lent')
      expect((await errorOf(await pay(server, id, 'wallet'))).slice(0, 2)).toEqual([429, 'balance_held'])
      expect(await server.balance()).toBe(5n * CENT)
    })

    test('past due suspends mpp only; paying ends it', async () => {
      const { server, id } = await withInvoice({ fund: 2n * CENT })
      now += 14 * DAY
      server.answerWith(() => completion('hello'))
      expect((await call(server)).status).toBe(200)
      now += 1_000
      // Another key has no lease yet; one that has is refused when its lease ends, ten seconds later at most.
      const { token } = await server.newKey()
      expect(await errorOf(await call(server, {}, {}, token))).toEqual([
        402,
        'insufficient_balance',
        'past_due',
        0,
      ])
      expect((await call(server, {}, { 'x-payment-protocol': 'wallet' })).status).toBe(200)
      const { data } = await server.get('/api/billing').then(jsonOf)
      expect([data.status, data.available_usd, data.invoices[0].status]).toEqual(['past_due', 0, 'past_due'])
      expect((await errorOf(await pay(server, id, 'wallet'))).slice(0, 3)).toEqual([
        402,
        'insufficient_balance',
        'wallet',
      ])
      await server.store.ledger.post({
        kind: 'topup',
        ref: `${server.wallet} more`,
        debit: 'cash',
        credit: server.wallet,
        amount: 5n * CENT,
      })
      expect((await pay(server, id, 'wallet')).status).toBe(200)
      expect((await call(server, {}, {}, token)).status).toBe(200)
    })

    test('an invoice is paid by Stripe, and money that comes twice goes to the wallet', async () => {
      const stripe = startFakeStripe()
      stops.push(stripe.stop)
      const { server, id } = await withInvoice({ stripe: stripe.settings })
      expect((await pay(server, id, 'stripe')).status).toBe(400)
      now = Date.UTC(2026, 11, 3)
      server.answerWith(() =>
        completion('x', { prompt_tokens: 1, completion_tokens: 8_000, total_tokens: 8_001 }),
      )
      for (let calls = 0; calls < 8; calls++)
        expect((await call(server, { max_tokens: 8_000 })).status).toBe(200)
      now = Date.UTC(2027, 0, 1, 2)
      await server.store.credit.closeMonths()
      const second = `INV-${server.wallet}-000002`
      const checkouts: string[] = []
      for (let times = 0; times < 2; times++) {
        const response = await pay(server, second, 'stripe')
        expect(response.status).toBe(201)
        checkouts.push((await jsonOf(response)).id)
      }
      expect(stripe.sessions.at(-1)?.form.get('line_items[0][price_data][unit_amount]')).toBe('64')
      for (const [index, checkout] of checkouts.entries()) {
        const payload = eventOf('checkout.session.completed', paidSession(checkout, `pi_${index}`, 64))
        const headers = { 'stripe-signature': await signatureOf(payload) }
        expect((await server.post('/api/webhooks/stripe', payload, headers, '')).status).toBe(200)
      }
      expect((await server.store.credit.invoice(second))?.status).toBe('paid')
      expect((await server.store.credit.invoice(id))?.status).toBe('past_due')
      expect(await server.balance()).toBe(64n * CENT)
      expect((await pay(server, second, 'stripe')).status).toBe(400)
    })
  })
}
