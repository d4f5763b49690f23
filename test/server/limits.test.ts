/** Caps, rates, ceilings and the wallet: a refusal names what binds, and nothing is ever charged above it. */
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
  testModel,
  USD,
} from './harness.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.stop())

const put = (body: object, token: string, whose = 'me') =>
  server.fetch(
    new Request(`http://turnpike.test/v1/key/wholesale/${whose}/limits`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    }),
  )
const usageOf = async (token: string, whose = 'me') =>
  (await jsonOf(await server.get(`/v1/key/wholesale/${whose}/usage`, token))).data
const call = (token: string, more: object = {}, headers: Record<string, string> = {}) =>
  server.post('/v1/chat/completions', chat(more), headers, token)

test('a call that does not fit a cap is 402 and names it; the key goes off when nothing fits any more', async () => {
  server.answerWith(() => completion('x', { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 }))
  const { token } = await server.newKey({ spendCap: 2_000_000n })
  // One answer costs 910 000 nano-dollars; two fit.
  expect((await call(token, { max_tokens: 90 })).status).toBe(200)
  const big = await call(token, { max_tokens: 8_000 })
  const { error } = await jsonOf(big)
  expect([big.status, error.code, error.limit]).toEqual([402, 'insufficient_balance', 'spend_cap_usd'])
  expect(error.required_credits).toBeGreaterThan(error.available_credits)
  expect((await call(token, { max_tokens: 90 })).status).toBe(200)
  const { data } = { data: await usageOf(token) }
  expect(data).toMatchObject({ spent_usd: 0.00182, disabled: false, requests: 2, held_usd: 0 })
  server.answerWith(() => completion('x', { prompt_tokens: 10, completion_tokens: 17, total_tokens: 27 }))
  // A long prompt that does not fit says nothing about the next call.
  const long = { messages: [{ role: 'user', content: 'x'.repeat(2_000) }], max_tokens: 1 }
  expect((await call(token, long)).status).toBe(402)
  expect((await call(token, { max_tokens: 1 })).status).toBe(200)
  expect((await call(token, { max_tokens: 1 })).status).toBe(402)
  const off = await call(token)
  expect([off.status, (await jsonOf(off)).error.reason]).toEqual([403, 'spend_cap'])
  expect(await usageOf(token)).toMatchObject({ disabled: true, disabled_reason: 'spend_cap' })
})

test('the call that finds a cap used up is a 402 that names it, whatever bound it asks for; later ones are 403', async () => {
  const long = [{ role: 'user', content: 'x'.repeat(200_000) }]
  for (const more of [{}, { stream: true }, { max_tokens: 8_000 }, { messages: long }]) {
    const { token } = await server.newKey({ spendCap: 10_000n })
    const first = await call(token, more)
    const { error } = await jsonOf(first)
    expect([more, first.status, error.code, error.limit]).toEqual([
      more,
      402,
      'insufficient_balance',
      'spend_cap_usd',
    ])
    expect(error.required_credits).toBeGreaterThan(error.available_credits)
    expect((await call(token, more)).status).toBe(403)
  }
})

test('without max_tokens the bound is lowered to what is affordable, and said', async () => {
  server.answerWith(() => completion('x'))
  const { token } = await server.newKey({ spendCap: 15_000_000n })
  const response = await call(token)
  expect(response.status).toBe(200)
  const lowered = Number(response.headers.get('x-max-tokens-lowered'))
  expect(lowered).toBeGreaterThan(1_000)
  expect(lowered).toBeLessThan(1_500)
  expect(server.asked.at(-1)?.body.max_tokens).toBe(lowered)
  expect((await jsonOf(response)).usage.max_tokens_lowered).toBe(lowered)
})

test('a bound is not lowered below a tenth of the most a model answers with, unless the caller sets it', async () => {
  server.answerWith(() => completion('x'))
  const { token } = await server.newKey({ spendCap: 5_000_000n })
  const refused = await call(token)
  const { error } = await jsonOf(refused)
  expect([refused.status, error.code, error.limit]).toEqual([402, 'insufficient_balance', 'spend_cap_usd'])
  expect(error.message).toContain('set max_tokens: without it, at least 820 output tokens are held')
  expect(error.required_credits).toBeGreaterThan(error.available_credits)
  expect((await call(token, { max_tokens: 400 })).status).toBe(200)
})

test('X-Max-Cost-Usd lowers the bound, or is a 402 when the caller insists', async () => {
  server.answerWith(() => completion('x'))
  const { token } = await server.newKey()
  const lowered = await call(token, {}, { 'x-max-cost-usd': '0.001' })
  expect(lowered.status).toBe(200)
  expect(Number(server.asked.at(-1)?.body.max_tokens)).toBeLessThan(100)
  const insisting = await call(token, { max_tokens: 8_000 }, { 'x-max-cost-usd': '0.001' })
  const { error } = await jsonOf(insisting)
  expect([insisting.status, error.code, error.limit, error.available_credits]).toEqual([
    402,
    'max_cost_exceeded',
    'max_cost',
    0.1,
  ])
  expect((await call(token, {}, { 'x-max-cost-usd': '0.000000001' })).status).toBe(402)
  for (const bad of ['-1', 'abc', '1e-3', '', '0.0000000001', '1,2']) {
    const refused = await call(token, {}, { 'x-max-cost-usd': bad })
    expect([bad, refused.status]).toEqual([bad, bad === '' ? refused.status : 400])
  }
})

test('a stream is cut with a length stop when its ceiling is reached, and not charged above it', async () => {
  const words = Array.from({ length: 400 }, () => 'word ')
  server.answerWith(() => streaming(streamEvents(words, null)))
  const { token } = await server.newKey()
  const response = await call(token, { stream: true }, { 'x-max-cost-usd': '0.002' })
  const text = await response.text()
  const finish = eventsOf(text).map((data) =>
    data === '[DONE]' ? undefined : JSON.parse(data).choices?.[0]?.finish_reason,
  )
  expect(finish).toContain('length')
  expect(eventsOf(text).at(-1)).toBe('[DONE]')
  const cost = Number(/x-cost-usd: ([\d.]+)/.exec(text)?.[1])
  expect(cost).toBeGreaterThan(0.001)
  expect(cost).toBeLessThanOrEqual(0.002)
})

test('the rate limit admits exactly its number, counts no rejection, and shows it in headers', async () => {
  // Twenty seconds into a minute that does not end.
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const still = await startTestServer({ now: () => minute + 20_000 })
  const { token } = await still.newKey({ rpm: 5 })
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => still.post('/v1/chat/completions', chat(), {}, token)),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  const rejected = answers.filter(({ status }) => status === 429)
  expect(rejected).toHaveLength(7)
  for (const { headers } of rejected) {
    expect(headers.get('retry-after')).toBe('40')
    expect(headers.get('x-ratelimit-limit')).toBe('5')
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(headers.get('x-ratelimit-reset')) * 1_000).toBe(minute + 60_000)
  }
  const { error } = rejected[0] === undefined ? { error: {} } : await jsonOf(rejected[0])
  expect(error).toMatchObject({ type: 'rate_limit_error', code: 'rate_limit_exceeded', retry_after: 40 })
  await still.stop()
})

test('a key disables and enables itself, and is refused in between', async () => {
  server.answerWith(() => completion('x'))
  const { token } = await server.newKey()
  expect((await put({ disabled: true }, token)).status).toBe(200)
  const refused = await call(token)
  expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'key_disabled'])
  expect((await server.get('/v1/models', token)).status).toBe(403)
  expect(await usageOf(token)).toMatchObject({ disabled: true, disabled_reason: 'self' })
  expect((await put({ disabled: null }, token)).status).toBe(200)
  expect((await call(token)).status).toBe(403)
  expect((await put({ disabled: false }, token)).status).toBe(200)
  expect((await call(token)).status).toBe(200)
})

test('caps are tri-state, and a key may narrow but not raise what it was given', async () => {
  const { token } = await server.newKey({ spendCap: 10n * USD })
  expect((await jsonOf(await put({ monthly_cap_usd: 3 }, token))).data).toMatchObject({
    spend_cap_usd: 10,
    monthly_cap_usd: 3,
  })
  expect((await jsonOf(await put({ monthly_cap_usd: null }, token))).data).toMatchObject({
    spend_cap_usd: 10,
    monthly_cap_usd: null,
  })
  expect((await put({ spend_cap_usd: 11 }, token)).status).toBe(403)
  expect((await put({ spend_cap_usd: null }, token)).status).toBe(403)
  expect((await jsonOf(await put({ spend_cap_usd: 1.5 }, token))).data.spend_cap_usd).toBe(1.5)
  expect((await jsonOf(await put({ spend_cap_usd: 10 }, token))).data.spend_cap_usd).toBe(10)
})

test('a reseller sees and limits its children; strangers look like nothing', async () => {
  const parent = await server.newKey({}, { canManage: true })
  const child = await server.newKey({}, { parentId: parent.id })
  const stranger = await server.newKey()
  server.answerWith(() => completion('x'))
  expect((await call(child.token)).status).toBe(200)
  expect(await usageOf(parent.token, child.id)).toMatchObject({ requests: 1, spent_usd: 0.00006 })
  expect(await usageOf(parent.token, child.token)).toMatchObject({ requests: 1 })
  expect((await put({ spend_cap_usd: 0.5 }, parent.token, child.id)).status).toBe(200)
  expect((await put({ spend_cap_usd: 0.6 }, child.token)).status).toBe(403)
  expect((await put({ disabled: true }, parent.token, child.id)).status).toBe(200)
  expect((await put({ disabled: false }, child.token)).status).toBe(403)
  expect((await call(child.token)).status).toBe(403)
  for (const whose of [child.id, child.token, 'key_nobody', 'sk-nobody1234567890123']) {
    const response = await server.get(`/v1/key/wholesale/${whose}/usage`, stranger.token)
    expect([response.status, (await jsonOf(response)).error.code]).toEqual([404, 'not_found'])
  }
  expect((await put({ disabled: true }, child.token, parent.id)).status).toBe(404)
  const rolled = await jsonOf(await server.get('/v1/usage?group_by=key', parent.token))
  expect(rolled.data.rows.find((row: { key: string }) => row.key === child.id)).toMatchObject({
    requests: 1,
    cost_usd: 0.00006,
  })
})

test('an almost empty wallet is 402, below one credit even for a cheaper call', async () => {
  const poor = await startTestServer({ fund: 9_000_000n })
  const response = await poor.post('/v1/chat/completions', chat({ max_tokens: 1 }))
  const { error } = await jsonOf(response)
  expect([response.status, error.code, error.limit]).toEqual([402, 'insufficient_balance', 'wallet'])
  expect([error.required_credits, error.available_credits]).toEqual([1, 0.9])
  expect(error.message).toContain('Any call needs 0.01 USD in the wallet')
  expect(poor.asked.length).toBe(0)
  await poor.stop()
})

test('an answer warns below ten credits', async () => {
  const poor = await startTestServer({ fund: 90_000_000n })
  poor.answerWith(() => completion('x'))
  const body = await jsonOf(await poor.post('/v1/chat/completions', chat()))
  expect(body._balance_warning).toBe(true)
  expect(body._remaining_credits).toBe(8.994)
  await poor.stop()
})

test('stop_at_remaining_usd leaves that much in the wallet', async () => {
  const own = await startTestServer({ fund: USD })
  own.answerWith(() => completion('x'))
  const { token } = await own.newKey({ stopAt: 999_700_000n })
  expect((await own.post('/v1/chat/completions', chat({ max_tokens: 5 }), {}, token)).status).toBe(200)
  const stopped = await own.post('/v1/chat/completions', chat({ max_tokens: 50 }), {}, token)
  expect([stopped.status, (await jsonOf(stopped)).error.limit]).toEqual([402, 'stop_at_remaining_usd'])
  await own.stop()
})

test('max_tokens above the model is an invalid parameter', async () => {
  const { token } = await server.newKey()
  const refused = await call(token, { max_tokens: testModel('small').maxOutputTokens + 1 })
  expect([refused.status, (await jsonOf(refused)).error.param]).toEqual([400, 'max_tokens'])
})

test('a server that has as many calls open as it takes refuses before it reads', async () => {
  const full = await startTestServer({ options: { openCallsMax: 0 } })
  const refused = await full.post('/v1/chat/completions', '{')
  expect([refused.status, refused.headers.get('retry-after'), (await jsonOf(refused)).error.code]).toEqual([
    503,
    '2',
    'service_unavailable',
  ])
  await full.stop()
})
