/**
 * An invoice of post-paid calls, paid by x402: quoted, settled once, paid once; what comes too late goes to the wallet.
 */

import { afterEach, describe, expect, test } from 'bun:test'
import { byTest } from '../by-test.ts'
import { completion, jsonOf, USD } from '../server/harness.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { onChain } from './on-chain.ts'
import { decoded, payerV2, payV1 } from './payers.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const CENT = USD / 100n
const TOTAL = 3n * CENT
/** Units of a token with six decimals. */
const UNITS = TOTAL / 1_000n

describe.skipIf(!hasChain)('invoices by x402', () => {
  const on = onChain()

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let now = 0
      let rig: Rig
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let token: string
      let id: string

      /** A server whose November is invoiced at three cents. */
      const withInvoice = async (): Promise<void> => {
        database = await engine.fresh()
        now = Date.UTC(2026, 10, 21, 12)
        rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain), {
          url: database.url,
          now: () => now,
        })
        const { server } = rig
        token = (await server.newKey()).token
        await server.store.credit.grantCredit({ walletId: server.wallet, limit: USD, netDays: 14 }, byTest)
        server.answerWith(() =>
          completion('x', { prompt_tokens: 0, completion_tokens: 500, total_tokens: 500 }),
        )
        const mpp = { 'x-payment-protocol': 'mpp' }
        const body = { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }], max_tokens: 500 }
        for (let calls = 0; calls < 6; calls++)
          expect((await server.post('/v1/chat/completions', body, mpp, token)).status).toBe(200)
        now = Date.UTC(2026, 11, 1, 2)
        await server.store.credit.closeMonths()
        id = `INV-${server.wallet}-000001`
        expect((await server.store.credit.invoice(id))?.total).toBe(TOTAL)
      }
      afterEach(async () => {
        on.facilitator.calm()
        await rig.check()
        await stopSound(rig.server, database)
      })

      const asking = (body: object = {}, headers: Record<string, string> = {}) =>
        rig.request(`/api/billing/invoices/${id}/pay`, body, { authorization: `Bearer ${token}`, ...headers })
      const status = async () => (await rig.server.store.credit.invoice(id))?.status
      const owed = async () => (await rig.server.store.credit.creditLine(rig.server.wallet))?.owed

      test('the official client pays it, once, for exactly its total', async () => {
        await withInvoice()
        const quote = await rig.server.fetch(asking())
        expect(quote.status).toBe(402)
        const asked = decoded(quote.headers.get('payment-required'))
        expect(asked.accepts).toHaveLength(1)
        expect(asked.accepts[0]).toMatchObject({ scheme: 'exact', amount: String(UNITS) })
        expect(asked.resource.url).toBe(`http://turnpike.test/api/billing/invoices/${id}/pay`)
        expect((await jsonOf(quote)).quote).toMatchObject({ amount_usd: '0.03', upper_bound: false })

        const payer = await on.chain.newPayer(1_000_000n)
        const { pay, sent } = payerV2(payer, rig.server.fetch)
        const response = await pay(asking())
        expect(response.status).toBe(200)
        expect(await jsonOf(response)).toMatchObject({ data: { id, status: 'paid' }, credited_usd: 0 })
        expect(decoded(response.headers.get('payment-response')).success).toBe(true)
        expect(response.headers.get('x-change-claim')).toBeNull()
        expect([await rig.received(), await owed(), await rig.server.balance()]).toEqual([UNITS, 0n, 0n])
        // The same payment once more gets the same answer, and moves nothing.
        const repeat = await rig.server.fetch(again(sent[1] as Request))
        expect([repeat.status, (await jsonOf(repeat)).data.status]).toEqual([200, 'paid'])
        expect(await rig.received()).toBe(UNITS)
        // A new one is not asked for.
        const late = await rig.server.fetch(asking())
        expect([late.status, (await jsonOf(late)).error.param]).toEqual([400, 'id'])
        // What paid an invoice does not pay for a call.
        const payment = sent[1]?.headers.get('payment-signature') ?? ''
        const call = await rig.server.fetch(
          rig.request(
            '/v1/run',
            { model: 'mock/small', inputs: { messages: [{ role: 'user', content: 'hi' }] } },
            {
              authorization: `Bearer ${token}`,
              'payment-signature': payment,
            },
          ),
        )
        expect([call.status, (await jsonOf(call)).error]).toEqual([402, 'payment_already_used'])
        expect(await rig.received()).toBe(UNITS)
      })

      test('it is asked for by the body as well, and paid with a version 1 payment and no body', async () => {
        await withInvoice()
        const path = `/api/billing/invoices/${id}/pay`
        const quote = await rig.server.post(path, { method: 'x402' }, {}, token)
        expect(quote.status).toBe(402)
        const payer = await on.chain.newPayer(1_000_000n)
        const payment = await payV1(payer, (await jsonOf(quote)).accepts[0])
        const clash = await rig.server.fetch(asking({ method: 'wallet' }, { 'x-payment': payment }))
        expect([clash.status, (await jsonOf(clash)).error.param]).toEqual([400, 'method'])
        const stranger = await rig.server.newKey(
          {},
          {
            walletId: (
              await rig.server.store.wallets.createWallet({ id: `${id}-b`, orgId: 'b', name: 'b' }, byTest)
            ).id,
          },
        )
        const foreign = await rig.server.fetch(
          asking({}, { 'x-payment': payment, authorization: `Bearer ${stranger.token}` }),
        )
        expect(foreign.status).toBe(404)
        const response = await rig.server.fetch(
          new Request(`http://turnpike.test${path}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'x-payment': payment },
          }),
        )
        expect([response.status, await status()]).toEqual([200, 'paid'])
        expect(await rig.received()).toBe(UNITS)
      })

      test('copies that arrive together pay once; a payment that comes too late goes to the wallet', async () => {
        await withInvoice()
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, asking())
        const second = await signedRequest(rig, payer, asking())
        const third = await signedRequest(rig, payer, asking())
        // The invoice is paid in another way between the check and the settlement of the second.
        on.facilitator.meet('settle', async () => {
          const answers = await Promise.all([again(signed), again(signed)].map(rig.server.fetch))
          expect(answers.map((answer) => answer.status)).toEqual([200, 200])
        })
        const late = await rig.server.fetch(second)
        expect(late.status).toBe(200)
        expect(await jsonOf(late)).toMatchObject({ data: { status: 'paid' }, credited_usd: 0.03 })
        expect([await rig.received(), await rig.server.balance(), await owed()]).toEqual([
          2n * UNITS,
          TOTAL,
          0n,
        ])
        // A payment that is known to be too late is not taken at all.
        const refused = await rig.server.fetch(third)
        expect(refused.status).toBe(400)
        expect(await rig.received()).toBe(2n * UNITS)
      })

      test('an outcome that is not known is 503, and found out in the background', async () => {
        await withInvoice()
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, asking())
        on.facilitator.meet('settle', 'deaf')
        const open = await rig.server.fetch(again(signed))
        expect([open.status, (await jsonOf(open)).error.code]).toEqual([503, 'payment_unconfirmed'])
        expect(await status()).toBe('open')
        now += 60_000
        await rig.server.x402?.round()
        now += 60_000
        await rig.server.x402?.round()
        expect([await status(), await rig.received(), await rig.server.balance()]).toEqual([
          'paid',
          UNITS,
          0n,
        ])
        expect((await rig.server.fetch(signed)).status).toBe(200)
        expect(await rig.received()).toBe(UNITS)
      })

      test('a payer without funds is told so, and the invoice stays open', async () => {
        await withInvoice()
        const payer = await on.chain.newPayer(10n)
        const response = await payerV2(payer, rig.server.fetch).pay(asking())
        expect(response.status).toBe(402)
        expect((await jsonOf(response)).error).toContain('insufficient_balance')
        expect(await status()).toBe('open')
      })
    })
})
