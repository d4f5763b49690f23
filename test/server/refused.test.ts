/** A refused request leaves no row in the ledger, whoever refused it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Engine } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { engines, stopSound } from '../store/engines.ts'
import { chat, startTestServer, type TestServer, testModel } from './harness.ts'

const tables = ['transfer', 'usage_detail', 'inflight'] as const

for (const kind of engines.filter(({ lasting }) => lasting))
  describe(`a refused request, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.fresh>>
    let server: TestServer
    let books: Engine
    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({ url: database.url, models: [testModel('small')] })
      books = openEngine(database)
    })
    afterAll(async () => {
      await books.close()
      await stopSound(server, database)
    })

    const rows = async () =>
      (
        await books.batch(
          'reading',
          tables.map((name) => ({ text: `select * from ${name}`, params: [] })),
        )
      ).map((found) => found.length)

    const fromVendor = (status: number) => () => Response.json({ error: { message: 'no' } }, { status })
    test.each([
      ['of another model than is sold', 400, { model: 'mock/none' }, {}, fromVendor(500)],
      ['whose body is wrong', 400, { temperature: 9 }, {}, fromVendor(500)],
      [
        'that does not fit its ceiling',
        402,
        { max_tokens: 8_000 },
        { 'x-max-cost-usd': '0.0001' },
        fromVendor(500),
      ],
      ['on credit that nobody granted', 402, {}, { 'x-payment-protocol': 'mpp' }, fromVendor(500)],
      ['that the vendor refuses', 400, {}, {}, fromVendor(400)],
      ['for a model that the vendor does not have', 400, {}, {}, fromVendor(404)],
      ['that the vendor has no room for', 503, {}, {}, fromVendor(429)],
      ['at which the vendor fails', 503, {}, {}, fromVendor(500)],
    ] as const)('%s', async (_what, status, change, headers, script) => {
      server.answerWith(script)
      const before = await rows()
      for (const stream of [false, true])
        for (const keyed of [{}, { 'idempotency-key': crypto.randomUUID() }]) {
          const all = { ...headers, ...keyed }
          expect((await server.post('/v1/chat/completions', chat({ ...change, stream }), all)).status).toBe(
            status,
          )
        }
      while (server.openCalls() > 0) await Bun.sleep(1)
      expect(await rows()).toEqual(before)
    })
  })
