/** The HTTP scheme `Payment` (MPP), end to end and offline: the official client pays on a chain of our own. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { recompute } from '../../src/receipts/recompute.ts'
import { chat, completion, eventsOf, jsonOf, streamEvents, streaming } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { mppPayer, receiptIn } from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { decoded, payerV2, payV1 } from './payers.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

/** 10 tokens in at 1 000 nano-USD and 5 out at 10 000. */
const COST = 60_000n

describe.skipIf(!hasChain)('MPP', () => {
  const on = onChain()

  for (const engine of serverEngines)
    describe(engine.name, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
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

      const plain = (path: string, body: object, headers: Record<string, string> = {}) => {
        const request = rig.request(path, body, headers)
        request.headers.delete('x-payment-protocol')
        return request
      }

      test('the official client pays a chat, is charged what it cost, and the change is claimed once', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const { pay, sent } = mppPayer(payer, rig.server.fetch)
        const before = await rig.received()
        const response = await pay(plain('/v1/chat/completions', chat()))
        expect([response.status, sent.length]).toEqual([200, 2])
        expect(await response.text()).toContain('hello')
        const paid = (await rig.received()) - before
        expect(await on.chain.unitsOf(payer.address)).toBe(1_000_000n - paid)
        expect(receiptIn(response)).toMatchObject({ status: 'success', method: 'evm' })
        expect(response.headers.get('cache-control')).toContain('private')
        const receipt = response.headers.get('x-receipt') ?? ''
        const claims = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())
        expect(recompute(claims)).toBe(COST)
        expect(claims.payment).toMatchObject({ mode: 'x402', protocol: 'Payment', network: 'eip155:84532' })
        const claim = response.headers.get('x-change-claim')
        const claimed = await jsonOf(await rig.server.post('/api/wallet/claim', { claim }))
        expect(claimed.data.credited_usd).toBe(Number(paid * 1_000n - COST) / 1e9)
        expect((await rig.server.post('/api/wallet/claim', { claim })).status).toBe(409)
        await rig.check()
      })

      test('a stream is paid before its first byte', async () => {
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
        const payer = await on.chain.newPayer(1_000_000n)
        const { pay } = mppPayer(payer, rig.server.fetch)
        const body = chat({ stream: true, stream_options: { include_usage: true } })
        const response = await pay(plain('/v1/chat/completions', body))
        expect([response.status, receiptIn(response)?.status]).toEqual([200, 'success'])
        expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]')
        rig.server.answerWith(() => completion('hello'))
        await rig.check()
      })

      test('one 402 asks every payer for the same price until the same time', async () => {
        const due = await rig.server.fetch(plain('/v1/chat/completions', chat()))
        expect(due.status).toBe(402)
        const body = await jsonOf(due)
        const v2 = decoded(due.headers.get('payment-required'))
        const header = due.headers.get('www-authenticate') ?? ''
        const member = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(header)?.[1] ?? ''
        const asked = JSON.parse(Buffer.from(member('request'), 'base64url').toString())
        expect([v2.accepts[0].amount, asked.amount]).toEqual([
          body.accepts[0].maxAmountRequired,
          body.accepts[0].maxAmountRequired,
        ])
        expect(member('expires')).toBe(body.quote.expires_at)
        expect(body).toMatchObject({
          type: 'https://paymentauth.org/problems/payment-required',
          title: 'Payment Required',
          status: 402,
          x402Version: 1,
        })
        expect(body.message).toContain('Authorization: Bearer <key>')
        const v1Payer = await on.chain.newPayer(1_000_000n)
        const v2Payer = await on.chain.newPayer(1_000_000n)
        const mpp = await on.chain.newPayer(1_000_000n)
        const before = await rig.received()
        const one = plain('/v1/chat/completions', chat(), {
          'x-payment': await payV1(v1Payer, body.accepts[0]),
        })
        const answers = [
          await rig.server.fetch(one),
          await payerV2(v2Payer, rig.server.fetch).pay(plain('/v1/chat/completions', chat())),
          await mppPayer(mpp, rig.server.fetch).pay(plain('/v1/chat/completions', chat())),
        ]
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
        expect(answers.map(({ headers }) => headers.get('x-cost-usd'))).toEqual([
          '0.00006',
          '0.00006',
          '0.00006',
        ])
        expect((await rig.received()) - before).toBe(3n * BigInt(asked.amount))
        for (const answer of answers) await answer.text()
        await rig.check()
      })
    })
})
