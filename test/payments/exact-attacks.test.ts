/**
 * Attacks with signed authorizations (x402 `exact`, both versions, and MPP, which signs the same): what is not one payment for
 * one request of this server, now and on this chain, buys nothing; what is one, once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { chat, hashOf, jsonOf } from '../server/harness.ts'
import { serverEngines } from '../store/engines.ts'
import { accountOf, BATCH_READER, hasChain, minedOn, TOKEN, tokenAbi } from './chain.ts'
import { credentialIn, signedByMpp, signedPayload } from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { decoded, encoded, payV1 } from './payers.ts'
import { again, optionsFor, type Rig, signedRequest, startRig } from './rig.ts'

const PATH = '/v1/chat/completions'

describe.skipIf(!hasChain)('attacks with authorizations', () => {
  const on = onChain()

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
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

      const payer = () => on.chain.newPayer(1_000_000n)
      const paying = (header: string, value: string, body = chat(), path = PATH) =>
        rig.request(path, body, { [header]: value })
      /** A payment of version 2 that was signed and not sent. */
      const signed = async (account = payer()) =>
        decoded(
          (await signedRequest(rig, await account, rig.request(PATH, chat()))).headers.get(
            'payment-signature',
          ),
        )
      /** What a request is answered; no vendor was asked, and nothing came in. */
      const refusal = async (request: Request): Promise<readonly [number, unknown]> => {
        const [asked, received] = [rig.server.asked.length, await rig.received()]
        const response = await rig.server.fetch(request)
        expect([rig.server.asked.length, await rig.received()]).toEqual([asked, received])
        expect(response.headers.get('x-change-claim')).toBeNull()
        const body = response.status === 402 ? await jsonOf(response) : undefined
        return [response.status, body?.error]
      }
      /** Sends these together: one is answered, one payment comes in, and the others are told that it is used. */
      const oneOf = async (requests: readonly Request[], units: bigint) => {
        const [asked, received] = [rig.server.asked.length, await rig.received()]
        const answers = await Promise.all(requests.map((request) => rig.server.fetch(request)))
        const lost = answers.filter(({ status }) => status !== 200)
        expect(lost).toHaveLength(requests.length - 1)
        for (const answer of lost)
          expect([answer.status, (await jsonOf(answer)).error]).toEqual([402, 'payment_already_used'])
        for (const answer of answers)
          if (answer.status === 200) expect(await answer.text()).toContain('hello')
        expect([rig.server.asked.length - asked, (await rig.received()) - received]).toEqual([1, units])
        await rig.check()
      }

      test('one that was signed for another chain, by another, or for another time', async () => {
        const account = await payer()
        const payment = await signed(Promise.resolve(account))
        const { authorization } = payment.payload
        const now = Math.floor(Date.now() / 1000)
        const signing = async (change: Record<string, string>, chainId?: number, by = account) => {
          const { signature, ...rest } = await signedPayload(by, { ...authorization, ...change }, chainId)
          return { signature, authorization: { ...rest, from: account.address } }
        }
        for (const payload of [
          await signing({}, 8453),
          await signing({}, undefined, accountOf(50)),
          await signing({ validBefore: String(now - 1) }),
          await signing({ validAfter: String(now + 3_600), validBefore: String(now + 7_200) }),
        ])
          for (const [header, version] of [
            ['payment-signature', { ...payment, payload }],
            ['x-payment', { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload }],
          ] as const)
            expect((await refusal(paying(header, encoded(version))))[0]).toBe(402)
        // They differ in that alone from one that is good.
        const good = paying('payment-signature', encoded({ ...payment, payload: await signing({}) }))
        expect((await rig.server.fetch(good)).status).toBe(200)
      })

      test('one that answers a quote of another server, with the same receiver, or of another path', async () => {
        const other = await startRig(on.chain, rig.options, { hash: hashOf('another') })
        const foreign = await signedRequest(other, await payer(), other.request(PATH, chat()))
        expect(await refusal(foreign)).toEqual([402, 'quote_mismatch'])
        await other.server.stop()
        const own = encoded(await signed())
        const elsewhere = paying('payment-signature', own, chat({ max_tokens: 50 }), '/v1/messages')
        expect(await refusal(elsewhere)).toEqual([402, 'quote_mismatch'])
        expect((await rig.server.fetch(paying('payment-signature', own))).status).toBe(200)
      })

      test('one that names no quote, under two requests of one price at once', async () => {
        const [accepts] = (await jsonOf(await rig.quote(PATH, chat({ seed: 1 })))).accepts
        const header = await payV1(await payer(), accepts)
        const both = [1, 2].map((seed) => paying('x-payment', header, chat({ seed })))
        await oneOf(both, BigInt(accepts.maxAmountRequired))
      })

      test('one in every form at once', async () => {
        const plain = rig.request(PATH, chat())
        plain.headers.delete('x-payment-protocol')
        const credential = await signedByMpp(await payer(), rig.server.fetch, plain)
        const { signature, type: _type, ...authorization } = credentialIn(credential).payload
        const payload = { signature, authorization }
        const version1 = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload }
        const accepted = decoded((await rig.quote(PATH, chat())).headers.get('payment-required')).accepts[0]
        const forms = [
          again(credential),
          paying('x-payment', encoded(version1)),
          paying('payment-signature', encoded({ x402Version: 2, accepted, payload })),
        ]
        await oneOf(forms, BigInt(authorization.value ?? ''))
      })

      test('one that was used for something else beside a payment of the same amount, in one transaction', async () => {
        const account = await payer()
        const [bought, used, other] = [0, 1, 2].map(() => signed(Promise.resolve(account)))
        const calls = async (...all: readonly Record<string, string>[]) =>
          Promise.all(
            all.map(async (authorization) => {
              const it = await signedPayload(account, authorization)
              const { from, to, value, validAfter, validBefore, nonce, signature } = it as Record<string, Hex>
              const amounts = [value, validAfter, validBefore].map((one) => BigInt(one ?? 0)) as [
                bigint,
                bigint,
                bigint,
              ]
              return {
                target: TOKEN,
                callData: encodeFunctionData({
                  abi: tokenAbi,
                  functionName: 'transferWithAuthorization',
                  args: [from ?? '0x', to ?? '0x', ...amounts, nonce ?? '0x', signature ?? '0x'],
                }),
              }
            }),
          )
        const authorizations = (await Promise.all([bought, used, other])).map(
          (one) => one?.payload.authorization,
        )
        const toItself = { to: account.address, value: '0' }
        const [first, second, third] = authorizations
        await minedOn(
          on.chain.client,
          await on.chain.client.writeContract({
            address: BATCH_READER,
            abi: parseAbi([
              'function tryAggregate(bool all, (address target, bytes callData)[] calls) payable',
            ]),
            functionName: 'tryAggregate',
            args: [true, await calls({ ...second, ...toItself }, first, { ...third, ...toItself })],
            account: accountOf(8),
          }),
        )
        const sent = async (payment: typeof bought) => paying('payment-signature', encoded(await payment))
        for (const one of [used, other])
          expect(await refusal(await sent(one))).toEqual([402, 'invalid_exact_evm_nonce_already_used'])
        expect((await rig.server.fetch(await sent(bought))).status).toBe(200)
      })

      test('headers that are bombs, in each form and in all at once', async () => {
        const deep = Buffer.from(`${'['.repeat(3_000)}${']'.repeat(3_000)}`)
        const wide = Buffer.from(`{${Array.from({ length: 900 }, (_, at) => `"${at}":1`).join(',')}}`)
        const long = { ...(await signed()).payload, signature: `0x${'ab'.repeat(2_500)}` }
        for (const bytes of [
          deep,
          wide,
          Buffer.from(JSON.stringify({ x402Version: 2, payload: long })),
          Buffer.alloc(20_000, 'A'),
        ]) {
          const [text, forUrls] = [bytes.toString('base64'), bytes.toString('base64url')]
          const credential = `Payment ${forUrls}`
          for (const headers of [
            { 'x-payment': text },
            { 'payment-signature': text },
            { authorization: credential },
            { 'x-payment': text, 'payment-signature': text, authorization: credential },
          ] as Record<string, string>[])
            expect([400, 402]).toContain((await refusal(rig.request(PATH, chat(), headers)))[0])
        }
      })
    })
})
