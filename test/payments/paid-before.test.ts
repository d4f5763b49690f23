/** A call that was paid for, and whose vendor failed, comes again as clients send it: nobody pays a second time. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { changeRules } from '../../src/control/money/rules.ts'
import type { RulesChange } from '../../src/tenancy/wallet-rules.ts'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { onChain } from './on-chain.ts'
import { decoded, payerV2 } from './payers.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const COST = 60_000n

describe.skipIf(!hasChain)('paid before', () => {
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

      /** A call under a key of its own whose payment was settled and whose vendor failed. */
      const failedOnce = async () => {
        const { id, token } = await rig.server.newKey()
        const payer = await on.chain.newPayer(1_000_000n)
        const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
        const asking = () => rig.request('/v1/chat/completions', chat(), headers)
        rig.server.answerWith(() => new Response('{}', { status: 500 }))
        const signed = await signedRequest(rig, payer, asking())
        const failed = await rig.server.fetch(again(signed))
        expect(failed.status).toBe(503)
        const { transaction } = decoded(failed.headers.get('payment-response'))
        const settles = on.facilitator.asked.settle
        const left = await on.chain.unitsOf(payer.address)
        rig.server.answerWith(() => completion('hello'))
        return {
          asking,
          signed,
          payer,
          /** The answer is there, for the first payment; nothing else was paid or charged. */
          answered: async (response: Response) => {
            expect([response.status, (await jsonOf(response)).choices?.[0].message.content]).toEqual([
              200,
              'hello',
            ])
            expect(decoded(response.headers.get('payment-response')).transaction).toBe(transaction)
            expect([on.facilitator.asked.settle, await on.chain.unitsOf(payer.address)]).toEqual([
              settles,
              left,
            ])
            expect((await rig.server.store.keys.spend(id)).spent).toBe(COST)
            await rig.check()
          },
        }
      }

      test('by the official client, which asks for a quote first', async () => {
        const { payer, asking, answered } = await failedOnce()
        const { pay, sent } = payerV2(payer, rig.server.fetch)
        await answered(await pay(asking()))
        expect(sent).toHaveLength(1)
      })

      test('with another payment, which is left alone', async () => {
        const { payer, signed, answered, asking } = await failedOnce()
        const other = await signedRequest(rig, payer, asking(), (request) => {
          // Quoted under another key, so that there is something to sign.
          const apart = again(request)
          apart.headers.set('idempotency-key', crypto.randomUUID())
          return rig.server.fetch(apart)
        })
        expect(other.headers.get('payment-signature')).not.toBe(signed.headers.get('payment-signature'))
        await answered(await rig.server.fetch(again(other)))
        await answered(await rig.server.fetch(again(signed)))
      })

      test('with the same payment, and once more after the answer', async () => {
        const { signed, answered, asking } = await failedOnce()
        await answered(await rig.server.fetch(again(signed)))
        const repeat = await rig.server.fetch(asking())
        expect([repeat.status, repeat.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
      })

      test('the change is in the wallet when the answer is there', async () => {
        const { asking, answered } = await failedOnce()
        const wallet = await rig.server.balance()
        await answered(await rig.server.fetch(asking()))
        expect(await rig.server.balance()).toBeGreaterThan(wallet)
      })

      describe('a guest under its Idempotency-Key', () => {
        const body = (text = 'hi') => ({
          model: 'mock/small',
          inputs: { messages: [{ role: 'user', content: text }] },
        })
        const guest = async () => {
          rig.server.answerWith(() => completion('hello'))
          const account = await on.chain.newPayer(1_000_000n)
          const name = crypto.randomUUID()
          const asking = (text?: string, path = '/v1/run') =>
            rig.request(path, body(text), { 'idempotency-key': name })
          return { account, asking, left: () => on.chain.unitsOf(account.address) }
        }

        for (const path of ['/v1/run', '/api/idempotent-run'])
          test(`${path}: when the answer was lost the official client gets it again and pays once`, async () => {
            const { account, asking, left } = await guest()
            const { pay } = payerV2(account, rig.server.fetch)
            const first = await pay(asking('hi', path))
            const paid = await left()
            const again = await pay(asking('hi', path))
            expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
            expect(await again.text()).toBe(await first.text())
            for (const name of ['x-change-claim', 'payment-response', 'x-receipt'])
              expect(again.headers.get(name)).toBe(first.headers.get(name) as string)
            expect(await left()).toBe(paid)
          })

        test('when the vendor failed, the next payment is left alone and the first one buys the answer', async () => {
          const { account, asking, left } = await guest()
          const { pay } = payerV2(account, rig.server.fetch)
          rig.server.answerWith(() => new Response('{}', { status: 500 }))
          const failed = await pay(asking())
          expect(failed.status).toBe(503)
          // Who reads only that nothing was charged would sign another payment.
          expect((await jsonOf(failed)).error.message).toContain('send the same request with it again')
          const paid = await left()
          rig.server.answerWith(() => completion('hello'))
          const answer = await pay(asking())
          expect(answer.status).toBe(200)
          for (const name of ['x-change-claim', 'payment-response'])
            expect(answer.headers.get(name)).toBe(failed.headers.get(name) as string)
          expect(await left()).toBe(paid)
        })

        test('another body under the key is a 409 before it pays, and another payer has a key of its own', async () => {
          const { account, asking, left } = await guest()
          expect((await payerV2(account, rig.server.fetch).pay(asking())).status).toBe(200)
          const paid = await left()
          const other = await payerV2(account, rig.server.fetch).pay(asking('ho'))
          expect([other.status, (await jsonOf(other)).error.code]).toEqual([409, 'idempotency_key_reused'])
          expect(await left()).toBe(paid)
          const stranger = await on.chain.newPayer(1_000_000n)
          const theirs = await payerV2(stranger, rig.server.fetch).pay(asking())
          expect([theirs.status, theirs.headers.get('idempotent-replayed')]).toEqual([200, null])
          expect(await on.chain.unitsOf(stranger.address)).toBeLessThan(1_000_000n)
        })
      })
    })

  for (const [by, named] of [
    ['its payment', {}],
    ['its Idempotency-Key', { 'idempotency-key': 'one' }],
  ] as const)
    test(`a call that comes again by ${by} asks the vendor within the rate of its key`, async () => {
      // The ledger's minute does not end.
      const now = Date.now()
      const rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain), { now: () => now })
      const { id, token } = await rig.server.newKey({ rpm: 2 })
      const payer = await on.chain.newPayer(1_000_000n)
      const asking = () =>
        rig.request('/v1/chat/completions', chat(), { authorization: `Bearer ${token}`, ...named })
      const signed = await signedRequest(rig, payer, asking())
      const repeat = () => rig.server.fetch(by === 'its payment' ? again(signed) : asking())
      rig.server.answerWith(() => new Response('{}', { status: 400 }))
      const settles = on.facilitator.asked.settle
      expect((await rig.server.fetch(again(signed))).status).toBe(400)
      expect((await repeat()).status).toBe(400)
      for (let tries = 0; tries < 3; tries++) {
        const refused = await repeat()
        const { error } = await jsonOf(refused)
        expect([refused.status, error.limit]).toEqual([429, 'rpm_limit'])
        if (by === 'its payment') expect(error.message).toContain('The payment is kept')
      }
      expect(rig.server.asked).toHaveLength(2)
      rig.server.answerWith(() => completion('hello'))
      await rig.server.gateway.book.changeKey(id, { rpm: 3, byCreator: true }, byTest)
      expect((await repeat()).status).toBe(200)
      expect(on.facilitator.asked.settle).toBe(settles + 1)
      await rig.check()
      await rig.server.stop()
    })

  const late: readonly [RulesChange, RulesChange, string][] = [
    [{ blockedModels: ['mock/small'] }, { blockedModels: null }, 'model_not_allowed'],
    [
      { guardrails: [{ detect: ['email'], action: 'block', on: 'input' }] },
      { guardrails: null },
      'not_guarded',
    ],
    [{ requires: ['zdr'] }, { requires: null }, 'conditions_not_met'],
  ]
  test.each(late)(
    'rules of the time when its payment is settled bind a call, and the payment is kept: %j',
    async (set, unset, code) => {
      const rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain))
      const { server } = rig
      const payer = await on.chain.newPayer(1_000_000n)
      const headers = { authorization: `Bearer ${(await server.newKey()).token}` }
      const signed = await signedRequest(rig, payer, rig.request('/v1/chat/completions', chat(), headers))
      const change = (rules: RulesChange) =>
        changeRules(server.gateway, { walletId: server.wallet, change: rules, by: byTest })
      on.facilitator.meet('settle', async () => void (await change(set)))
      const refused = await server.fetch(again(signed))
      const { error } = await jsonOf(refused)
      expect([error.code, server.asked.length]).toEqual([code, 0])
      expect(error.message).toContain('The payment is kept')
      await change(unset)
      expect((await server.fetch(again(signed))).status).toBe(200)
      await rig.check()
      await server.stop()
    },
  )
})
