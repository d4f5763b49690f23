/** The scheme `upto`, end to end: authorised before the call, settled for its charge, and only then answered. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decimalFromNano } from '../../src/core/money.ts'
import { recompute } from '../../src/receipts/recompute.ts'
import {
  chat,
  completion,
  eventsOf,
  hashOf,
  jsonOf,
  METRICS_TOKEN,
  streamEvents,
  streaming,
  testModel,
  USD,
} from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { accountOf, hasChain } from './chain.ts'
import { onChain } from './on-chain.ts'
import { decoded, encoded, payerV2 } from './payers.ts'
import { installPermit2, move, newUptoPayer, takeBack } from './permit2.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const run = (more: object = {}) => ({
  model: 'mock/small',
  inputs: { messages: [{ role: 'user', content: 'hi' }], ...more },
})

/** Ten tokens in and five out, at prices that do not come out in whole units of the token. */
const PRICE = { rates: { input: 1_234_567, output: 9_876_543 }, tiers: [], version: 'test-1' }
const COST = 61_729n
const UNITS = 62n

describe.skipIf(!hasChain)('x402 upto', () => {
  const on = onChain(installPermit2)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      const start = async (url: string, more: Parameters<typeof optionsFor>[2] = {}): Promise<Rig> => {
        const options = optionsFor(on.facilitator, on.chain, { upto: { most: USD }, ...more })
        const models = [testModel('small', { price: PRICE }), testModel('dear')]
        const rig = await startRig(on.chain, options, { url, models })
        await rig.server.x402?.round()
        return rig
      }
      beforeAll(async () => {
        database = await engine.fresh()
        rig = await start(database.url)
      })
      afterAll(async () => {
        await rig.check()
        await rig.server.stop()
        await database.stop()
      })

      const buyer = () => newUptoPayer(on.chain, 1_000_000n)
      const sign = (payer: Awaited<ReturnType<typeof buyer>>, request: Request, at = rig) =>
        signedRequest(at, payer, request, at.server.fetch, 'both')
      const nonceOf = (signed: Request): bigint =>
        BigInt(decoded(signed.headers.get('payment-signature')).payload.permit2Authorization.nonce)
      const paidBy = async (payer: { address: `0x${string}` }) =>
        1_000_000n - (await on.chain.unitsOf(payer.address))
      /** What the metrics say that calls of /v1/run were charged. */
      const chargesCounted = async (): Promise<number> => {
        const text = await (await rig.server.get('/metrics', METRICS_TOKEN)).text()
        const line = text.split('\n').find((one) => /^turnpike_charge_usd_total.*"\/v1\/run"/.test(one))
        return Number(line?.split(' ').at(-1) ?? 0)
      }
      const codeOf = async (response: Response) => {
        const { error } = await jsonOf(response)
        return [response.status, error.code ?? error]
      }

      for (const [path, body] of [
        ['/v1/run', run()],
        ['/v1/chat/completions', chat()],
      ] as const)
        test(`the official client pays ${path} for exactly what it cost`, async () => {
          const payer = await buyer()
          const [loss, revenue] = [
            await rig.server.store.ledger.balance('loss'),
            await rig.server.store.ledger.balance('revenue'),
          ]
          const { pay, sent } = payerV2(payer, rig.server.fetch, 'both')
          const response = await pay(rig.request(path, body))
          expect(response.status).toBe(200)
          expect(await response.text()).toContain('hello')
          const signed = decoded(sent[1]?.headers.get('payment-signature') ?? '')
          expect(signed.accepted.scheme).toBe('upto')
          expect(BigInt(signed.accepted.amount)).toBeGreaterThan(UNITS)
          const settlement = decoded(response.headers.get('payment-response'))
          expect(settlement).toMatchObject({ success: true, amount: String(UNITS), network: 'eip155:84532' })
          expect(response.headers.get('x-change-claim')).toBeNull()
          expect(await paidBy(payer)).toBe(UNITS)
          await rig.check()
          // The house pays what is less than a unit, and nothing is left over.
          expect(await rig.server.store.ledger.balance('revenue')).toBe(revenue + UNITS * 1_000n)
          expect(await rig.server.store.ledger.balance('loss')).toBe(loss)
          const account = rig.server.x402?.accountOf(paymentIdOf(signed)) ?? ''
          expect(await rig.server.store.ledger.balance(account)).toBe(0n)

          const receipt = response.headers.get('x-receipt') ?? ''
          const claims = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
          expect(claims.payment).toEqual({
            mode: 'x402',
            scheme: 'upto',
            network: 'eip155:84532',
            asset: signed.accepted.asset.toLowerCase(),
            payer: payer.address.toLowerCase(),
            id: paymentIdOf(signed),
            authorized_usd: decimalFromNano(BigInt(signed.accepted.amount) * 1_000n),
          })
          expect(recompute(claims)).toBe(COST)
          const verdict = await rig.server.post('/api/receipts/verify', { receipt })
          expect((await jsonOf(verdict)).valid).toBe(true)
          const claimed = await rig.server.post('/api/wallet/claim', { receipt })
          expect(claimed.status).toBe(404)
        })

      const paymentIdOf = (signed: any): string => {
        const { from, nonce } = signed.payload.permit2Authorization
        return `eip155:84532:${signed.accepted.asset}:${from}:${nonce}`.toLowerCase()
      }

      test('a stream ends only when it is paid', async () => {
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
        const payer = await buyer()
        const body = chat({ stream: true, stream_options: { include_usage: true } })
        const signed = await sign(payer, rig.request('/v1/chat/completions', body))
        let text = ''
        const seen: string[] = []
        on.facilitator.meet('settle', async () => {
          await Bun.sleep(50)
          seen.push(text)
        })
        const response = await rig.server.fetch(again(signed))
        expect(response.status).toBe(200)
        const decoder = new TextDecoder()
        for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
          text += decoder.decode(piece)
        expect(seen).toHaveLength(1)
        expect(seen[0]).toContain('hel')
        expect(seen[0]).not.toContain('[DONE]')
        expect(eventsOf(text).at(-1)).toBe('[DONE]')
        expect(await paidBy(payer)).toBe(UNITS)
        const settles = on.facilitator.asked.settle
        const repeat = await rig.server.fetch(again(signed))
        expect([repeat.status, repeat.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
        expect(decoded(repeat.headers.get('payment-response'))).toMatchObject({ success: true, amount: '62' })
        expect(await repeat.text()).toBe(text)
        expect(on.facilitator.asked.settle).toBe(settles)
        rig.server.answerWith(() => completion('hello'))
        await rig.check()
      })

      test('one payment pays for one request, once, however many copies come', async () => {
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/run', run()))
        const payment = signed.headers.get('payment-signature') ?? ''
        const other = () => rig.request('/v1/run', run({ temperature: 1 }), { 'payment-signature': payment })
        expect(await codeOf(await rig.server.fetch(other()))).toEqual([402, 'quote_mismatch'])
        const asked = rig.server.asked.length
        const answers = await Promise.all(Array.from({ length: 6 }, () => rig.server.fetch(again(signed))))
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
        expect(rig.server.asked.length - asked).toBe(1)
        expect(await paidBy(payer)).toBe(UNITS)
        expect(await codeOf(await rig.server.fetch(other()))).toEqual([402, 'payment_already_used'])
        await rig.check()
      })

      test('when the vendor fails nothing is taken, and the same payment buys the answer later', async () => {
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/run', run()))
        rig.server.answerWith(() => new Response('{}', { status: 500 }))
        expect((await rig.server.fetch(again(signed))).status).toBe(503)
        rig.server.answerWith(() => completion('hello'))
        expect(await paidBy(payer)).toBe(0n)
        await rig.check()
        expect((await rig.server.fetch(again(signed))).status).toBe(200)
        expect(await paidBy(payer)).toBe(UNITS)
        await rig.check()
      })

      test('a payer who has not let Permit2 move its money is told so, before the vendor is asked', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const asked = rig.server.asked.length
        const response = await rig.server.fetch(await sign(payer, rig.request('/v1/run', run())))
        expect(await codeOf(response)).toEqual([402, 'permit2_allowance_required'])
        expect(rig.server.asked).toHaveLength(asked)
      })

      for (const mishap of ['lost', 'deaf', 'garbage', 'fault'] as const)
        test(`a settlement whose answer is ${mishap}: the answer waits for the money, which is taken once`, async () => {
          const payer = await buyer()
          const signed = await sign(payer, rig.request('/v1/run', run()))
          const asked = rig.server.asked.length
          on.facilitator.meet('settle', mishap)
          const response = await rig.server.fetch(again(signed))
          if (mishap === 'lost') expect(response.status).toBe(200)
          else expect(await codeOf(response)).toEqual([503, 'payment_unconfirmed'])
          on.facilitator.calm()
          const late = await rig.server.fetch(again(signed))
          expect(late.status).toBe(200)
          expect(await late.text()).toContain('hello')
          expect(await paidBy(payer)).toBe(UNITS)
          expect(rig.server.asked.length - asked).toBe(1)
          await rig.check()
        })

      test('a stream whose settlement is not known ends with an error, and whole when it is sent again', async () => {
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/chat/completions', chat({ stream: true })))
        on.facilitator.meet('settle', 'fault')
        const text = await (await rig.server.fetch(again(signed))).text()
        expect(text).toContain('payment_unconfirmed')
        expect(text).not.toContain('[DONE]')
        const late = await (await rig.server.fetch(again(signed))).text()
        expect(eventsOf(late).at(-1)).toBe('[DONE]')
        expect(await paidBy(payer)).toBe(UNITS)
        rig.server.answerWith(() => completion('hello'))
        await rig.check()
      })

      test('a payer whose money is away for a while gets its answer when it is back', async () => {
        const [payer, elsewhere] = [await buyer(), accountOf(50).address]
        const signed = await sign(payer, rig.request('/v1/run', run()))
        rig.server.answerWith(async () => {
          await move(on.chain, payer, elsewhere, 1_000_000n)
          return completion('hello')
        })
        expect(await codeOf(await rig.server.fetch(again(signed)))).toEqual([503, 'payment_unconfirmed'])
        rig.server.answerWith(() => completion('hello'))
        // The answer is stored by now; neither a caller who asks for it nor one who joins gets it.
        for (const early of await Promise.all([again(signed), again(signed)].map(rig.server.fetch)))
          expect(await codeOf(early)).toEqual([503, 'payment_unconfirmed'])
        await on.chain.client.setBalance({ address: elsewhere, value: 10n ** 18n })
        await move(on.chain, accountOf(50), payer.address, 1_000_000n)
        expect((await rig.server.fetch(again(signed))).status).toBe(200)
        expect(await paidBy(payer)).toBe(UNITS)
        await rig.check()
      })

      test('a payer who takes its word back gets no answer, and the house bears what the call cost', async () => {
        const payer = await buyer()
        const { token } = await rig.server.newKey()
        const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'once' }
        const asking = () => rig.request('/v1/run', run(), headers)
        const signed = await sign(payer, asking())
        const loss = await rig.server.store.ledger.balance('loss')
        rig.server.answerWith(async () => {
          await takeBack(on.chain, payer, nonceOf(signed))
          return completion('hello')
        })
        const counted = await chargesCounted()
        const response = await rig.server.fetch(again(signed))
        expect(decoded(response.headers.get('payment-response')).success).toBe(false)
        expect(await codeOf(response)).toEqual([402, 'payment_failed'])
        // The ledger has the charge, and so have the metrics.
        expect(await chargesCounted()).toBeCloseTo(counted + Number(COST) / 1e9, 9)
        rig.server.answerWith(() => completion('hello'))
        expect(await rig.server.store.ledger.balance('loss')).toBe(loss - COST)
        // Neither the payment nor the key's own Idempotency-Key gets what is stored.
        for (const repeat of [again(signed), asking()])
          expect(await codeOf(await rig.server.fetch(repeat))).toEqual([402, 'payment_failed'])
        // From now on this payer pays before its calls.
        const next = await rig.server.fetch(await sign(payer, rig.request('/v1/run', run())))
        expect(await codeOf(next)).toEqual([402, 'too_much_authorized'])
        expect((await payerV2(payer, rig.server.fetch).pay(rig.request('/v1/run', run()))).status).toBe(200)
        await rig.check()
      })

      test('with a key its caps and its sub-wallet count the charge, and its wallet gets nothing', async () => {
        const { id, token } = await rig.server.newKey({ spendCap: USD }, { canManage: true })
        const made = await rig.server.post('/api/wallet/sub-wallets', { budget_usd: 1 }, {}, token)
        const sub = (await jsonOf(made)).id
        const wallet = await rig.server.balance()
        const payer = await buyer()
        const headers = { authorization: `Bearer ${token}`, 'x-sub-wallet': sub }
        const response = await payerV2(payer, rig.server.fetch, 'both').pay(
          rig.request('/v1/run', run(), headers),
        )
        expect(response.status).toBe(200)
        expect(await rig.server.balance()).toBe(wallet)
        expect(await rig.server.store.keys.spend(id)).toMatchObject({ spent: COST, held: 0n, requests: 1 })
        const shown = await jsonOf(await rig.server.get(`/api/wallet/sub-wallets/${sub}`, token))
        expect([shown.spent_usd, shown.held_usd]).toEqual([Number(COST) / 1e9, 0])
        await rig.check()
      })

      test('what a payer may owe at once is bounded, and a dearer call is offered for exact only', async () => {
        const fresh = await engine.fresh()
        const bounded = await start(fresh.url, { upto: { most: 3_000_000n } })
        const schemesOf = async (body: object) =>
          decoded((await bounded.quote('/v1/run', body)).headers.get('payment-required')).accepts.map(
            ({ scheme }: { scheme: string }) => scheme,
          )
        expect(await schemesOf(run({ max_tokens: 100 }))).toEqual(['upto', 'exact'])
        expect(await schemesOf(run({ max_tokens: 1_000 }))).toEqual(['exact'])
        const payer = await buyer()
        const held = Promise.withResolvers<void>()
        const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        let calls = 0
        bounded.server.answerWith(async () => {
          begun[calls++]?.resolve()
          await held.promise
          return completion('hello')
        })
        const buy = async () =>
          bounded.server.fetch(
            await sign(payer, bounded.request('/v1/run', run({ max_tokens: 100 })), bounded),
          )
        const open = [buy(), buy()]
        await Promise.all(begun.map(({ promise }) => promise))
        expect(await codeOf(await buy())).toEqual([402, 'too_much_authorized'])
        held.resolve()
        for (const answer of await Promise.all(open)) expect(answer.status).toBe(200)
        expect((await buy()).status).toBe(200)
        expect(await paidBy(payer)).toBe(3n * UNITS)
        await bounded.check()
        await bounded.server.stop()
        await fresh.stop()
      })

      test('what is not written as Permit2 has it is 400, and what pays somebody else a quote', async () => {
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/run', run()))
        const payment = decoded(signed.headers.get('payment-signature'))
        const it = payment.payload.permit2Authorization
        const stranger = accountOf(60).address
        const send = (change: object, more: object = {}) =>
          rig.server.fetch(
            rig.request('/v1/run', run(), {
              'payment-signature': encoded({
                ...payment,
                payload: { ...payment.payload, permit2Authorization: { ...it, ...change }, ...more },
              }),
            }),
          )
        const verified = on.facilitator.asked.verify
        for (const change of [
          { from: '0x1' },
          { nonce: '01' },
          { nonce: '0x1' },
          { nonce: '-1' },
          { deadline: 'soon' },
          { permitted: { ...it.permitted, amount: '1e3' } },
          { permitted: null },
          { witness: { ...it.witness, facilitator: 'none' } },
        ])
          expect([change, (await send(change)).status]).toEqual([change, 400])
        for (const change of [
          { witness: { ...it.witness, to: stranger } },
          { permitted: { ...it.permitted, token: stranger } },
          { permitted: { ...it.permitted, amount: '1' } },
        ])
          expect([change, await codeOf(await send(change))]).toEqual([change, [402, 'quote_mismatch']])
        // Too short to be settled after the longest call.
        const soon = String(Math.floor(Date.now() / 1000) + 60)
        expect(await codeOf(await send({ deadline: soon }))).toEqual([402, 'payment_expired'])
        expect(on.facilitator.asked.verify).toBe(verified)
        // What the payer signed is checked by the facilitator.
        expect((await send({}, { signature: `0x${'12'.repeat(65)}` })).status).toBe(402)
        expect(await paidBy(payer)).toBe(0n)
      })

      test('one for another chain, server or path', async () => {
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/run', run()))
        const payment = decoded(signed.headers.get('payment-signature'))
        const elsewhere = { ...payment, accepted: { ...payment.accepted, network: 'eip155:8453' } }
        const paying = (value: object, path = '/v1/run', body: object = run()) =>
          rig.request(path, body, { 'payment-signature': encoded(value) })
        const setup = { models: [testModel('small', { price: PRICE })], hash: hashOf('another') }
        const other = await startRig(on.chain, rig.options, setup)
        await other.server.x402?.round()
        const foreign = await sign(payer, other.request('/v1/run', run()), other)
        await other.server.stop()
        const verified = on.facilitator.asked.verify
        for (const request of [
          paying(elsewhere),
          paying(payment, '/v1/chat/completions', chat({ max_tokens: 50 })),
          foreign,
        ])
          expect(await codeOf(await rig.server.fetch(request))).toEqual([402, 'quote_mismatch'])
        expect(on.facilitator.asked.verify).toBe(verified)
        expect(await paidBy(payer)).toBe(0n)
        expect((await rig.server.fetch(signed)).status).toBe(200)
      })

      test('it is off unless the operator names it', async () => {
        const plain = await startRig(on.chain, { ...rig.options, upto: undefined } as never)
        await plain.server.x402?.round()
        const quote = decoded((await plain.quote('/v1/run', run())).headers.get('payment-required'))
        expect(quote.accepts.map(({ scheme }: { scheme: string }) => scheme)).toEqual(['exact'])
        const payer = await buyer()
        const signed = await sign(payer, rig.request('/v1/run', run()))
        expect(await codeOf(await plain.server.fetch(signed))).toEqual([402, 'quote_mismatch'])
        await plain.server.stop()
      })
    })
})
