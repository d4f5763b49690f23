/** Vouchers that are not what they seem: none buys an answer, takes a deposit, or moves the books. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CHANNELS } from '../../src/payment/x402/voucher.ts'
import { completion, hashOf, jsonOf, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { accountOf, hasChain } from './chain.ts'
import { installChannels, nameOf, newPayer, payerOf, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { encoded } from './payers.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const run = (more: object = {}) => ({
  model: 'mock/small',
  inputs: { messages: [{ role: 'user', content: 'hi' }], ...more },
})
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const code = (name: string) => `invalid_batch_settlement_evm_${name}`

describe.skipIf(!hasChain)('attacks with x402 vouchers', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      beforeAll(async () => {
        database = await engine.fresh()
        const channels = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }
        rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain, { channels }), {
          url: database.url,
          models: [testModel('small')],
        })
        await rig.server.x402?.round()
      })
      afterAll(async () => {
        expect(await brokenLaws(rig.server.store)).toEqual([])
        await rig.server.stop()
        await database.stop()
      })

      /** A payer with a channel that was charged once, and a signed voucher that was not sent. */
      const victim = async () => {
        const one = await newPayer(on.chain, rig.server.fetch)
        const first = await one.pay(rig.request('/v1/run', run()))
        expect(first.status).toBe(200)
        names.set(one.account.address, nameOf(one.sent))
        const holding = payerOf(on.chain, one.account, async (request) =>
          request.headers.has('payment-signature') ? new Response('{}') : rig.server.fetch(request),
        )
        // The held client knows the channel from the chain alone, so it begins at nothing; the right one is signed below.
        await holding.pay(rig.request('/v1/run', run({ seed: 1 })))
        const { payment } = holding.sent[0] as { payment: any }
        const charged = await chargedBy(one.account.address)
        const most = BigInt(payment.accepted.amount) + charged / 1_000n
        return { one, payment: await signed(one.account, payment, most), charged, most }
      }
      const names = new Map<string, string>()
      const channelOf = (address: string) => rig.server.store.channels.channel(names.get(address) ?? '')
      const chargedBy = async (address: string) => (await channelOf(address))?.charged ?? 0n
      const signed = async (
        account: ReturnType<typeof accountOf>,
        payment: any,
        most: bigint,
        domain: object = {},
      ) => ({
        ...payment,
        payload: {
          type: 'voucher',
          channelConfig: payment.payload.channelConfig,
          voucher: {
            channelId: payment.payload.voucher.channelId,
            maxClaimableAmount: String(most),
            signature: await account.signTypedData({
              domain: {
                name: 'x402 Batch Settlement',
                version: '1',
                chainId: 84532,
                verifyingContract: CHANNELS,
                ...domain,
              },
              types: {
                Voucher: [
                  { name: 'channelId', type: 'bytes32' },
                  { name: 'maxClaimableAmount', type: 'uint128' },
                ],
              },
              primaryType: 'Voucher',
              message: { channelId: payment.payload.voucher.channelId, maxClaimableAmount: most },
            }),
          },
        },
      })
      const send = (payment: unknown, body = run({ seed: 1 }), header = encoded(payment)) =>
        rig.server.fetch(rig.request('/v1/run', body, { 'payment-signature': header }))
      /** What the server answers; nobody was asked, and nothing charged. */
      const refusal = async (address: string, payment: unknown, body = run({ seed: 1 })) => {
        const [asked, charged] = [rig.server.asked.length, await chargedBy(address)]
        const response = await send(payment, body)
        expect(rig.server.asked).toHaveLength(asked)
        expect(await chargedBy(address)).toBe(charged)
        return [response.status, (await jsonOf(response)).error] as const
      }
      const withVoucher = (payment: any, voucher: object) => ({
        ...payment,
        payload: { ...payment.payload, voucher: { ...payment.payload.voucher, ...voucher } },
      })

      test('a voucher that is right is taken: the attacks below differ from it in one thing', async () => {
        const { one, payment, charged } = await victim()
        const response = await send(payment)
        expect(response.status).toBe(200)
        expect(await chargedBy(one.account.address)).toBeGreaterThan(charged)
      })

      test('one that goes back, or skips, is corrected with what the payer itself signed', async () => {
        const { one, payment, most } = await victim()
        for (const other of [most - 1n, most + 1n, BigInt(payment.accepted.amount)]) {
          const wrong = await signed(one.account, payment, other)
          expect(await refusal(one.account.address, wrong)).toEqual([402, code('cumulative_amount_mismatch')])
        }
      })

      test('one that nobody signed, or another payer, or for another chain or contract', async () => {
        const { one, payment, most } = await victim()
        const { signature } = payment.payload.voucher
        const flipped = ORDER - BigInt(`0x${signature.slice(66, 130)}`)
        const malleable = `${signature.slice(0, 66)}${flipped.toString(16).padStart(64, '0')}${signature.endsWith('1b') ? '1c' : '1b'}`
        for (const wrong of [
          withVoucher(payment, { signature: `0x${'11'.repeat(64)}1b` }),
          withVoucher(payment, { signature: malleable }),
          await signed(accountOf(40), payment, most),
          await signed(one.account, payment, most, { chainId: 8453 }),
          await signed(one.account, payment, most, { verifyingContract: accountOf(41).address }),
        ])
          expect(await refusal(one.account.address, wrong)).toEqual([402, code('voucher_signature')])
        const nobody = withConfig(payment, { payerAuthorizer: `0x${'0'.repeat(40)}` })
        expect((await refusal(one.account.address, nobody))[0]).toBe(402)
      })

      const withConfig = (payment: any, config: object) => ({
        ...payment,
        payload: { ...payment.payload, channelConfig: { ...payment.payload.channelConfig, ...config } },
      })

      test('one of another channel, payer, server, token or exit', async () => {
        const { one, payment } = await victim()
        const other = await victim()
        const { address } = one.account
        for (const [config, reason] of [
          [{ payer: other.one.account.address }, 'channel_id_mismatch'],
          [{ salt: `0x${'1'.repeat(64)}` }, 'channel_id_mismatch'],
          [{ receiver: accountOf(42).address }, 'receiver_mismatch'],
          [{ receiverAuthorizer: accountOf(42).address }, 'receiver_authorizer_mismatch'],
          [{ token: accountOf(42).address }, 'token_mismatch'],
          [{ withdrawDelay: 900 }, 'withdraw_delay_mismatch'],
        ] as const)
          expect(await refusal(address, withConfig(payment, config))).toEqual([402, code(reason)])
        const borrowed = withVoucher(payment, { channelId: other.payment.payload.voucher.channelId })
        expect(await refusal(address, borrowed)).toEqual([402, code('channel_id_mismatch')])
      })

      test('one for another request, another price, or an expired quote', async () => {
        const { one, payment } = await victim()
        const { address } = one.account
        expect(await refusal(address, payment, run({ seed: 2 }))).toEqual([402, 'quote_mismatch'])
        const cheap = { ...payment, accepted: { ...payment.accepted, amount: '1' } }
        expect(await refusal(address, cheap)).toEqual([402, 'quote_mismatch'])
        const quoteId = payment.accepted.extra.quoteId.replace(/^q_[0-9a-z]+_/, 'q_1_')
        const old = {
          ...payment,
          accepted: { ...payment.accepted, extra: { ...payment.accepted.extra, quoteId } },
        }
        expect(await refusal(address, old)).toEqual([402, 'quote_mismatch'])
      })

      test('one for another path, or that answers a quote of another server with the same receiver', async () => {
        const { one, payment } = await victim()
        const path = '/v1/chat/completions'
        const body = { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }], seed: 1 }
        const charged = await chargedBy(one.account.address)
        const elsewhere = rig.request(path, body, { 'payment-signature': encoded(payment) })
        const response = await rig.server.fetch(elsewhere)
        expect([response.status, (await jsonOf(response)).error]).toEqual([402, 'quote_mismatch'])
        const setup = { models: [testModel('small')], hash: hashOf('another') }
        const other = await startRig(on.chain, rig.options, setup)
        await other.server.x402?.round()
        const due = await other.quote('/v1/run', run({ seed: 1 }))
        const { accepts } = JSON.parse(
          Buffer.from(due.headers.get('payment-required') ?? '', 'base64').toString(),
        )
        await other.server.stop()
        const foreign = { ...payment, accepted: accepts[0] }
        expect(await refusal(one.account.address, foreign)).toEqual([402, 'quote_mismatch'])
        expect(await chargedBy(one.account.address)).toBe(charged)
      })

      test('one beyond the deposit', async () => {
        const { one, payment } = await victim()
        const { address } = one.account
        const balance = (await channelOf(address))?.balance ?? 0n
        let response: Response
        let at = (await chargedBy(address)) / 1_000n
        // Spent to the end by a payer who never tops up.
        for (let seed = 1; ; seed++) {
          const quote = await rig.quote('/v1/run', run({ seed }))
          const { accepts } = JSON.parse(
            Buffer.from(quote.headers.get('payment-required') ?? '', 'base64').toString(),
          )
          response = await send(
            await signed(one.account, { ...payment, accepted: accepts[0] }, at + BigInt(accepts[0].amount)),
            run({ seed }),
          )
          if (response.status !== 200) break
          at = (await chargedBy(address)) / 1_000n
        }
        expect([response.status, (await jsonOf(response)).error]).toEqual([
          402,
          code('cumulative_exceeds_balance'),
        ])
        expect((await chargedBy(address)) <= balance).toBe(true)
      })

      test('two at once with one voucher: one answer, one charge; two with two: one answer, and the other waits', async () => {
        const { one, payment, charged, most } = await victim()
        const asked = rig.server.asked.length
        const both = await Promise.all([send(payment), send(payment)])
        expect(both.map(({ status }) => status)).toEqual([200, 200])
        expect(new Set(await Promise.all(both.map((answer) => answer.text()))).size).toBe(1)
        expect(rig.server.asked.length - asked).toBe(1)
        const price = (await chargedBy(one.account.address)) - charged
        const gate = Promise.withResolvers<void>()
        const asksThenWaits = async () => {
          await gate.promise
          return completion('hello')
        }
        const quoted = async (seed: number) => {
          const quote = await rig.quote('/v1/run', run({ seed }))
          const { accepts } = JSON.parse(
            Buffer.from(quote.headers.get('payment-required') ?? '', 'base64').toString(),
          )
          const next = most + price / 1_000n
          return signed(one.account, { ...payment, accepted: accepts[0] }, next)
        }
        rig.server.answerWith(asksThenWaits)
        const first = send(await quoted(8), run({ seed: 8 }))
        await until(() => rig.server.asked.length - asked === 2)
        const second = await send(await quoted(9), run({ seed: 9 }))
        expect(second.status).toBe(402)
        expect(rig.server.asked.length - asked).toBe(2)
        gate.resolve()
        expect((await first).status).toBe(200)
        rig.server.answerWith(() => completion('hello'))
        expect(await chargedBy(one.account.address)).toBe(charged + 2n * price)
      })

      test('two vouchers that arrive together, on a channel that this process charged last: no vendor is asked in vain', async () => {
        const { one, payment, charged, most } = await victim()
        await send(payment)
        const next = most + ((await chargedBy(one.account.address)) - charged) / 1_000n
        const quoted = async (seed: number) => {
          const quote = await rig.quote('/v1/run', run({ seed }))
          const { accepts } = JSON.parse(
            Buffer.from(quote.headers.get('payment-required') ?? '', 'base64').toString(),
          )
          return signed(one.account, { ...payment, accepted: accepts[0] }, next)
        }
        const [first, second] = [await quoted(8), await quoted(9)]
        const asked = rig.server.asked.length
        const named = { 'payment-signature': encoded(second), 'idempotency-key': 'beside' }
        const both = await Promise.all([
          send(first, run({ seed: 8 })),
          rig.server.fetch(rig.request('/v1/run', run({ seed: 9 }), named)),
        ])
        expect(both.map(({ status }) => status)).toEqual([200, 402])
        expect(rig.server.asked.length - asked).toBe(1)
      })

      test('headers that are bombs: no fault, no delay, nothing taken', async () => {
        const { one, payment } = await victim()
        const deep = `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`
        for (const header of [
          'A'.repeat(9_000),
          Buffer.from(deep).toString('base64').slice(0, 8_000),
          encoded(withVoucher(payment, { maxClaimableAmount: '9'.repeat(78) })),
          encoded(withVoucher(payment, { maxClaimableAmount: '-1' })),
          encoded(withVoucher(payment, { signature: `0x${'ab'.repeat(2_000)}` })),
          encoded(withConfig(payment, { withdrawDelay: 1e308 })),
          encoded({ ...payment, payload: { ...payment.payload, type: 'deposit', deposit: { amount: '0' } } }),
          encoded({ ...payment, payload: { type: 'refund' } }),
          encoded({ ...payment, x402Version: 1 }),
        ]) {
          const charged = await chargedBy(one.account.address)
          const response = await send(payment, run({ seed: 1 }), header)
          expect([400, 402]).toContain(response.status)
          expect(await chargedBy(one.account.address)).toBe(charged)
        }
      })
    })
})
