/** Conditions on what outlives its request: lines of batches, jobs, and what products make. */
import { expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { until } from '../until.ts'
import { chatLine } from './batch-rig.ts'
import { jsonOf, type TestServer } from './harness.ts'
import { startJobServer } from './job-rig.ts'
import { partModels, startPartServer } from './part-rig.ts'

const REQUIRE = 'x-turnpike-require'

/** From now on the operator states this of a vendor. */
const state = ({ gateway, sell }: TestServer, id: string, stated: { region?: 'eu'; zdr?: boolean }) => {
  const { offering } = gateway
  const setup = offering.vendors.get(id)
  if (setup === undefined) throw new Error(`there is no ${id}`)
  sell({ ...offering, vendors: new Map(offering.vendors).set(id, { ...setup, stated }) })
}

test('lines of a batch go where its header, its key and the rules allow, and never into a batch of the vendor', async () => {
  const server = await startPartServer({})
  try {
    const { token } = await server.newKey()
    const { openai } = server.vendors
    state(server, 'openai', { region: 'eu' })
    const lines = [0, 1].map((n) => chatLine(n, {}, partModels.openai))
    const input_file_id = await server.upload(token, lines)
    const create = (headers: Record<string, string>, file = input_file_id) =>
      server.post(
        '/v1/batches',
        { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' },
        headers,
        token,
      )
    const other = await server.upload(token, [chatLine(0)])
    const refused = await create({ [REQUIRE]: 'region=eu' }, other)
    expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'conditions_not_met'])
    expect((await create({ [REQUIRE]: 'zdr' })).status).toBe(403)
    const created = await create({ [REQUIRE]: 'region=eu' })
    const { id } = await jsonOf(created)
    await server.ended(token, id)
    expect(openai.held).toEqual([])
    expect(openai.asked.length).toBeGreaterThanOrEqual(lines.length)
    expect(openai.asked.filter((asked) => /batch|\/files/i.test(asked))).toEqual([])
    expect(server.asked).toEqual([])
    // Without conditions the vendor has them in a batch of its own.
    const free = await jsonOf(await create({}))
    await server.ended(token, free.id)
    expect(openai.held.length).toBe(1)
  } finally {
    await server.stop()
  }
})

test('a rule that comes after a batch began binds the lines that are not sent', async () => {
  const server = await startPartServer({})
  try {
    const { token } = await server.newKey({}, { canManage: true })
    const first = Promise.withResolvers<void>()
    server.answerWith(async () => {
      await first.promise
      return new Response('{}', { status: 400 })
    })
    const input_file_id = await server.upload(
      token,
      Array.from({ length: 300 }, (_, n) => chatLine(n)),
    )
    const { id } = await server.client(token).batches.create({
      ...{ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    })
    await until(() => server.asked.length > 0)
    expect((await server.send('PUT', '/api/wallet/rules', { requires: ['region=eu'] })).status).toBe(200)
    const sent = server.asked.length
    first.resolve()
    const batch = await server.ended(token, id)
    expect(server.asked.length).toBeLessThan(300)
    expect(server.asked.length).toBeLessThanOrEqual(sent + 50)
    const errors = JSON.stringify([...(await server.results(token, batch.error_file_id)).values()])
    expect(errors).toContain('conditions_not_met')
  } finally {
    await server.stop()
  }
})

test('a job is submitted where its conditions are met, says so in its receipt, and is refused with zdr', async () => {
  const server = await startJobServer({})
  try {
    const run = (conditions: string) =>
      server.post(
        '/v1/run',
        { model: 'mock/film', inputs: { prompt: 'a fox' } },
        { [REQUIRE]: conditions, prefer: 'wait=30' },
      )
    expect([(await run('region=eu')).status, server.count('POST')]).toEqual([403, 0])
    state(server, 'mock', { region: 'eu', zdr: true })
    expect([(await run('zdr')).status, server.count('POST')]).toEqual([403, 0])
    server.says(1)
    const done = await run('region=eu')
    expect([done.status, server.count('POST')]).toEqual([200, 1])
    const { claims } = await jsonOf(await server.get(`/v1/receipts/${done.headers.get('x-request-id')}`))
    expect(claims.conditions).toEqual({ asked: 'region=eu', region: 'eu', vendor: 'mock' })
    expect(decodeJwt(done.headers.get('x-receipt') ?? '').conditions).toEqual(claims.conditions)
  } finally {
    await server.stop()
  }
})

test('a tool says its conditions in its meta', async () => {
  const server = await startJobServer({})
  try {
    const { token } = await server.newKey()
    const call = (meta: object) =>
      server.fetch(
        new Request('http://turnpike.test/mcp', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({
            ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
            params: {
              name: 'run_product',
              arguments: { product: 'mock/film', inputs: { prompt: 'a fox' } },
              _meta: meta,
            },
          }),
        }),
      )
    const refused = await (await call({ 'turnpike/require': 'region=eu' })).text()
    expect([refused.includes('conditions'), server.count('POST')]).toEqual([true, 0])
  } finally {
    await server.stop()
  }
})
