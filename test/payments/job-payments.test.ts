/**
 * Jobs that are paid by x402: the payment is taken before they are submitted; the rest, or all of it when they fail, is
 * change.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { type JobServer, startJobServer } from '../server/job-rig.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { hasChain } from './chain.ts'
import { mppPayer, receiptIn } from './mpp-payer.ts'
import { onChain } from './on-chain.ts'
import { decoded, payerV2 } from './payers.ts'
import { optionsFor } from './rig.ts'

describe.skipIf(!hasChain)('jobs by x402', () => {
  const on = onChain()

  for (const engine of serverEngines)
    describe(engine.name, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let server: JobServer
      beforeAll(async () => {
        database = await engine.fresh()
        const x402 = optionsFor(on.facilitator, on.chain, { upto: { most: 1_000_000_000n } })
        server = await startJobServer({ url: database.url, server: { x402, fund: 0n } })
      })
      afterAll(async () => {
        expect(await brokenLaws(server.store)).toEqual([])
        await server.stop()
        await database.stop()
      })

      const request = (headers: Record<string, string> = {}) =>
        new Request('http://turnpike.test/v1/run', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-payment-protocol': 'x402', ...headers },
          body: JSON.stringify({ model: 'mock/film', inputs: { prompt: 'a fox', n: 4 } }),
        })
      const claimed = async (response: Response) =>
        jsonOf(await server.post('/api/wallet/claim', { claim: response.headers.get('x-change-claim') }))

      test('a guest pays, asks with the token of its poll_url, and claims what is left', async () => {
        server.says('pending')
        const payer = await on.chain.newPayer(1_000_000n)
        const { pay, sent } = payerV2(payer, server.fetch)
        const response = await pay(request({ prefer: 'respond-async' }))
        const body = await jsonOf(response)
        expect([response.status, sent.length]).toEqual([202, 2])
        const { accepted } = decoded(sent[1]?.headers.get('payment-signature') ?? '')
        expect([accepted.scheme, accepted.amount]).toEqual(['exact', '40000'])
        expect((await server.get(`/v1/run/${body.id}`, '')).status).toBe(401)
        const shown = async () => jsonOf(await server.fetch(new Request(body.poll_url)))
        expect(await shown()).toMatchObject({ id: body.id, status: 'running' })
        expect((await claimed(response)).error).toBeTruthy()
        server.says(1)
        await until(async () => (await shown()).status === 'succeeded')
        expect((await server.fetch(new Request((await shown()).outputs[0].url))).status).toBe(200)
        expect((await claimed(response)).data).toEqual({ credited_usd: 0.03 })
      })

      test('a guest pays by MPP once, and claims what is left', async () => {
        server.says(1)
        const payer = await on.chain.newPayer(1_000_000n)
        const plain = request()
        plain.headers.delete('x-payment-protocol')
        const { pay, sent } = mppPayer(payer, server.fetch)
        const response = await pay(plain)
        expect([response.status, sent.length, receiptIn(response)?.method]).toEqual([200, 2, 'evm'])
        expect(await on.chain.unitsOf(payer.address)).toBe(960_000n)
        expect((await claimed(response)).data).toEqual({ credited_usd: 0.03 })
      })

      test('a job that is paid by MPP goes on after its answer', async () => {
        server.says('pending')
        const plain = request({ prefer: 'respond-async' })
        plain.headers.delete('x-payment-protocol')
        const { pay } = mppPayer(await on.chain.newPayer(1_000_000n), server.fetch)
        const response = await pay(plain)
        const body = await jsonOf(response)
        expect([response.status, receiptIn(response)?.method]).toEqual([202, 'evm'])
        const shown = async () => jsonOf(await server.fetch(new Request(body.poll_url)))
        server.says(1)
        await until(async () => (await shown()).status === 'succeeded')
        expect((await claimed(response)).data).toEqual({ credited_usd: 0.03 })
      })

      test('of a job that failed all is claimed; the same payment gets no second one', async () => {
        server.says('failed')
        const submitted = server.count('POST')
        const payer = await on.chain.newPayer(1_000_000n)
        const { pay, sent } = payerV2(payer, server.fetch)
        const response = await pay(request())
        const { error } = await jsonOf(response)
        expect([response.status, error.code]).toEqual([503, 'upstream_error'])
        expect(error.message).toContain('can be claimed')
        expect(error.message).not.toContain('send the same request')
        server.says(1)
        const again = await server.fetch(sent[1]?.clone() as Request)
        expect(again.status).toBe(503)
        expect(server.count('POST')).toBe(submitted + 1)
        expect((await claimed(response)).data).toEqual({ credited_usd: 0.04 })
      })

      test('what a key paid too much goes to its wallet', async () => {
        server.says(3)
        const { token } = await server.newKey()
        const payer = await on.chain.newPayer(1_000_000n)
        const before = await server.balance()
        const response = await payerV2(payer, server.fetch).pay(request({ authorization: `Bearer ${token}` }))
        expect(response.status).toBe(200)
        await until(async () => (await server.balance()) - before === 10_000_000n)
      })
    })
})
