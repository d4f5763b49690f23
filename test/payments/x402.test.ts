/** x402, end to end and offline: a chain, a token, a facilitator of the official parts, payers of both versions. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano } from '../../src/core/money.ts'
import { recompute } from '../../src/receipts/recompute.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  USD,
} from '../server/harness.ts'
import { until } from '../until.ts'
import { hasChain, TOKEN } from './chain.ts'
import { startFacilitator } from './facilitator.ts'
import { onChain } from './on-chain.ts'
import { decoded, encoded, payerV2, payV1 } from './payers.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const run = (more: object = {}) => ({
  model: 'mock/small',
  inputs: { messages: [{ role: 'user', content: 'hi' }], ...more },
})

/** 10 tokens in at 1 000 nano-USD and 5 out at 10 000. */
const COST = 60_000n

const engines = [
  { name: 'SQLite', fresh: async () => ({ url: 'sqlite::memory:', stop: async () => undefined }) },
  { name: 'PostgreSQL', fresh: postgresForTests },
]

test('a server without x402 says so, and names the wallet', async () => {
  const server = await startTestServer()
  for (const headers of [
    { 'x-payment-protocol': 'x402' },
    { 'payment-signature': 'e30=' },
    { 'x-payment': 'e30=' },
  ])
    for (const token of ['', undefined]) {
      const response = await server.post('/v1/run', run(), headers, token)
      expect(response.status).toBe(402)
      const { error } = await jsonOf(response)
      expect(error).toMatchObject({ code: 'payment_mode_unavailable', payment_modes: 'wallet, mpp' })
      expect(error.message).toContain('Authorization: Bearer')
    }
  const plain = await server.post('/v1/run', run(), {}, '')
  expect([plain.status, (await jsonOf(plain)).error.code]).toEqual([401, 'missing_authorization'])
  expect(server.asked).toHaveLength(0)
  await server.stop()
})

describe.skipIf(!hasChain)('x402', () => {
  const on = onChain()

  for (const engine of engines)
    describe(`on ${engine.name}`, () => {
      let database: { url: string; stop: () => Promise<void> } | TestDatabase
      let rig: Rig
      beforeAll(async () => {
        database = await engine.fresh()
        rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain), { url: database.url })
      })
      afterAll(async () => {
        await rig.check()
        await rig.server.stop()
        await database.stop()
      })

      for (const [path, body] of [
        ['/v1/run', run()],
        ['/v1/chat/completions', chat()],
        ['/v1/messages', chat({ max_tokens: 50 })],
        ['/v1beta/models/mock/small:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
      ] as const)
        test(`the official client pays ${path}, is charged what it cost, and the change is claimed once`, async () => {
          const payer = await on.chain.newPayer(1_000_000n)
          const { pay, sent } = payerV2(payer, rig.server.fetch)
          const before = await rig.received()
          const response = await pay(rig.request(path, body))
          expect(response.status).toBe(200)
          expect(await response.text()).toContain('hello')
          expect(sent).toHaveLength(2)
          const outcome = decoded(response.headers.get('payment-response'))
          expect(outcome).toMatchObject({
            success: true,
            network: 'eip155:84532',
            payer: payer.address.toLowerCase(),
          })
          expect(response.headers.get('cache-control')).toBe('private, no-store')
          const paid = (await rig.received()) - before
          expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n - paid)
          const quoted = decoded(sent[1]?.headers.get('payment-signature') ?? '').accepted.amount
          expect(quoted).toBe(paid.toString())
          await rig.check()

          const claim = response.headers.get('x-change-claim')
          const receipt = response.headers.get('x-receipt') ?? ''
          const claims = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
          expect(claims.payment).toEqual({
            mode: 'x402',
            scheme: 'exact',
            network: 'eip155:84532',
            asset: TOKEN.toLowerCase(),
            payer: payer.address.toLowerCase(),
            id: expect.stringContaining(payer.address.toLowerCase()),
            transaction: outcome.transaction,
            paid_usd: decimalFromNano(paid * 1_000n),
          })
          const verdict = await rig.server.post('/api/receipts/verify', { receipt })
          expect(await jsonOf(verdict)).toMatchObject({ valid: true, claims: { payment: claims.payment } })
          expect(recompute(claims)).toBe(COST)
          const way = path === '/v1/run' ? { receipt } : { claim }
          const wallet = await rig.server.balance()
          const forged = await rig.server.post('/api/wallet/claim', {
            receipt: `${receipt.slice(0, -4)}AAAA`,
          })
          expect(forged.status).toBe(404)
          const claimed = await rig.server.post('/api/wallet/claim', way)
          expect(claimed.status).toBe(200)
          expect((await jsonOf(claimed)).data.credited_usd).toBe(Number(paid * 1_000n - COST) / 1e9)
          expect(await rig.server.balance()).toBe(wallet + paid * 1_000n - COST)
          const twice = await rig.server.post('/api/wallet/claim', { claim })
          expect(twice.status).toBe(409)
          expect((await jsonOf(twice)).error).toBe('already_claimed')
          expect(await rig.server.balance()).toBe(wallet + paid * 1_000n - COST)
          await rig.check()
        })

      test('payers that know nothing of this server, and say nothing, are quoted and pay', async () => {
        const plain = (path: string, body: object, headers: Record<string, string> = {}) => {
          const request = rig.request(path, body, headers)
          request.headers.delete('x-payment-protocol')
          return request
        }
        for (const [path, body] of [
          ['/v1/chat/completions', chat()],
          ['/v1/messages', chat({ max_tokens: 50 })],
          ['/v1beta/models/mock/small:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
          ['/v1/embeddings', { model: 'mock/embed', input: 'hi' }],
          ['/v1/run', run()],
          ['/v1beta/models/mock/small:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
        ] as const) {
          if (path === '/v1/embeddings')
            rig.server.answerWith(() =>
              Response.json({
                object: 'list',
                data: [{ object: 'embedding', embedding: [1], index: 0 }],
                model: 'embed',
                usage: { prompt_tokens: 1, total_tokens: 1 },
              }),
            )
          const payer = await on.chain.newPayer(1_000_000n)
          const { pay, sent } = payerV2(payer, rig.server.fetch)
          const response = await pay(plain(path, body))
          expect([path, response.status, sent.length]).toEqual([path, 200, 2])
          expect(sent.some(({ headers }) => headers.has('x-payment-protocol'))).toBe(false)
          expect(decoded(response.headers.get('payment-response')).success).toBe(true)
          await response.text()
          rig.server.answerWith(() => completion('hello'))
        }
        const payer = await on.chain.newPayer(1_000_000n)
        const quote = await rig.server.fetch(plain('/v1/run', run()))
        expect(quote.status).toBe(402)
        const quoted = await jsonOf(quote)
        // Most who come without a key have only forgotten it.
        expect(quoted.message).toContain('Authorization: Bearer <key>')
        const [accepts] = quoted.accepts
        const paid = await rig.server.fetch(
          plain('/v1/run', run(), { 'x-payment': await payV1(payer, accepts) }),
        )
        expect(paid.status).toBe(200)
        await rig.check()
      })

      test('who sends a key, or asks for the wallet or for credit, is not quoted', async () => {
        const status = async (headers: Record<string, string>) => {
          const request = rig.request('/v1/run', run(), headers)
          if (headers['x-payment-protocol'] === undefined) request.headers.delete('x-payment-protocol')
          const response = await rig.server.fetch(request)
          return [response.status, (await jsonOf(response)).error.code]
        }
        const wrong = 'Bearer sk-wrongwrongwrongwrong'
        expect(await status({ authorization: wrong })).toEqual([401, 'invalid_api_key'])
        expect(await status({ authorization: '' })).toEqual([401, 'missing_authorization'])
        for (const mode of ['wallet', 'mpp'])
          expect(await status({ 'x-payment-protocol': mode })).toEqual([401, 'missing_authorization'])
        const counted = await rig.server.post('/v1/messages/count_tokens', chat(), {}, '')
        expect(counted.status).toBe(401)
      })

      test('a stream is paid before its first byte and ends with its cost', async () => {
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
        const payer = await on.chain.newPayer(1_000_000n)
        const body = chat({ stream: true, stream_options: { include_usage: true } })
        const response = await payerV2(payer, rig.server.fetch).pay(rig.request('/v1/chat/completions', body))
        expect(response.status).toBe(200)
        expect(decoded(response.headers.get('payment-response')).success).toBe(true)
        const events = eventsOf(await response.text())
        expect(events.at(-1)).toBe('[DONE]')
        expect(events.join('')).toContain('"cost":0.00006')
        rig.server.answerWith(() => completion('hello'))
        await rig.check()
      })

      test('a stream that breaks off is charged what it delivered, tells so, and is the same when it comes again', async () => {
        const body = chat({ stream: true })
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo']).slice(0, 3), 'break'))
        const payer = await on.chain.newPayer(1_000_000n)
        const before = await rig.received()
        const signed = await signedRequest(rig, payer, rig.request('/v1/chat/completions', body))
        const response = await rig.server.fetch(again(signed))
        const text = await response.text()
        const paid = ((await rig.received()) - before) * 1_000n
        const cost = BigInt(Math.ceil(JSON.stringify(body).length / 4)) * 1_000n + 20_000n
        const { error } = JSON.parse(eventsOf(text).at(-1) ?? '')
        expect(error).toMatchObject({ code: 'upstream_error', cost_usd: Number(cost) / 1e9 })
        expect(error.message).toContain(`${decimalFromNano(cost)} USD`)
        rig.server.answerWith(() => completion('hello'))
        const asked = rig.server.asked.length
        expect(await (await rig.server.fetch(again(signed))).text()).toBe(text)
        expect(rig.server.asked.length).toBe(asked)
        const claim = response.headers.get('x-change-claim')
        const claimed = await rig.server.post('/api/wallet/claim', { claim })
        expect((await jsonOf(claimed)).data.credited_usd).toBe(Number(paid - cost) / 1e9)
        await rig.check()
      })

      test('a version 1 client that reads only the body pays too', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const quote = await jsonOf(await rig.quote('/v1/run', run()))
        const [accepts] = quote.accepts
        const response = await rig.server.fetch(
          rig.request('/v1/run', run(), { 'x-payment': await payV1(payer, accepts) }),
        )
        expect(response.status).toBe(200)
        expect(decoded(response.headers.get('x-payment-response'))).toMatchObject({
          success: true,
          network: 'base-sepolia',
        })
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n - BigInt(accepts.maxAmountRequired))
        await rig.check()
      })

      test('the change of a call with a key is in its wallet when the answer is there; caps count the charge only', async () => {
        const { id, token } = await rig.server.newKey({ spendCap: USD, stopAt: 5n * USD })
        const payer = await on.chain.newPayer(1_000_000n)
        const wallet = await rig.server.balance()
        const before = await rig.received()
        const headers = { authorization: `Bearer ${token}` }
        const response = await payerV2(payer, rig.server.fetch).pay(rig.request('/v1/run', run(), headers))
        expect(response.status).toBe(200)
        expect(response.headers.get('x-change-claim')).toBeNull()
        const paid = ((await rig.received()) - before) * 1_000n
        expect(await rig.server.balance()).toBe(wallet + paid - COST)
        expect(await rig.server.store.keys.spend(id)).toMatchObject({ spent: COST, held: 0n, requests: 1 })
        await rig.check()
      })

      test('a key whose cap has no room is told before anything is paid', async () => {
        const { token } = await rig.server.newKey({ spendCap: 10_000n })
        const payer = await on.chain.newPayer(1_000_000n)
        const headers = { authorization: `Bearer ${token}` }
        const response = await rig.server.fetch(
          await signedRequest(rig, payer, rig.request('/v1/run', run(), headers)),
        )
        expect(response.status).toBe(402)
        expect((await jsonOf(response)).error).toMatchObject({
          code: 'insufficient_balance',
          limit: 'spend_cap_usd',
        })
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n)
      })

      test('a call that names a sub-wallet counts under its budget, and is told before it pays when that has no room', async () => {
        const { token } = await rig.server.newKey({}, { canManage: true })
        const authorization = `Bearer ${token}`
        const make = async (budget: number) =>
          (await jsonOf(await rig.server.post('/api/wallet/sub-wallets', { budget_usd: budget }, {}, token)))
            .id
        const [sub, small] = [await make(1), await make(0.0001)]
        const named = (name: string, more = {}) =>
          rig.request('/v1/run', run(), { authorization, 'x-sub-wallet': name, ...more })
        const payer = await on.chain.newPayer(1_000_000n)
        expect((await payerV2(payer, rig.server.fetch).pay(named(sub))).status).toBe(200)
        const spent = async (id: string) =>
          (await jsonOf(await rig.server.get(`/api/wallet/sub-wallets/${id}`, token))).spent_usd
        expect(await spent(sub)).toBe(Number(COST) / 1e9)
        const left = await on.chain.unitsOf(payer.address)

        const full = await rig.server.fetch(await signedRequest(rig, payer, named(small)))
        expect([full.status, (await jsonOf(full)).error.limit]).toEqual([402, 'sub_wallet'])
        const own = await signedRequest(rig, payer, named(sub))
        // A key that is bound to another budget does not see it.
        const bound = await rig.server.newKey({}, { subWallet: small })
        const foreign = again(own)
        foreign.headers.set('authorization', `Bearer ${bound.token}`)
        for (const request of [foreign, named('sub_nobody'), named('sub_nobody', { 'x-payment': 'e30=' })])
          expect((await rig.server.fetch(request)).status).toBe(404)
        const other = again(own)
        other.headers.set('x-sub-wallet', small)
        expect((await jsonOf(await rig.server.fetch(other))).error).toBe('quote_mismatch')
        const guest = again(own)
        guest.headers.delete('authorization')
        const refused = await rig.server.fetch(guest)
        expect([refused.status, (await jsonOf(refused)).error.param]).toEqual([400, 'X-Sub-Wallet'])
        expect(await on.chain.unitsOf(payer.address)).toBe(left)
        expect([await spent(sub), await spent(small)]).toEqual([Number(COST) / 1e9, 0])
        const by = '/v1/usage?group_by=sub_wallet,payment_mode'
        expect((await jsonOf(await rig.server.get(by, token))).data.rows).toMatchObject([
          { sub_wallet: sub, payment_mode: 'x402', requests: 1, cost_usd: Number(COST) / 1e9 },
        ])
        await rig.check()
      })

      test('a payment sent again gets the same answer, to the byte, and neither pays nor runs again', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const first = await rig.server.fetch(again(signed))
        const [received, asked] = [await rig.received(), rig.server.asked.length]
        const second = await rig.server.fetch(again(signed))
        expect(second.status).toBe(200)
        expect(second.headers.get('idempotent-replayed')).toBe('true')
        expect(second.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
        expect(await second.text()).toBe(await first.text())
        expect([await rig.received(), rig.server.asked.length]).toEqual([received, asked])
        await rig.check()
      })

      test('a payment does not pay for another request, before or after it was used', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const payment = signed.headers.get('payment-signature') ?? ''
        const others = [
          rig.request('/v1/run', run({ temperature: 1 }), { 'payment-signature': payment }),
          rig.request('/v1/run', run(), { 'payment-signature': payment, 'x-max-cost-usd': '0.5' }),
          rig.request('/v1/chat/completions', chat(), { 'payment-signature': payment }),
        ]
        for (const other of others) {
          const early = await rig.server.fetch(again(other))
          expect([early.status, (await jsonOf(early)).error]).toEqual([402, 'quote_mismatch'])
        }
        expect((await rig.server.fetch(again(signed))).status).toBe(200)
        const received = await rig.received()
        for (const other of others) {
          const late = await rig.server.fetch(again(other))
          expect([late.status, (await jsonOf(late)).error]).toEqual([402, 'payment_already_used'])
        }
        expect(await rig.received()).toBe(received)
        expect((await rig.server.fetch(again(signed))).status).toBe(200)
        await rig.check()
      })

      test('who reads a payment on the chain, and knows the request, gets neither the answer nor the change', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const payment = decoded(signed.headers.get('payment-signature'))
        expect((await rig.server.fetch(again(signed))).headers.get('x-change-claim')).not.toBeNull()
        const quote = decoded((await rig.quote('/v1/run', run())).headers.get('payment-required'))
        const received = await rig.received()
        // The chain shows all that was signed. A quote of one's own, for the same request, is free.
        for (const quoteId of [undefined, quote.accepts[0].extra.quoteId]) {
          const extra = { ...payment.accepted.extra, quoteId }
          const copied = encoded({ ...payment, accepted: { ...payment.accepted, extra } })
          const stolen = await rig.server.fetch(
            rig.request('/v1/run', run(), { 'payment-signature': copied }),
          )
          expect([stolen.status, (await jsonOf(stolen)).error]).toEqual([402, 'payment_already_used'])
          expect(stolen.headers.get('x-change-claim')).toBeNull()
        }
        expect((await rig.server.fetch(again(signed))).headers.get('idempotent-replayed')).toBe('true')
        expect(await rig.received()).toBe(received)
        await rig.check()
      })

      test('copies that arrive together get one answer for one payment', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const other = await startRig(on.chain, rig.options, { url: database.url })
        const [before, asked] = [await rig.received(), rig.server.asked.length]
        const servers = engine.name === 'PostgreSQL' ? [rig.server, other.server] : [rig.server]
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, index) => servers[index % servers.length]!.fetch(again(signed))),
        )
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
        for (const answer of answers)
          expect(decoded(answer.headers.get('payment-response')).success).toBe(true)
        const quoted = BigInt(decoded(signed.headers.get('payment-signature')).accepted.amount)
        expect((await rig.received()) - before).toBe(quoted)
        expect(rig.server.asked.length + other.server.asked.length - asked).toBe(1)
        await rig.check()
        await other.server.stop()
      })

      test('a payer who cancels pays nothing and gets nothing, whenever the cancellation comes', async () => {
        const asked = rig.server.asked.length
        for (const when of ['before verify', 'between verify and settle']) {
          const payer = await on.chain.newPayer(1_000_000n)
          const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
          const { nonce } = decoded(signed.headers.get('payment-signature')).payload.authorization
          if (when === 'before verify') await on.chain.cancel(payer, nonce)
          else on.facilitator.meet('settle', () => on.chain.cancel(payer, nonce))
          const response = await rig.server.fetch(signed)
          expect([when, response.status]).toEqual([when, 402])
          expect((await jsonOf(response)).error).toContain('nonce_already_used')
          expect(decoded(response.headers.get('payment-response')).success).toBe(false)
          expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n)
        }
        expect(rig.server.asked).toHaveLength(asked)
        await rig.check()
      })

      test('an authorization that somebody else put on the chain is a payment all the same', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const payment = decoded(signed.headers.get('payment-signature'))
        const outsider = await startFacilitator(on.chain)
        await fetch(`${outsider.url}/settle`, {
          method: 'POST',
          body: JSON.stringify({ paymentPayload: payment, paymentRequirements: payment.accepted }),
        })
        await outsider.stop()
        expect((await rig.server.fetch(signed)).status).toBe(200)
        await rig.check()
      })

      test('quotes and payments that buy nothing are counted by address; what was paid is not', async () => {
        const strict = await startRig(on.chain, optionsFor(on.facilitator, on.chain), {
          options: { guestRpm: 2 },
        })
        const from = (peer: string) => (request: Request) => strict.server.fetchFrom(peer, request)
        const payer = await on.chain.newPayer(1_000_000n)
        const asking = () => strict.request('/v1/run', run())
        const signed = await signedRequest(strict, payer, asking(), from('192.0.2.8'))
        const spare = await signedRequest(strict, payer, asking(), from('192.0.2.9'))
        for (let times = 0; times < 3; times++) {
          const payers = await signedRequest(strict, payer, asking(), from(`192.0.2.${10 + times}`))
          expect((await from('192.0.2.8')(payers)).status).toBe(200)
        }
        const junk = () => strict.request('/v1/run', run(), { 'payment-signature': 'e30=' })
        const replay = () => from('192.0.2.8')(again(signed))
        expect((await replay()).status).toBe(200)
        expect((await replay()).headers.get('idempotent-replayed')).toBe('true')
        expect((await from('192.0.2.8')(junk())).status).toBe(400)
        const refused = await replay()
        expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([429, 'rate_limit_exceeded'])
        // Its quotes are counted separately, and others are not counted with them.
        expect((await from('192.0.2.8')(asking())).status).toBe(402)
        expect((await from('192.0.2.9')(spare)).status).toBe(200)
        await strict.check()
        await strict.server.stop()
      })

      test('X-Payment-Protocol: wallet leaves a payment alone', async () => {
        const funded = await startRig(on.chain, rig.options, { fund: USD })
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(funded, payer, funded.request('/v1/run', run()))
        signed.headers.set('x-payment-protocol', 'wallet')
        expect((await funded.server.fetch(again(signed))).status).toBe(401)
        const { token } = await funded.server.newKey()
        signed.headers.set('authorization', `Bearer ${token}`)
        expect((await funded.server.fetch(signed)).status).toBe(200)
        expect(await funded.server.balance()).toBe(USD - COST)
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n)
        await funded.server.stop()
      })

      test('a payer without funds is told so', async () => {
        const payer = await on.chain.newPayer(10n)
        const response = await payerV2(payer, rig.server.fetch).pay(rig.request('/v1/run', run()))
        expect(response.status).toBe(402)
        expect((await jsonOf(response)).error).toContain('insufficient_balance')
        expect(await on.chain.unitsOf(payer.address)).toBe(10n)
        await rig.check()
      })

      test('a facilitator that cannot verify: 503, and the payment is still good', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        for (const mishap of ['deaf', 'garbage', 'fault'] as const) {
          on.facilitator.meet('verify', mishap)
          const response = await rig.server.fetch(again(signed))
          expect([mishap, response.status]).toEqual([mishap, 503])
          expect(response.headers.get('retry-after')).not.toBeNull()
        }
        expect(await (await rig.server.get('/api/status', '')).text()).toContain('facilitator of x402')
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n)
        expect((await rig.server.fetch(again(signed))).status).toBe(200)
        await rig.check()
      })

      for (const mishap of ['lost', 'deaf', 'garbage', 'fault'] as const)
        test(`a settlement whose answer is ${mishap} is 503 and never a 402, then paid once`, async () => {
          const payer = await on.chain.newPayer(1_000_000n)
          const before = await rig.received()
          const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
          const quoted = BigInt(decoded(signed.headers.get('payment-signature')).accepted.amount)
          on.facilitator.meet('settle', mishap, mishap)
          const response = await rig.server.fetch(again(signed))
          // A lost answer is found on the chain; the others leave it open.
          if (mishap === 'lost') expect(response.status).toBe(200)
          else {
            expect([response.status, (await jsonOf(response)).error.code]).toEqual([
              503,
              'payment_unconfirmed',
            ])
            const still = await rig.server.fetch(again(signed))
            expect([still.status, (await jsonOf(still)).error.code]).toEqual([503, 'payment_unconfirmed'])
          }
          on.facilitator.calm()
          const late = await rig.server.fetch(again(signed))
          expect(late.status).toBe(200)
          expect((await rig.received()) - before).toBe(quoted)
          await rig.check()
        })

      test('an expired quote is refused with a new one, and nothing is paid', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const quote = await rig.quote('/v1/run', run())
        const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
        const payment = decoded(signed.headers.get('payment-signature'))
        const expires = (Date.now() - 1_000).toString(36)
        const old = await startRig(
          on.chain,
          { ...rig.options, timeoutSeconds: -31 },
          { url: 'sqlite::memory:' },
        )
        const quoteOf = async (response: Response) =>
          decoded(response.headers.get('payment-required')).accepts[0]
        const expired = (await quoteOf(await old.quote('/v1/run', run()))).extra.quoteId
        expect(Number.parseInt(expired.split('_')[1], 36)).toBeLessThan(Date.now())
        const send = (quoteId: string) =>
          rig.server.fetch(
            rig.request('/v1/run', run(), {
              'payment-signature': encoded({
                ...payment,
                accepted: { ...payment.accepted, extra: { ...payment.accepted.extra, quoteId } },
              }),
            }),
          )
        const response = await send(expired)
        expect([response.status, (await jsonOf(response)).error]).toEqual([402, 'quote_expired'])
        expect((await quoteOf(response)).extra.quoteId).not.toBe(expired)
        // The proof covers the time in the id.
        const forged = (await quoteOf(quote)).extra.quoteId.split('_')
        const stretched = await send(`q_${(Date.now() + 1e9).toString(36)}_${expired.split('_')[2]}`)
        expect((await jsonOf(stretched)).error).toBe('quote_mismatch')
        const shortened = await send(`q_${expires}_${forged[2]}`)
        expect((await jsonOf(shortened)).error).toBe('quote_mismatch')
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n)
        await old.server.stop()
      })

      test('a settlement that is still on its way is waited for, and paid once', async () => {
        const slow = await startFacilitator(on.chain, 300)
        const ledger = await engine.fresh()
        const own = await startRig(on.chain, optionsFor(slow, on.chain), { url: ledger.url })
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(own, payer, own.request('/v1/run', run()))
        await on.chain.client.setAutomine(false)
        const response = await own.server.fetch(again(signed))
        expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'payment_unconfirmed'])
        await on.chain.client.mine({ blocks: 1 })
        await on.chain.client.setAutomine(true)
        expect((await own.server.fetch(again(signed))).status).toBe(200)
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n - (await own.received()))
        await own.check()
        await own.server.stop()
        await slow.stop()
        await ledger.stop()
      })

      test('an open outcome is found out in the background; the answer is then served without settling again', async () => {
        const ledger = await engine.fresh()
        const own = await startRig(on.chain, optionsFor(on.facilitator, on.chain), {
          url: ledger.url,
        })
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(own, payer, own.request('/v1/run', run()))
        on.facilitator.meet('settle', 'deaf')
        expect((await own.server.fetch(again(signed))).status).toBe(503)
        expect(await own.received()).toBe(0n)
        await until(async () => {
          await own.server.x402?.round()
          return (await own.received()) > 0n
        }, 100)
        const settles = on.facilitator.asked.settle
        expect(await own.received()).toBeGreaterThan(0n)
        expect((await own.server.fetch(again(signed))).status).toBe(200)
        expect(on.facilitator.asked.settle).toBe(settles)
        await own.check()
        await own.server.stop()
        await ledger.stop()
      })

      test('with a key and an Idempotency-Key the answer is kept under both: no second payment is looked at', async () => {
        const { token } = await rig.server.newKey()
        const payer = await on.chain.newPayer(1_000_000n)
        const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'once' }
        const asking = () => rig.request('/api/idempotent-run', run(), headers)
        const one = await signedRequest(rig, payer, asking())
        const two = await signedRequest(rig, payer, asking())
        const first = await rig.server.fetch(again(one))
        expect(first.status).toBe(200)
        const left = await on.chain.unitsOf(payer.address)
        for (const repeat of [again(one), again(two), asking()]) {
          const response = await rig.server.fetch(repeat)
          expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
        }
        // Under another key it is another request, and that payment is used up.
        const other = again(one)
        other.headers.set('idempotency-key', 'twice')
        const refused = await rig.server.fetch(other)
        expect([refused.status, (await jsonOf(refused)).error]).toEqual([402, 'payment_already_used'])
        expect(await on.chain.unitsOf(payer.address)).toBe(left)
        await rig.check()
      })

      test('when the vendor fails the payment is kept, also over a restart, and buys the answer later', async () => {
        const own = await engine.fresh()
        const options = optionsFor(on.facilitator, on.chain)
        const first = await startRig(on.chain, options, { url: own.url })
        first.server.answerWith(() => new Response('{}', { status: 500 }))
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(first, payer, first.request('/v1/run', run()))
        const failed = await first.server.fetch(again(signed))
        expect(failed.status).toBe(503)
        expect(decoded(failed.headers.get('payment-response')).success).toBe(true)
        const received = await first.received()
        // Memory does not outlive its server.
        const second =
          engine.name === 'PostgreSQL' ? await startRig(on.chain, options, { url: own.url }) : first
        if (second !== first) await first.server.stop()
        const claim = failed.headers.get('x-change-claim')
        let finish: (response: Response) => void = () => undefined
        const held = new Promise<Response>((resolve) => {
          finish = resolve
        })
        const before = second.server.asked.length
        second.server.answerWith(() => held)
        const settles = on.facilitator.asked.settle
        const later = second.server.fetch(again(signed))
        const { book } = second.server.gateway
        // From when the ledger knows of the call; before, a claim takes the payment and the call has no answer.
        await until(() => second.server.asked.length > before && book.health().queued === 0)
        const tooEarly = await second.server.post('/api/wallet/claim', { claim })
        expect([tooEarly.status, (await jsonOf(tooEarly)).error]).toEqual([409, 'not_served_yet'])
        finish(completion('hello'))
        expect((await later).status).toBe(200)
        expect(await second.received()).toBe(received)
        expect(on.facilitator.asked.settle).toBe(settles)
        await second.check()
        await second.server.stop()
        await own.stop()
      })

      test('a payment that is claimed while it is sent again gives the money or the answer, never both', async () => {
        for (let round = 0; round < 8; round++) {
          const payer = await on.chain.newPayer(1_000_000n)
          rig.server.answerWith(() => new Response('{}', { status: 500 }))
          const signed = await signedRequest(rig, payer, rig.request('/v1/run', run()))
          const failed = await rig.server.fetch(again(signed))
          const claim = failed.headers.get('x-change-claim')
          rig.server.answerWith(() => completion('hello'))
          const [answer, claimed] = await Promise.all([
            rig.server.fetch(again(signed)),
            Bun.sleep(round / 2).then(() => rig.server.post('/api/wallet/claim', { claim })),
          ])
          const paid = (1_000_000n - (await on.chain.unitsOf(payer.address))) * 1_000n
          const cost = answer.status === 200 ? COST : 0n
          const { data } = await jsonOf(claimed)
          // Who is told to come back gets nothing yet.
          const credited = claimed.status === 200 ? Number(paid - cost) / 1e9 : undefined
          expect([round, data?.credited_usd]).toEqual([round, credited])
          expect([round, answer.status === 200 || claimed.status === 200]).toEqual([round, true])
        }
        await rig.check()
      })

      for (const named of [false, true])
        test(`a guest whose call was refused for good claims its payment at once${named ? ', and its key takes the next one' : ''}`, async () => {
          const payer = await on.chain.newPayer(1_000_000n)
          const request = () => rig.request('/v1/run', run(), named ? { 'idempotency-key': 'refused' } : {})
          rig.server.answerWith(() =>
            Response.json({ error: { message: 'No such thing.' } }, { status: 400 }),
          )
          const signed = await signedRequest(rig, payer, request())
          const refused = await rig.server.fetch(again(signed))
          const { error } = await jsonOf(refused)
          expect([refused.status, error.message]).toEqual([
            400,
            expect.stringContaining('or claim it at once'),
          ])
          const paid = 1_000_000n - (await on.chain.unitsOf(payer.address))
          const claim = refused.headers.get('x-change-claim')
          const claimed = await rig.server.post('/api/wallet/claim', { claim })
          expect((await jsonOf(claimed)).data.credited_usd).toBe(Number(paid) / 1e6)
          const twice = await rig.server.post('/api/wallet/claim', { claim })
          expect([twice.status, (await jsonOf(twice)).error]).toEqual([409, 'already_claimed'])
          // The payment buys nothing any more, and another one does.
          const asked = rig.server.asked.length
          rig.server.answerWith(() => completion('hello'))
          const late = await rig.server.fetch(again(signed))
          expect([late.status, (await jsonOf(late)).error]).toEqual([402, 'payment_already_used'])
          expect(rig.server.asked.length).toBe(asked)
          expect((await rig.server.fetch(await signedRequest(rig, payer, request()))).status).toBe(200)
          await rig.check()
        })
    })
})
