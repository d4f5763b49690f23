/** Failover, cool-down and the discounted lane, seen by callers. */
import { afterEach, describe, expect, test } from 'bun:test'
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
  ;(server.gateway.offering.vendors as Map<string, VendorSetup>).set('other', otherVendor(answer))
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

test('an equal that the rules of the wallet do not allow gets no call, also while its own vendor rests', async () => {
  let heard = 0
  await startWithEqual(() => {
    heard++
    return message('from the other')
  })
  server.answerWith(() => new Response('{}', { status: 429, headers: { 'retry-after': '60' } }))
  const rule = (rules: object) => server.send('PUT', '/api/wallet/rules', rules)
  const ask = async () => (await server.post('/v1/chat/completions', chat())).status
  for (const rules of [
    { blocked_models: ['other/*'] },
    { allowed_models: ['mock/small'], blocked_models: null },
  ]) {
    expect((await rule(rules)).status).toBe(200)
    expect([await ask(), await ask(), heard]).toEqual([503, 503, 0])
  }
  expect((await rule({ allowed_models: ['mock/small', 'other/equal'] })).status).toBe(200)
  expect([await ask(), heard]).toEqual([200, 1])
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

test('a key over its limit rests as long as its vendor says; the status shows it', async () => {
  server = await startTestServer({ secrets: ['one', 'two'] })
  const usedBy: Record<string, number> = {}
  let full: string | undefined
  server.answerWith(({ headers }) => {
    const key = headers.get('authorization') ?? ''
    // The key that is asked first.
    full ??= key
    usedBy[key] = (usedBy[key] ?? 0) + 1
    return key === full
      ? new Response('{}', { status: 429, headers: { 'retry-after': '60' } })
      : completion('ok')
  })
  for (let call = 0; call < 8; call++)
    expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
  expect(Object.values(usedBy)).toEqual([1, 8])
  const status = await jsonOf(await server.get('/api/status'))
  expect(status.services['vendors.mock']).toMatchObject({
    status: 'degraded',
    error: expect.stringContaining('1 of 2'),
  })
})

test('a model over its limit rests alone: the other models of the key are asked as before', async () => {
  server = await startTestServer({
    models: [
      testModel('busy'),
      testModel('free'),
      { ...testModel('equal'), id: 'other/equal', vendor: 'other' },
    ],
    failover: { 'mock/busy': ['other/equal'], 'mock/free': ['other/equal'] },
    more: [otherVendor(() => message('from the other'))],
  })
  const askedFor: unknown[] = []
  server.answerWith(({ body }) => {
    askedFor.push(body.model)
    return body.model === 'busy'
      ? new Response('{}', { status: 429, headers: { 'retry-after': '60' } })
      : completion('from its own')
  })
  const answerOf = async (model: string) =>
    (await jsonOf(await server.post('/v1/chat/completions', chat({ model })))).choices[0].message.content
  expect(await answerOf('mock/busy')).toBe('from the other')
  expect(await answerOf('mock/free')).toBe('from its own')
  expect(await answerOf('mock/busy')).toBe('from the other')
  expect(askedFor).toEqual(['busy', 'free'])
})

test('a key that is refused rests with all its models', async () => {
  server = await startTestServer({ secrets: ['one', 'two'], models: [testModel('a'), testModel('b')] })
  const bad: string[] = []
  let refused: string | null = null
  server.answerWith(({ headers, body }) => {
    // The key that is asked first.
    refused ??= headers.get('authorization')
    if (headers.get('authorization') !== refused) return completion('ok')
    bad.push(String(body.model))
    return Response.json({ error: { message: 'bad key' } }, { status: 401 })
  })
  for (const model of ['mock/a', 'mock/b', 'mock/a'])
    expect((await server.post('/v1/chat/completions', chat({ model }))).status).toBe(200)
  expect(bad).toEqual(['a'])
})

test('a model that its vendor does not have is final, with the reason, and rests nothing', async () => {
  server = await startTestServer({ secrets: ['one', 'two'] })
  server.answerWith(() => Response.json({ error: { message: 'no such model: small' } }, { status: 404 }))
  const response = await server.post('/v1/chat/completions', chat())
  const { error } = await jsonOf(response)
  expect([response.status, error.code, error.provider]).toEqual([400, 'model_not_found', 'mock'])
  expect(error.message).toContain('no such model: small')
  expect(server.asked.length).toBe(1)
  expect((await jsonOf(await server.get('/api/status'))).services['vendors.mock'].status).toBe('ok')
})

test('unless the operator has an equal for it, however many keys the vendor has', async () => {
  const models = [testModel('small'), { ...testModel('equal'), id: 'other/equal', vendor: 'other' }]
  server = await startTestServer({
    models,
    secrets: ['one', 'two', 'three', 'four'],
    failover: { 'mock/small': ['other/equal'] },
    more: [otherVendor(() => message('from the other'))],
  })
  server.answerWith(() => Response.json({ error: { message: 'gone' } }, { status: 404 }))
  const response = await server.post('/v1/chat/completions', chat())
  expect((await jsonOf(response)).choices[0].message.content).toBe('from the other')
  expect(server.asked.length).toBe(1)
})

test('when nobody else can serve, the refusal says when the vendor may be asked again', async () => {
  server = await startTestServer({ secrets: ['one', 'two'] })
  server.answerWith(({ headers }) => {
    const wait = headers.get('authorization') === 'Bearer one' ? '70' : '30'
    return new Response('{}', { status: 429, headers: { 'retry-after': wait } })
  })
  const response = await server.post('/v1/chat/completions', chat())
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30'])
  expect((await jsonOf(response)).error).toMatchObject({ code: 'upstream_error', retry_after: 30 })
})

test('a dearer equal is counted each time it answers, a cheaper one is not', async () => {
  const dear = testModel('equal', {
    price: { rates: { input: 2_000_000, output: 10_000_000 }, tiers: [], version: 't' },
  })
  server = await startTestServer({
    models: [testModel('small'), { ...dear, id: 'other/equal', vendor: 'other' }, testModel('same')],
    failover: { 'mock/small': ['other/equal'], 'other/equal': ['mock/same'] },
    more: [otherVendor(() => message('from the other'))],
  })
  server.answerWith(({ body }) =>
    body.model === 'same' ? completion('same') : new Response('{}', { status: 500 }),
  )
  for (const count of [1, 2]) {
    expect((await server.post('/v1/chat/completions', chat())).status).toBe(200)
    expect(server.gateway.offering.traffic.dearer).toBe(count)
  }
})

describe('what may be billed is not asked for twice', () => {
  const slow = () => new Promise<Response>(() => undefined)
  const reset = () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  const unreached = () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const refusing = () => new Response('{}', { status: 500 })
  const errorIn200 = () => Response.json({ error: { message: 'overloaded' } })
  const page = () => new Response('<html>')
  const cut = () => streaming(['{"id":'], 'break')

  test.each([
    ['a whole answer that is slow', false, slow, 1],
    ['a stream that is slow to begin', true, slow, 1],
    ['a connection that breaks after the request', false, reset, 1],
    ['a whole answer that breaks off', false, cut, 1],
    ['a stream that breaks off before its first event', true, () => streaming([], 'break'), 1],
    ['an answer that is none', false, page, 1],
    ['a proxy that stopped waiting', false, () => new Response('', { status: 504 }), 1],
    ['a vendor that is not reached', false, unreached, 3],
    ['a vendor that refuses', false, refusing, 3],
    ['a vendor that refuses in an answer of status 200', false, errorIn200, 3],
    [
      'a stream that begins with an error',
      true,
      () => streaming(['data: {"error":{"message":"busy"}}\n\n']),
      3,
    ],
  ] as const)('%s', async (_what, stream, script, times) => {
    server = await startTestServer({
      options: { timeouts: { firstByteMs: 100, idleMs: 100, totalMs: 5_000 } },
    })
    server.answerWith(script)
    const before = await server.balance()
    const response = await server.post('/v1/chat/completions', chat({ stream }))
    expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'upstream_error'])
    expect([server.asked.length, await server.balance()]).toEqual([times, before])
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
