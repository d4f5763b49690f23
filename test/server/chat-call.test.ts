/** One metered chat call, end to end: what the caller gets, what the vendor receives, what the ledger holds. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  chat,
  completion,
  eventsOf,
  jsonOf,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  USD,
} from './harness.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.stop())

test('a call is answered with its exact cost, and the wallet pays just that', async () => {
  const before = await server.balance()
  server.answerWith(() => completion('hello', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }))
  const response = await server.post('/v1/chat/completions', chat())
  expect(response.status).toBe(200)
  const body = await jsonOf(response)
  // 10 input tokens at 1 USD a million and 5 output tokens at 10 USD a million.
  expect(response.headers.get('x-cost-usd')).toBe('0.00006')
  expect(body.usage.cost).toBe(0.00006)
  expect(body.usage.cost_details).toEqual({ input: 0.00001, output: 0.00005 })
  expect(body._balance_warning).toBe(false)
  expect(body._remaining_credits).toBe(9999.994)
  expect(body.choices[0].message.content).toBe('hello')
  expect(before - (await server.balance())).toBe(60_000n)
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{13}[0-9a-z]{12}$/)
  expect(response.headers.get('x-ratelimit-limit')).toBe('100000')
})

test('the vendor gets the bytes of the caller with the model renamed, and none of its headers', async () => {
  const text =
    '{"model": "mock/small", "messages":[{"role":"user","content":"hi"}], "seed":12345678901234567890, "x_new": {"a" : 1.0}}'
  await (
    await server.post('/v1/chat/completions', text, { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' })
  ).arrayBuffer()
  const asked = server.asked.at(-1)
  expect(asked?.text).toBe(
    '{"model":"small", "messages":[{"role":"user","content":"hi"}], "seed":12345678901234567890, "x_new": {"a" : 1.0}}'.replace(
      '{"model":"small", ',
      '{"model":"small",',
    ),
  )
  expect(asked?.url).toBe('http://mock.invalid/v1/chat/completions')
  expect(asked?.headers.get('authorization')).toBe('Bearer house-key')
  expect(asked?.headers.get('cookie')).toBeNull()
  expect(asked?.headers.get('x-forwarded-for')).toBeNull()
})

test('a stream passes through; its usage is metered but shown only to who asked', async () => {
  server.answerWith(() => streaming(streamEvents(['one ', 'two'])))
  const before = await server.balance()
  const quiet = await server.post('/v1/chat/completions', chat({ stream: true }))
  expect(quiet.headers.get('content-type')).toContain('text/event-stream')
  const text = await quiet.text()
  expect(eventsOf(text).at(-1)).toBe('[DONE]')
  expect(text).not.toContain('prompt_tokens')
  expect(text).toContain(': x-cost-usd: 0.00006\n\n')
  expect(server.asked.at(-1)?.body.stream_options).toEqual({ include_usage: true })
  expect(before - (await server.balance())).toBe(60_000n)
  const asking = await server.post(
    '/v1/chat/completions',
    chat({ stream: true, stream_options: { include_usage: true } }),
  )
  const events = eventsOf(await asking.text())
  const last = JSON.parse(events.at(-2) ?? '')
  expect(last.choices).toEqual([])
  expect(last.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, cost: 0.00006 })
  expect(before - (await server.balance())).toBe(120_000n)
})

test('a caller that hangs up stops the vendor and pays for what was delivered', async () => {
  let vendorStopped = false
  server.answerWith((asked) => {
    asked.signal?.addEventListener('abort', () => {
      vendorStopped = true
    })
    return streaming(streamEvents(['word '.repeat(20)], null).slice(0, 2), 'hang')
  })
  const before = await server.balance()
  const caller = new AbortController()
  const request = new Request('http://turnpike.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${(await server.newKey()).token}` },
    body: JSON.stringify(chat({ stream: true })),
    signal: caller.signal,
  })
  const response = await server.fetch(request)
  const reader = response.body?.getReader()
  await reader?.read()
  caller.abort()
  await reader?.cancel().catch(() => undefined)
  while ((await server.balance()) === before) await Bun.sleep(5)
  expect(vendorStopped).toBe(true)
  const paid = before - (await server.balance())
  expect(paid).toBeGreaterThan(0n)
  expect(paid).toBeLessThan(10_000_000n)
})

test('a vendor that fails before its first byte is tried again, and a call that got nothing costs nothing', async () => {
  const before = await server.balance()
  let tries = 0
  server.answerWith(() => {
    tries++
    return tries < 2 ? new Response('busy', { status: 500 }) : completion('second')
  })
  const response = await server.post('/v1/chat/completions', chat())
  expect((await jsonOf(response)).choices[0].message.content).toBe('second')
  server.answerWith(() => new Response('{"error":{"message":"down for sk-live-1234567"}}', { status: 500 }))
  const failed = await server.post('/v1/chat/completions', chat())
  expect(failed.status).toBe(503)
  const { error } = await jsonOf(failed)
  expect(error).toMatchObject({ type: 'service_unavailable', code: 'upstream_error', provider: 'mock' })
  expect(JSON.stringify(error)).not.toContain('sk-live')
  expect(before - (await server.balance())).toBe(60_000n)
})

test('a vendor that breaks off in mid-stream ends the stream with an error event, and the delivered part is charged', async () => {
  server.answerWith(() => streaming(streamEvents(['some ', 'words '], null).slice(0, 3), 'break'))
  const before = await server.balance()
  const response = await server.post('/v1/chat/completions', chat({ stream: true }))
  const text = await response.text()
  expect(text).not.toContain('[DONE]')
  const error = JSON.parse(eventsOf(text).at(-1) ?? '').error
  expect(error).toMatchObject({ code: 'upstream_error', provider: 'mock' })
  expect(before - (await server.balance())).toBeGreaterThan(0n)
})

test('a vendor that reports no usage is estimated within the hold, and the answer says so', async () => {
  server.answerWith(() => completion('twelve chars', null))
  const before = await server.balance()
  const body = await jsonOf(await server.post('/v1/chat/completions', chat({ max_tokens: 100 })))
  expect(body.usage.estimated).toBe(true)
  expect(body.usage.cost).toBeGreaterThan(0)
  expect(before - (await server.balance())).toBe(BigInt(Math.round(body.usage.cost * 1e9)))
})

test('a vendor that reports more than was held is charged as the hold', async () => {
  server.answerWith(() =>
    completion('x', { prompt_tokens: 10, completion_tokens: 8_000, total_tokens: 8_010 }),
  )
  const before = await server.balance()
  const response = await server.post('/v1/chat/completions', chat({ max_tokens: 10 }))
  expect(response.status).toBe(200)
  const paid = before - (await server.balance())
  expect(paid).toBeLessThan(USD / 1000n)
  expect(response.headers.get('x-cost-usd')).toBe(`0.${paid.toString().padStart(9, '0').replace(/0+$/, '')}`)
})

test('the parts of a cost add up to it, whatever the vendor reports', async () => {
  for (const completion_tokens of [1, 7, 10, 11, 8_000]) {
    server.answerWith(() =>
      completion('x', { prompt_tokens: 10, completion_tokens, total_tokens: completion_tokens + 10 }),
    )
    const { usage } = await jsonOf(await server.post('/v1/chat/completions', chat({ max_tokens: 10 })))
    const parts = Object.values<number>(usage.cost_details).reduce((sum, part) => sum + part, 0)
    // The parts are exact; the cost is rounded up to the next nano-dollar.
    expect(Math.ceil(Number((parts * 1e9).toFixed(3)))).toBe(Math.round(usage.cost * 1e9))
  }
})
