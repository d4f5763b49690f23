/** Payments while TURNPIKE_SECRET changes: what was quoted or paid under the old secret is good, and paid once. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chat, completion, hashOf, jsonOf } from '../server/harness.ts'
import { engines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { signedByMpp } from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { decoded } from './payers.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const old = hashOf('old')
const failing = () => new Response('{}', { status: 500 })

describe.skipIf(!hasChain)('payments while the secret changes', () => {
  const on = onChain()

  for (const engine of engines.filter(({ lasting }) => lasting))
    describe(engine.name, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      let options: Rig['options']
      beforeEach(async () => {
        database = await engine.fresh()
        options = optionsFor(on.facilitator, on.chain)
        rig = await startRig(on.chain, options, { url: database.url, hash: old })
      })
      afterEach(async () => {
        await rig.check()
        await rig.server.stop()
        await database.stop()
      })

      /** The server starts again with another secret, and knows the old one. */
      const move = async () => {
        await rig.server.stop()
        rig = await startRig(on.chain, options, { url: database.url, hash: hashOf('new', old) })
        rig.server.answerWith(() => completion('hello'))
      }
      const asking = (headers: Record<string, string> = {}) =>
        rig.request('/v1/chat/completions', chat(), headers)
      const answered = async (response: Response) =>
        expect([response.status, (await jsonOf(response)).choices?.[0].message.content]).toEqual([
          200,
          'hello',
        ])

      test('a quote of before is paid', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedRequest(rig, payer, asking())
        await move()
        const settles = on.facilitator.asked.settle
        await answered(await rig.server.fetch(again(signed)))
        await answered(await rig.server.fetch(again(signed)))
        expect(on.facilitator.asked.settle).toBe(settles + 1)
        // It still pays for its own request alone.
        const another = rig.request('/v1/chat/completions', chat({ max_tokens: 7 }))
        const header = signed.headers.get('payment-signature') ?? ''
        another.headers.set('payment-signature', header)
        expect((await rig.server.fetch(another)).status).toBe(402)
      })

      test('a challenge of before is answered', async () => {
        const request = asking()
        request.headers.delete('x-payment-protocol')
        const payer = await on.chain.newPayer(1_000_000n)
        const signed = await signedByMpp(payer, rig.server.fetch, request)
        await move()
        const settles = on.facilitator.asked.settle
        await answered(await rig.server.fetch(again(signed)))
        await answered(await rig.server.fetch(again(signed)))
        expect(on.facilitator.asked.settle).toBe(settles + 1)
      })

      test('a payment that was taken before pays for its call, and is not taken again', async () => {
        const payer = await on.chain.newPayer(1_000_000n)
        rig.server.answerWith(failing)
        const signed = await signedRequest(rig, payer, asking())
        const failed = await rig.server.fetch(again(signed))
        expect(failed.status).toBe(503)
        const { transaction } = decoded(failed.headers.get('payment-response'))
        await move()
        const settles = on.facilitator.asked.settle
        const response = await rig.server.fetch(again(signed))
        expect(decoded(response.headers.get('payment-response')).transaction).toBe(transaction)
        await answered(response)
        expect(on.facilitator.asked.settle).toBe(settles)
      })

      test('a call that was paid for before under its Idempotency-Key is not paid for again', async () => {
        const { token } = await rig.server.newKey()
        const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
        const payer = await on.chain.newPayer(1_000_000n)
        rig.server.answerWith(failing)
        const signed = await signedRequest(rig, payer, asking(headers))
        expect((await rig.server.fetch(again(signed))).status).toBe(503)
        await move()
        const settles = on.facilitator.asked.settle
        await answered(await rig.server.fetch(asking(headers)))
        expect(on.facilitator.asked.settle).toBe(settles)
      })
    })
})
