/**
 * Payments without a key in a house of cells: through the router they reach the one cell that takes them, whoever pays and by
 * which scheme, and its books are the chain's. On both engines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSiweMessage } from 'viem/siwe'
import { readDirectory } from '../../src/cells/directory.ts'
import { Places } from '../../src/cells/places.ts'
import { listenAsRouter } from '../../src/http/cells/listen-router.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { freePort } from '../free-port.ts'
import { jsonOf, startTestServer, type TestServer, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { claimedFor, installChannels, nameOf, newPayer, WITHDRAW_SECONDS } from './channels.ts'
import { mppPayer } from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { encoded, payerV2 } from './payers.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const channels = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }

describe.skipIf(!hasChain)('payments in a house of cells', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      const stops: (() => unknown)[] = []
      let first: TestServer
      let rig: Rig
      let address: string
      const key = `sk-c2-${'k'.repeat(43)}`
      beforeAll(async () => {
        const databases = [await engine.fresh(), await engine.fresh()]
        const port = await freePort()
        address = `http://localhost:${port}`
        first = await startTestServer({ url: databases[0]?.url as string })
        const options = optionsFor(on.facilitator, on.chain, { channels, publicUrl: address })
        rig = await startRig(on.chain, options, { url: databases[1]?.url as string })
        await rig.server.x402?.round()
        await rig.server.newKey({}, { hash: rig.server.hash(key), prefix: 'sk-c2-kkk' })
        const gateways = [first, rig.server].map((it) =>
          listen(it, { hostname: '127.0.0.1', port: 0, shared: false }),
        )
        const [c1, c2] = gateways.map((one) => `{ addresses: ['http://127.0.0.1:${one.port}'] }`)
        const directory = readDirectory(
          `first: c1\npayments: c2\ncells: { c1: ${c1}, c2: ${c2} }`,
          'cells.yaml',
        )
        const router = listenAsRouter(
          { directory: { now: () => directory }, places: new Places(() => performance.now()) },
          {
            ...{ hostname: '127.0.0.1', port, tls: undefined, allowed: [], trusted: [] },
            ...{ connectionSeconds: 60, socketBytesMax: 1e6, socketIdleSeconds: 60 },
          },
        )
        stops.push(
          () => router.drain(0),
          ...gateways.map((one) => one.stop),
          first.stop,
          rig.server.stop,
          ...databases.map((one) => one.stop),
        )
      })
      afterAll(async () => {
        expect([await brokenLaws(first.store), await brokenLaws(rig.server.store)]).toEqual([[], []])
        for (const stop of stops) await stop()
      })

      const send = (request: Request): Promise<Response> => fetch(request)
      let seed = 0
      const asked = (headers: Record<string, string> = {}) =>
        new Request(`${address}/v1/run`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({
            model: 'mock/small',
            inputs: { messages: [{ role: 'user', content: 'hi' }], seed: seed++ },
          }),
        })
      const claim = async (token: string, text: string | null) =>
        fetch(`${address}/api/wallet/claim`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ claim: text }),
        })

      test('official clients of x402 and MPP pay through the router, and what is left is claimed there', async () => {
        const before = await rig.received()
        const x402 = payerV2(await on.chain.newPayer(1_000_000n), send)
        const answer = await x402.pay(asked())
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hello')])
        const mpp = mppPayer(await on.chain.newPayer(1_000_000n), send)
        expect((await mpp.pay(asked())).status).toBe(200)
        expect(await rig.received()).toBeGreaterThan(before)
        expect(await rig.server.store.ledger.balance('x402')).toBe(-(await rig.received()) * 1_000n)
        expect(await first.store.ledger.balance('x402')).toBe(0n)
        const change = answer.headers.get('x-change-claim')
        // A wallet of another cell is in another ledger.
        const { token } = await first.newKey()
        expect((await claim(token, change)).status).toBe(404)
        expect((await claim(key, change)).status).toBe(200)
      })

      test('a payer’s vouchers are all in that cell, and so is what the payer sees of them', async () => {
        const { pay, sent, account } = await newPayer(on.chain, send)
        for (let call = 0; call < 3; call++) expect((await pay(asked())).status).toBe(200)
        expect(sent.map(({ payment }) => payment.payload.type)).toEqual(['deposit', 'voucher', 'voucher'])
        const channel = await rig.server.store.channels.channel(nameOf(sent))
        expect(channel?.charged).toBeGreaterThan(0n)
        const said = {
          domain: new URL(address).host,
          address: account.address,
          uri: `${address}/v1/payers/me`,
          version: '1' as const,
          chainId: 84532,
          nonce: 'a1b2c3d4e5f6',
          issuedAt: new Date(),
        }
        const signature = await account.signMessage({ message: createSiweMessage(said) })
        const header = encoded({
          ...said,
          chainId: 'eip155:84532',
          type: 'eip191',
          issuedAt: said.issuedAt.toISOString(),
          signature,
        })
        const shown = await fetch(said.uri, { headers: { 'sign-in-with-x': header } })
        expect([shown.status, ((await jsonOf(shown)) as any).channels.length]).toEqual([200, 1])
        const receiver = rig.options.offers[0]?.payTo as `0x${string}`
        expect(await claimedFor(on.chain, receiver)).toBe(0n)
      })

      test('a key of the first cell is not asked to pay: it is answered there', async () => {
        const { token } = await first.newKey()
        const answer = await fetch(asked({ authorization: `Bearer ${token}` }))
        expect(answer.status).toBe(200)
        expect(answer.headers.get('payment-response')).toBeNull()
      })
    })
})
