/** Jobs that are paid by card: charged before they are submitted; the rest, or all of it when they deliver nothing, is change. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { type JobServer, startJobServer } from '../server/job-rig.ts'
import { serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { askFor, cardOptions, checkCards, newToken, signedByCard, startCards } from './card-rig.ts'
import { payerBy, receiptIn, stripeOf } from './mpp-payer.ts'
import { again } from './rig.ts'

for (const engine of serverEngines)
  describe(`jobs by card on ${engine.name}`, () => {
    const stripe = startCards()
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: JobServer
    beforeAll(async () => {
      database = await engine.fresh()
      const more = { x402: cardOptions, stripe: stripe.settings, fund: 0n }
      server = await startJobServer({ url: database.url, server: more })
    })
    afterEach(() => checkCards(server, stripe))
    afterAll(async () => {
      await server.stop()
      await database.stop()
      await stripe.stop()
    })

    const request = (headers: Record<string, string> = {}) =>
      askFor({ model: 'mock/film', inputs: { prompt: 'a fox', n: 4 } }, '/v1/run', headers)
    const pay = (one: Request) => payerBy(stripeOf(newToken), (sent) => server.fetch(sent)).pay(one)
    const claimed = async (response: Response) =>
      jsonOf(await server.post('/api/wallet/claim', { claim: response.headers.get('x-change-claim') }))
    /** The answer of a job that goes on, and how it stands. */
    const accepted = async () => {
      server.says('pending')
      const response = await pay(request({ prefer: 'respond-async' }))
      const { poll_url: at } = await jsonOf(response)
      expect([response.status, receiptIn(response)?.method]).toEqual([202, 'stripe'])
      expect((await claimed(response)).error).toBeTruthy()
      return { response, at, stands: async () => (await jsonOf(await server.fetch(new Request(at)))).status }
    }

    test('what it did not cost of what was charged is claimed when it has ended, not before', async () => {
      const { response, stands } = await accepted()
      expect(stripe.charges.at(-1)?.form.amount).toBe('50')
      server.says(3)
      await until(async () => (await stands()) === 'succeeded')
      expect((await claimed(response)).data).toEqual({ credited_usd: 0.47 })
      expect((await claimed(response)).error).toBeTruthy()
    })

    test('of one that fails, or that its payer cancels, all is claimed', async () => {
      const failed = await accepted()
      server.says('failed')
      await until(async () => (await failed.stands()) === 'failed')
      expect((await claimed(failed.response)).data).toEqual({ credited_usd: 0.5 })
      const cancelled = await accepted()
      await server.fetch(new Request(cancelled.at, { method: 'DELETE' }))
      await until(async () => (await cancelled.stands()) === 'cancelled')
      expect((await claimed(cancelled.response)).data).toEqual({ credited_usd: 0.5 })
    })

    test('the same credential gets the same job, and is charged once, whatever Stripe answers first', async () => {
      const [charges, submitted] = [stripe.charges.length, server.count('POST')]
      stripe.loseAnswers(1)
      server.says('pending')
      const signed = await signedByCard(server, request({ prefer: 'respond-async' }))
      expect((await server.fetch(again(signed))).status).toBe(503)
      expect(server.count('POST')).toBe(submitted)
      const both = await Promise.all([0, 1].map(() => server.fetch(again(signed))))
      const later = await server.fetch(again(signed))
      const ids = new Set(
        await Promise.all([...both, later].map(async (answer) => (await jsonOf(answer)).id)),
      )
      expect([ids.size, stripe.charges.length - charges, server.count('POST') - submitted]).toEqual([1, 1, 1])
      server.says(4)
      await until(async () => (await claimed(later)).data?.credited_usd === 0.46)
    })

    test('a card that is refused submits nothing', async () => {
      const submitted = server.count('POST')
      const signed = await signedByCard(server, request(), 'spt_card_declined')
      const response = await server.fetch(signed)
      expect([response.status, (await jsonOf(response)).error]).toEqual([402, 'card_declined'])
      expect(server.count('POST')).toBe(submitted)
    })
  })
