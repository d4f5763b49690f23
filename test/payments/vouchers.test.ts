/** The scheme `batch-settlement`, end to end: deposited once, a voucher a call, charged what it cost, claimed together. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import { StoreFault } from '../../src/store/faults.ts'
import { chat, completion, jsonOf, streamEvents, streaming, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { channelAt, claimedFor, installChannels, nameOf, newPayer, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { decoded } from './payers.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const run = (more: object = {}) => ({
  model: 'mock/small',
  inputs: { messages: [{ role: 'user', content: 'hi' }], ...more },
})
/** Ten tokens in and five out, at prices that do not come out in whole units of the token. */
const PRICE = { rates: { input: 1_234_567, output: 9_876_543 }, tiers: [], version: 'test-1' }
const UNITS = 62n

const channels: X402Options['channels'] = {
  withdrawSeconds: WITHDRAW_SECONDS,
  claimSum: 1_000_000n * USD,
  claimSeconds: 900,
}

describe.skipIf(!hasChain)('x402 vouchers', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      beforeAll(async () => {
        database = await engine.fresh()
        const options = optionsFor(on.facilitator, on.chain, { channels })
        rig = await startRig(on.chain, options, {
          url: database.url,
          models: [testModel('small', { price: PRICE })],
        })
        await rig.server.x402?.round()
      })
      afterAll(async () => {
        await rig.server.stop()
        await database.stop()
      })
      const payer = (units?: bigint) => newPayer(on.chain, rig.server.fetch, units)
      const ledger = () => rig.server.store.ledger.balance('x402')
      const check = async () => {
        const receiver = rig.options.offers[0]?.payTo as `0x${string}`
        expect(await ledger()).toBe(-(await claimedFor(on.chain, receiver)) * 1_000n)
        expect(await brokenLaws(rig.server.store)).toEqual([])
      }
      const chargedOf = (response: Response) =>
        decoded(response.headers.get('payment-response')).extra.chargedAmount

      test('the official client deposits once, and each call is charged what it cost', async () => {
        const { pay, sent, account } = await payer()
        const settles = on.facilitator.asked.settle
        for (const [path, body] of [
          ['/v1/run', run()],
          ['/v1/chat/completions', chat()],
          ['/v1/run', run({ temperature: 1 })],
        ] as const) {
          const response = await pay(rig.request(path, body))
          expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')])
          expect(chargedOf(response)).toBe(String(UNITS))
        }
        expect(sent.map(({ payment }) => payment.payload.type)).toEqual(['deposit', 'voucher', 'voucher'])
        expect(on.facilitator.asked.settle).toBe(settles + 1)
        const [{ payment }] = sent as [(typeof sent)[0]]
        const deposit = BigInt(payment.payload.deposit.amount)
        expect(await on.chain.unitsOf(account.address)).toBe(1_000_000n - deposit)
        await check()
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel).toMatchObject({
          charged: 3n * UNITS * 1_000n,
          claimed: 0n,
          balance: deposit * 1_000n,
        })
        expect(await channelAt(on.chain, payment.payload.voucher.channelId)).toEqual({
          balance: deposit,
          claimed: 0n,
        })
      })

      test('after a stream, whose headers cannot say what it cost, the next voucher is corrected', async () => {
        const { pay, sent } = await payer()
        rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
        const body = chat({ stream: true, stream_options: { include_usage: true } })
        const response = await pay(rig.request('/v1/chat/completions', body))
        expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('[DONE]')])
        const { extra } = decoded(response.headers.get('payment-response'))
        expect(extra.chargedAmount).toBeUndefined()
        rig.server.answerWith(() => completion('hello'))
        const next = await pay(rig.request('/v1/run', run()))
        expect([next.status, chargedOf(next)]).toEqual([200, String(UNITS)])
        const vouchers = sent.map(({ payment }) => payment.payload)
        expect(vouchers.map(({ type }) => type)).toEqual(['deposit', 'voucher', 'voucher'])
        const [, stale, right] = vouchers.map(({ voucher }) => BigInt(voucher.maxClaimableAmount))
        expect((right ?? 0n) - (stale ?? 0n)).toBe(UNITS)
        await check()
      })

      test('who signs the same voucher for another request is corrected too', async () => {
        const { pay, sent } = await payer()
        const body = (seed: number) => chat({ stream: true, seed })
        for (const seed of [1, 2, 3]) {
          rig.server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
          const response = await pay(rig.request('/v1/chat/completions', body(seed)))
          expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('[DONE]')])
        }
        rig.server.answerWith(() => completion('hello'))
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel?.charged).toBe(3n * UNITS * 1_000n)
        await check()
      })

      test('an answer is given again for the same voucher, and charged once', async () => {
        const { pay, sent } = await payer()
        const first = await pay(rig.request('/v1/run', run()))
        const text = await first.text()
        const asked = rig.server.asked.length
        const again = await rig.server.fetch(sent[0]?.request.clone() as Request)
        expect([again.status, await again.text(), chargedOf(again)]).toEqual([200, text, String(UNITS)])
        expect(rig.server.asked).toHaveLength(asked)
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel?.charged).toBe(UNITS * 1_000n)
        await check()
      })

      test('an agent spends its budget, tops up, and stops where its units end', async () => {
        const { pay, sent } = await payer(9_000n)
        let answered = 0
        for (let calls = 0; calls < 200; calls++) {
          const response = await pay(rig.request('/v1/run', run({ seed: calls }))).catch(() => undefined)
          if (response?.status !== 200) break
          expect(chargedOf(response)).toBe(String(UNITS))
          answered++
        }
        const deposits = sent.filter(({ payment }) => payment.payload.type === 'deposit')
        expect(deposits.length).toBeGreaterThan(1)
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel?.charged).toBe(BigInt(answered) * UNITS * 1_000n)
        expect((channel?.charged ?? 0n) <= (channel?.balance ?? 0n)).toBe(true)
        await check()
      })

      test('when the vendor fails nothing is charged, and the voucher buys the answer later', async () => {
        const { pay, sent } = await payer()
        rig.server.answerWith(() => new Response('{}', { status: 500 }))
        expect((await pay(rig.request('/v1/run', run()))).status).toBe(503)
        rig.server.answerWith(() => completion('hello'))
        const settles = on.facilitator.asked.settle
        const again = await rig.server.fetch(sent[0]?.request.clone() as Request)
        expect([again.status, chargedOf(again)]).toEqual([200, String(UNITS)])
        expect(on.facilitator.asked.settle).toBe(settles)
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel?.charged).toBe(UNITS * 1_000n)
        await check()
      })

      test('a ledger that fails while a voucher is taken is waited for, like that of every call', async () => {
        const { channels } = rig.server.store
        let { pay } = await payer()
        // A deposit asks for its channel and is taken; vouchers after it are taken with the claim of their answer, if that has a name of
        // the caller's own.
        for (const [asked, done] of [
          ['channel', false],
          ['beginVoucher', false],
          ['beginVoucher', true],
          ['takeVoucher', false],
          ['beginVoucher', false],
        ] as const) {
          if (asked === 'takeVoucher') ({ pay } = await payer())
          const answers: (...given: never[]) => Promise<unknown> = channels[asked]
          let failed = false
          const fails = async (...given: never[]) => {
            Object.assign(channels, { [asked]: answers })
            failed = true
            if (done) await answers(...given)
            throw new StoreFault('the connection was lost')
          }
          Object.assign(channels, { [asked]: fails })
          const name = { 'idempotency-key': crypto.randomUUID() }
          const response = await pay(rig.request('/v1/run', run(), name))
          const expected = [asked, true, 200, String(UNITS)]
          expect([asked, failed, response.status, chargedOf(response)]).toEqual(expected)
        }
        await check()
      })

      for (const mishap of ['lost', 'fault', 'garbage'] as const)
        test(`a deposit whose answer is ${mishap} is brought once`, async () => {
          const { pay, sent, account } = await payer()
          on.facilitator.meet('settle', mishap)
          const response = await pay(rig.request('/v1/run', run()))
          expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'payment_unconfirmed'])
          const again = await rig.server.fetch(sent[0]?.request.clone() as Request)
          expect([again.status, chargedOf(again)]).toEqual([200, String(UNITS)])
          const deposit = BigInt(sent[0]?.payment.payload.deposit.amount)
          expect(await on.chain.unitsOf(account.address)).toBe(1_000_000n - deposit)
          await check()
        })
    })
})
