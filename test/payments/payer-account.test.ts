/** A payer sees its own account with a signature, and nobody sees another's; the operator sees all. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { HDAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { performAs } from '../../src/cli/run/control.ts'
import { payerList } from '../../src/control/money/payers.ts'
import { completion, jsonOf, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { installChannels, newPayer, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { encoded } from './payers.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const ORIGIN = 'https://turnpike.test'
const PATH = '/v1/payers/me'
const PRICE = { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 'test-1' }
const channels = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }

type Said = Partial<Parameters<typeof createSiweMessage>[0]>

/** The header that the extension describes, over a message that viem writes. */
const signIn = async (signer: HDAccount, said: Said = {}, changed: object = {}) => {
  const issuedAt = new Date()
  const message = {
    domain: 'turnpike.test',
    address: signer.address,
    uri: ORIGIN + PATH,
    version: '1' as const,
    chainId: 84532,
    nonce: 'a1b2c3d4e5f6',
    issuedAt,
    ...said,
  }
  const signature = await signer.signMessage({ message: createSiweMessage(message) })
  const { issuedAt: issued = issuedAt, expirationTime, notBefore, ...rest } = message
  return encoded({
    ...rest,
    chainId: `eip155:${message.chainId}`,
    type: 'eip191',
    issuedAt: issued.toISOString(),
    ...(expirationTime === undefined ? {} : { expirationTime: expirationTime.toISOString() }),
    ...(notBefore === undefined ? {} : { notBefore: notBefore.toISOString() }),
    signature,
    ...changed,
  })
}

describe.skipIf(!hasChain)('accounts of x402 payers', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      let payers: Awaited<ReturnType<typeof newPayer>>[]
      beforeAll(async () => {
        database = await engine.fresh()
        const options = optionsFor(on.facilitator, on.chain, { channels, publicUrl: ORIGIN })
        rig = await startRig(on.chain, options, {
          url: database.url,
          models: [testModel('small', { price: PRICE })],
        })
        await rig.server.x402?.round()
        rig.server.answerWith(() => completion('hello'))
        payers = [await newPayer(on.chain, rig.server.fetch), await newPayer(on.chain, rig.server.fetch)]
        for (const [index, { pay }] of payers.entries())
          for (let seed = 0; seed <= index; seed++) {
            const inputs = { messages: [{ role: 'user', content: 'hi' }], seed }
            const paid = await pay(rig.request('/v1/run', { model: 'mock/small', inputs }))
            expect(paid.status).toBe(200)
          }
      })
      afterAll(async () => {
        expect(await brokenLaws(rig.server.store)).toEqual([])
        await rig.server.stop()
        await database.stop()
      })
      const ask = (header?: string, host = 'turnpike.test') =>
        rig.server.fetch(
          new Request(`http://${host}${PATH}`, {
            headers: header === undefined ? {} : { 'sign-in-with-x': header },
          }),
        )
      const signer = (index: number) => payers[index]?.account as HDAccount

      test('each payer sees its own channels and calls, in sums that add up', async () => {
        for (const [index, { account, sent }] of payers.entries()) {
          const deposited = BigInt(sent[0]?.payment.payload.deposit.amount) * 1_000n
          const charged = BigInt(index + 1) * 60_000n
          for (const said of [{}, { statement: 'Show my account.' }]) {
            const response = await ask(await signIn(account, said))
            expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
            const it = await jsonOf(response)
            const usd = (text: string) => BigInt(Math.round(Number(text) * 1e9))
            expect(it.payer).toBe(account.address.toLowerCase())
            expect([it.deposited_usd, it.charged_usd, it.claimable_usd, it.left_usd].map(usd)).toEqual([
              deposited,
              charged,
              charged,
              deposited - charged,
            ])
            expect([it.channels.length, it.calls.length]).toEqual([1, index + 1])
            expect(it.channels[0].channel).toEndWith(sent[0]?.payment.payload.voucher.channelId)
          }
        }
      })

      test('nobody else sees it', async () => {
        const [own, other] = [signer(0), signer(1)]
        const now = Date.now()
        const ago = (ms: number) => new Date(now - ms)
        const bad: Record<string, string | undefined> = {
          'no header': undefined,
          'no JSON': 'bm8=',
          "another's address": await signIn(other, { address: own.address }),
          'an address put in afterwards': await signIn(other, {}, { address: own.address }),
          'another site': await signIn(own, { domain: 'evil.test' }),
          'another address of this site': await signIn(own, { uri: `${ORIGIN}/v1/usage` }),
          'another chain': await signIn(own, { chainId: 1 }),
          'a version that is none': await signIn(own, {}, { version: '2' }),
          'six minutes old': await signIn(own, { issuedAt: ago(360_000) }),
          'made later than now': await signIn(own, { issuedAt: ago(-120_000) }),
          expired: await signIn(own, { expirationTime: ago(1_000) }),
          'not yet good': await signIn(own, { notBefore: ago(-30_000) }),
          'a time moved afterwards': await signIn(
            own,
            { issuedAt: ago(360_000) },
            { issuedAt: new Date(now).toISOString() },
          ),
          'a time that is none': await signIn(own, {}, { issuedAt: 'now' }),
          'a line put in': await signIn(own, {}, { statement: 'x\n\nURI: y' }),
          'another signature': await signIn(own, {}, { signature: `0x${'1'.repeat(128)}1b` }),
          'a contract for a signer': await signIn(own, {}, { type: 'eip1271' }),
        }
        for (const [name, header] of Object.entries(bad)) {
          const response = await ask(header)
          expect([name, response.status, (await jsonOf(response)).error.code]).toEqual([
            name,
            401,
            'invalid_api_key',
          ])
        }
      })

      test('what was signed for another site is not good here, even if a request names that site', async () => {
        const header = await signIn(signer(0), { domain: 'evil.test', uri: `http://evil.test${PATH}` })
        expect((await ask(header, 'evil.test')).status).toBe(401)
      })

      test('the operator sees all payers, or one', async () => {
        const control = { ...rig.server.gateway }
        const { data } = await performAs('payers', control, payerList, {})
        expect(data.map(({ payer, charged_usd }) => [payer, charged_usd])).toEqual([
          [signer(1).address.toLowerCase(), 120_000n],
          [signer(0).address.toLowerCase(), 60_000n],
        ])
        const one = await performAs('payers', control, payerList, { payer: signer(0).address })
        expect(one.data).toMatchObject([{ channels: 1, claimable_usd: 60_000n, claimed_usd: 0n }])
      })
    })
})
