/** Jobs paid by vouchers: waited for or not, the channel is charged what the job cost when it ends. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf, USD } from '../server/harness.ts'
import { type JobServer, startJobServer } from '../server/job-rig.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { hasChain } from './chain.ts'
import { installChannels, nameOf, newPayer, WITHDRAW_SECONDS } from './channels.ts'
import { onChain } from './on-chain.ts'
import { optionsFor } from './rig.ts'

describe.skipIf(!hasChain)('jobs by x402 vouchers', () => {
  const on = onChain(installChannels)

  for (const engine of serverEngines)
    describe(engine.name, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let server: JobServer
      beforeAll(async () => {
        database = await engine.fresh()
        const channels = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: USD, claimSeconds: 900 }
        const x402 = optionsFor(on.facilitator, on.chain, { channels })
        server = await startJobServer({ url: database.url, server: { x402, fund: 0n } })
        await server.x402?.round()
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

      test('pictures that are waited for, and a job that is not, cost what was made', async () => {
        const { pay, sent } = await newPayer(on.chain, server.fetch)
        const charged = async () => (await server.store.channels.channel(nameOf(sent)))?.charged
        server.says(3)
        expect((await pay(request())).status).toBe(200)
        await until(async () => (await charged()) === 30_000_000n)
        server.says('pending')
        const response = await pay(request({ prefer: 'respond-async' }))
        const body = await jsonOf(response)
        expect(response.status).toBe(202)
        expect(await charged()).toBe(30_000_000n)
        server.says(1)
        const shown = async () => jsonOf(await server.fetch(new Request(body.poll_url)))
        await until(async () => (await shown()).status === 'succeeded')
        await until(async () => {
          await server.x402?.round()
          return (await charged()) === 40_000_000n
        })
      })
    })
})
