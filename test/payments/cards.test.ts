/** The method `stripe` of MPP, end to end: the official client pays with shared payment tokens at a scripted Stripe. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { McpClient } from 'mppx/mcp/client'
import { recompute } from '../../src/receipts/recompute.ts'
import { chat, completion, eventsOf, jsonOf, streamEvents, streaming, testModel } from '../server/harness.ts'
import { type JobServer, jobRecord, newVendor, PICTURE, startJobServer } from '../server/job-rig.ts'
import { eventOf, refundOf, signatureOf } from '../server/stripe-fake.ts'
import { serverEngines } from '../store/engines.ts'
import { askFor, cardOptions, checkCards, newToken, PROFILE, startCards } from './card-rig.ts'
import { payerBy, receiptIn, stripeOf } from './mpp-payer.ts'

/** 10 tokens in at 1 000 nano-USD and 5 out at 10 000. */
const COST = 60_000n
/** Stripe takes no less. */
const LEAST = 500_000_000n

const single = {
  ...jobRecord({}, 'single'),
  shape: {
    flow: 'once' as const,
    ask: (inputs: object) => ({ method: 'POST' as const, path: '/paint', body: { json: { ...inputs } } }),
    read: ({ status }: { status: number }) =>
      status === 200
        ? {
            verdict: 'done' as const,
            outputs: [{ type: 'image' as const, from: { base64: PICTURE } }],
            body: {},
          }
        : undefined,
  },
  card: { ...jobRecord().card, most: { image: () => 1 } },
}

for (const engine of serverEngines)
  describe(`cards on ${engine.name}`, () => {
    const stripe = startCards()
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: JobServer
    beforeAll(async () => {
      database = await engine.fresh()
      const jobs = newVendor()
      jobs.says(1)
      server = await startJobServer({
        url: database.url,
        vendor: {
          ...jobs,
          answer: (request) => {
            if (request.url.endsWith('/paint')) return Response.json({})
            if (!request.url.endsWith('/chat/completions')) return jobs.answer(request)
            return request.body.stream === true ? streaming(streamEvents(['hel', 'lo'])) : completion('hello')
          },
        },
        sells: [jobRecord(), single as never],
        server: {
          x402: cardOptions,
          stripe: stripe.settings,
          fund: 0n,
          models: [
            testModel('small'),
            testModel('dear', {
              price: { rates: { input: 1_000_000, output: 1_234_567_000 }, tiers: [], version: 'test-1' },
            }),
          ],
        },
      })
    })
    afterAll(async () => {
      await checkCards(server, stripe)
      await server.stop()
      await database.stop()
      await stripe.stop()
    })

    const pay = (request: Request, token = newToken()) =>
      payerBy(
        stripeOf(({ amount, currency, networkId }) => {
          expect([currency, networkId, Number(amount) >= 50]).toEqual(['usd', PROFILE, true])
          return token
        }),
        (one) => server.fetch(one),
      ).pay(request)

    test('a chat holds the minimum, is charged what it cost, and the change is claimed once', async () => {
      const token = newToken()
      const response = await pay(askFor(chat()), token)
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')])
      const charge = stripe.charges.at(-1)
      expect(charge?.form).toMatchObject({
        amount: '50',
        currency: 'usd',
        confirm: 'true',
        shared_payment_granted_token: token,
        'automatic_payment_methods[allow_redirects]': 'never',
      })
      expect(receiptIn(response)).toMatchObject({
        status: 'success',
        method: 'stripe',
        reference: charge?.id as string,
      })
      const receipt = response.headers.get('x-receipt') ?? ''
      const claims = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
      expect(recompute(claims)).toBe(COST)
      expect(claims.payment).toMatchObject({
        mode: 'x402',
        protocol: 'Payment',
        network: `stripe:${PROFILE}`,
        transaction: charge?.id,
        paid_usd: '0.5',
      })
      const claim = response.headers.get('x-change-claim')
      const claimed = await jsonOf(await server.post('/api/wallet/claim', { claim }))
      expect(claimed.data.credited_usd).toBe(Number(LEAST - COST) / 1e9)
      expect((await server.post('/api/wallet/claim', { claim })).status).toBe(409)
    })

    test('above the minimum the price is in whole cents, rounded up, and never above the ceiling', async () => {
      const due = await server.fetch(askFor(chat({ model: 'mock/dear', max_tokens: 600 })))
      const asked = challengeOf(due)
      const quoted = BigInt(Math.round(Number((await jsonOf(due)).quote.amount_usd) * 1e9))
      expect(quoted % 10_000_000n).not.toBe(0n)
      expect(BigInt(asked?.amount ?? '')).toBe(quoted / 10_000_000n + 1n)
      const dear = askFor(chat({ model: 'mock/dear', max_tokens: 600 }))
      expect((await pay(dear)).status).toBe(200)
      expect(stripe.charges.at(-1)?.form.amount).toBe(asked?.amount as string)
      // Who bounds the call below the minimum of a card is not offered one.
      const bounded = await server.fetch(askFor(chat(), '/v1/chat/completions', { 'x-max-cost-usd': '0.49' }))
      expect([bounded.status, challengeOf(bounded)]).toEqual([402, undefined])
      expect(bounded.headers.get('www-authenticate')).toContain('method="evm"')
    })

    test('a stream is paid before its first byte', async () => {
      const response = await pay(askFor(chat({ stream: true, stream_options: { include_usage: true } })))
      expect([response.status, receiptIn(response)?.method]).toEqual([200, 'stripe'])
      expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]')
    })

    test('a picture is paid for', async () => {
      const response = await pay(askFor({ model: 'mock/single', inputs: { prompt: 'a fox' } }, '/v1/run'))
      expect([response.status, receiptIn(response)?.method]).toEqual([200, 'stripe'])
      expect(await response.text()).toContain('"outputs":[{')
    })

    test('a tool of MCP is paid for, and the server says how', async () => {
      const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
      const client = new Client({ name: 'payer', version: '1' }, { versionNegotiation: { mode: 'auto' } })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${listening.port}/mcp`)),
      )
      expect(client.getServerCapabilities()?.experimental?.payment).toEqual({
        methods: { evm: { intents: ['charge'] }, stripe: { intents: ['charge'] } },
      })
      const before = stripe.charges.length
      const paying = McpClient.wrap(client as never, { methods: [stripeOf(newToken)] } as never)
      const paid = await paying.callTool({
        name: 'run_product',
        arguments: { product: 'mock/small', inputs: chat({ model: undefined }) },
      })
      expect(JSON.stringify(paid)).toContain('hello')
      expect(stripe.charges.length).toBe(before + 1)
      await client.close()
      await listening.stop(true)
    })

    test('the challenge stands beside those of tokens, and the reference names it', async () => {
      const due = await server.fetch(askFor(chat()))
      expect(challengeOf(due)).toEqual({
        amount: '50',
        currency: 'usd',
        methodDetails: { networkId: PROFILE, paymentMethodTypes: ['card'] },
      })
      const header = due.headers.get('www-authenticate') ?? ''
      expect([...header.matchAll(/method="(\w+)"/g)].map(([, method]) => method)).toEqual(['evm', 'stripe'])
      const expiries = new Set([...header.matchAll(/expires="([^"]+)"/g)].map(([, at]) => at))
      expect([...expiries]).toEqual([(await jsonOf(due)).quote.expires_at])
      const product = await jsonOf(await server.get('/products/mock/small.json', ''))
      expect(product.payment_protocols.x402.reason).toContain('stripe')
      const reference = await jsonOf(await server.get('/openapi.json', ''))
      const { offers } = reference.paths['/v1/chat/completions'].post['x-payment-info']
      expect(offers).toContainEqual(
        expect.objectContaining({ method: 'stripe', intent: 'charge', amount: null, currency: 'usd' }),
      )
    })

    test('events about such a payment are no trouble', async () => {
      const { id = '' } = stripe.charges.at(-1) ?? {}
      for (const event of [
        eventOf('payment_intent.succeeded', {
          id,
          object: 'payment_intent',
          metadata: stripe.payments.get(id),
        }),
        eventOf('refund.created', refundOf(id, `re_${id}`, 50)),
      ]) {
        const response = await server.fetch(
          new Request('http://turnpike.test/api/webhooks/stripe', {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'stripe-signature': await signatureOf(event) },
            body: event,
          }),
        )
        expect(response.status).toBe(200)
      }
      await checkCards(server, stripe)
    })
  })

/** What the challenge of the method `stripe` asks for. */
const challengeOf = (
  due: Response,
): { amount: string; currency: string; methodDetails: object } | undefined => {
  const text = /method="stripe", intent="charge", request="([^"]+)"/.exec(
    due.headers.get('www-authenticate') ?? '',
  )?.[1]
  return text === undefined ? undefined : JSON.parse(Buffer.from(text, 'base64url').toString())
}
