/** Failover, cool-down and the discounted lane, seen by callers. */
import { afterEach, expect, test } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import type { VendorSetup } from '../../src/vendors/setup.ts'
import {
  chat,
  completion,
  jsonOf,
  mockVendor,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from './harness.ts'

let server: TestServer
afterEach(() => server.stop())

/** A second vendor that speaks messages and answers `other`. */
const otherVendor = (answer: () => Response): VendorSetup => ({
  vendor: { ...mockVendor, id: 'other', speaks: 'messages', auth: 'x-api-key' },
  baseUrl: 'http://other.invalid/v1',
  secrets: [new Secret('other-key')],
  fetch: async () => answer(),
})
const message = (text: string) =>
  Response.json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'equal',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
  })

const startWithEqual = async (answer: () => Response) => {
  const models = [testModel('small'), { ...testModel('equal'), id: 'other/equal', vendor: 'other' }]
  server = await startTestServer({ models, failover: { 'mock/small': ['other/equal'] } })
  ;(server.gateway.vendors as Map<string, VendorSetup>).set('other', otherVendor(answer))
}

test('when a vendor fails, its equal answers in the same shape and at the price of the model that was asked for', async () => {
  await startWithEqual(() => message('from the other'))
  server.answerWith(() => new Response('{}', { status: 500 }))
  const before = await server.balance()
  const response = await server.post('/v1/chat/completions', chat())
  expect([response.status, (await jsonOf(response)).choices[0].message.content]).toEqual([
    200,
    'from the other',
  ])
  expect(before - (await server.balance())).toBe(60_000n)
  const [row] = (await jsonOf(await server.get('/v1/usage?group_by=model'))).data.rows
  expect([row.model, row.requests]).toEqual(['mock/small', 1])
})

test('what the caller did wrong is not asked again elsewhere', async () => {
  await startWithEqual(() => message('never'))
  server.answerWith(() => Response.json({ error: { message: 'bad tool' } }, { status: 400 }))
  const response = await server.post('/v1/chat/completions', chat())
  expect([response.status, (await jsonOf(response)).error.code]).toEqual([400, 'invalid_parameter'])
})

test('all fail: one 503 that names a vendor, and nothing is charged or held', async () => {
  await startWithEqual(() => new Response('{}', { status: 529 }))
  server.answerWith(() => new Response('{}', { status: 502 }))
  const before = await server.balance()
  const response = await server.post('/v1/chat/completions', chat())
  expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'upstream_error'])
  expect(await server.balance()).toBe(before)
  while (server.gateway.book.health().openCalls > 0) await Bun.sleep(1)
})

test('a key over its limit rests as long as its vendor says; status tells', async () => {
  server = await startTestServer({ secrets: ['one', 'two'] })
  const usedBy: Record<string, number> = {}
  server.answerWith(({ headers }) => {
    const key = headers.get('authorization') ?? ''
    usedBy[key] = (usedBy[key] ?? 0) + 1
    return key === 'Bearer one'
      ? new Response('{}', { status: 429, headers: { 'retry-after': '60' } })
      : completion('ok')
  })
  for (let call = 0; call < 8; call++)
    expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
  expect(usedBy).toEqual({ 'Bearer one': 1, 'Bearer two': 8 })
  const status = await jsonOf(await server.get('/api/status'))
  expect(status.services['vendors.mock']).toMatchObject({
    status: 'degraded',
    error: expect.stringContaining('1 of 2'),
  })
})

test('after the first byte there is no second attempt', async () => {
  await startWithEqual(() => message('never'))
  server.answerWith(() => streaming(streamEvents(['half']).slice(0, 2), 'break'))
  const text = await (await server.post('/v1/chat/completions', chat({ stream: true }))).text()
  expect([text.includes('half'), text.includes('never'), text.includes('upstream_error')]).toEqual([
    true,
    false,
    true,
  ])
})

test('discounted calls wait for room while full-price calls go ahead, and are sent in the cheaper tier', async () => {
  const release = Promise.withResolvers<void>()
  server = await startTestServer({
    models: [
      testModel('small'),
      testModel('small', { id: 'mock/smalll', cheaper: { tier: 'flex', price: testModel('small').price } }),
    ],
    options: { discountOpenMax: 1 },
  })
  const order: string[] = []
  server.answerWith(async ({ body }) => {
    order.push(String(body.service_tier ?? 'full'))
    if (body.service_tier === undefined && order.length === 1) await release.promise
    return completion('ok')
  })
  const held = server.post('/v1/chat/completions', chat())
  while (order.length === 0) await Bun.sleep(1)
  const cheap = server.post('/v1/chat/completions', chat({ model: 'mock/smalll' }))
  expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
  expect(order).toEqual(['full', 'full'])
  release.resolve()
  expect([(await held).status, (await cheap).status]).toEqual([200, 200])
  expect(order).toEqual(['full', 'full', 'flex'])
})

test('who hangs up before the vendor answers stops the vendor, and pays nothing', async () => {
  server = await startTestServer({
    options: { timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 } },
  })
  const gone = new AbortController()
  const stopped = Promise.withResolvers<void>()
  server.answerWith(({ signal }) => {
    const never = Promise.withResolvers<Response>()
    signal?.addEventListener('abort', () => {
      stopped.resolve()
      never.reject(new Error('aborted'))
    })
    queueMicrotask(() => gone.abort())
    return never.promise
  })
  const before = await server.balance()
  const { token } = await server.newKey()
  const request = new Request('http://turnpike.test/v1/chat/completions', {
    method: 'POST',
    signal: gone.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(chat()),
  })
  expect((await server.fetch(request)).status).toBe(499)
  await stopped.promise
  expect([server.asked.length, await server.balance()]).toEqual([1, before])
})
