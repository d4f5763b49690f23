/** Credentials and errors in each dialect's own way. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

let server: TestServer
let token = ''
beforeAll(async () => {
  server = await startTestServer()
  token = (await server.newKey()).token
})
afterAll(() => server.stop())

const send = (path: string, headers: Record<string, string>, body: unknown) =>
  server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  )

const message = { model: 'mock/small', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] }
const content = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
const gemini = '/v1beta/models/mock/small:generateContent'

test.each([
  ['/v1/messages', () => ({ 'x-api-key': token }), message],
  ['/v1/messages', () => ({ authorization: `Bearer ${token}` }), message],
  ['/v1/messages', () => ({ authorization: `Bearer ${token}`, 'x-api-key': token }), message],
  [gemini, () => ({ 'x-goog-api-key': token }), content],
  ['/v1beta/models/mock%2Fsmall:generateContent', () => ({ 'x-goog-api-key': token }), content],
  ['/v1beta/mock/small:generateContent', () => ({ 'x-goog-api-key': token }), content],
  ['/v1/models/mock/small:generateContent', () => ({ 'x-goog-api-key': token }), content],
] as const)('%s takes the key where its clients send it', async (path, headers, body) => {
  expect((await send(path, headers() as Record<string, string>, body)).status).toBe(200)
})

test('a key in the query is for generate-content only', async () => {
  expect((await send(`${gemini}?key=${token}`, {}, content)).status).toBe(200)
  expect((await send(`/v1/messages?key=${token}`, {}, message)).status).toBe(401)
})

test('a key without the word before it is a 401 that says how to send it', async () => {
  for (const authorization of [token, `Token ${token}`, `Basic ${token}`]) {
    const { error } = await jsonOf(await send('/v1/chat/completions', { authorization }, message))
    expect([error.code, error.message.includes("'Authorization: Bearer sk-…'")]).toEqual([
      'invalid_api_key',
      true,
    ])
    expect(error.message).not.toContain(token)
  }
})

test('two different keys in one request are refused', async () => {
  const other = (await server.newKey()).token
  const asked = server.asked.length
  for (const [path, name, body] of [
    ['/v1/messages', 'x-api-key', message],
    [gemini, 'x-goog-api-key', content],
  ] as const)
    expect((await send(path, { authorization: `Bearer ${token}`, [name]: other }, body)).status).toBe(400)
  const both = new Request('http://turnpike.test/v1/models', {
    headers: { authorization: `Bearer ${token}`, 'x-api-key': other },
  })
  expect((await server.fetch(both)).status).toBe(400)
  expect(server.asked.length).toBe(asked)
})

test('messages: the dialect has its own shape, and the code is inside', async () => {
  const response = await send('/v1/messages', { 'x-api-key': token }, { ...message, max_tokens: 0 })
  const body = await jsonOf(response)
  expect([response.status, body.type, body.error.type, body.error.code, body.error.param]).toEqual([
    400,
    'error',
    'invalid_request_error',
    'invalid_parameter',
    'max_tokens',
  ])
  const missing = await jsonOf(await send('/v1/messages', {}, message))
  expect([missing.error.type, missing.error.code]).toEqual(['authentication_error', 'missing_authorization'])
})

test('generate-content: a numeric code, a status word, and the code as the reason', async () => {
  const response = await send('/v1beta/models/none:generateContent', { 'x-goog-api-key': token }, content)
  const { error } = await jsonOf(response)
  expect([response.status, error.code, error.status, error.details[0].reason]).toEqual([
    400,
    400,
    'INVALID_ARGUMENT',
    'model_not_found',
  ])
  const unknown = await send('/v1beta/models/mock/small:sing', { 'x-goog-api-key': token }, content)
  expect([unknown.status, (await jsonOf(unknown)).error.status]).toEqual([404, 'NOT_FOUND'])
})

test.each([
  ['/v1/messages', { ...message, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['/v1/messages', { ...message, mcp_servers: [{ type: 'url', url: 'https://x.example' }] }],
  [gemini, { ...content, tools: [{ googleSearch: {} }] }],
  [gemini, { ...content, cachedContent: 'cachedContents/1' }],
  ['/v1/responses', { model: 'mock/small', input: 'hi', previous_response_id: 'resp_1' }],
  ['/v1/responses', { model: 'mock/small', input: 'hi', background: true, store: false }],
  ['/v1/responses', { model: 'mock/small', input: [{ type: 'item_reference', id: 'msg_1' }] }],
] as const)('%s refuses %j by name, before any vendor is asked', async (path, body) => {
  const asked = server.asked.length
  const response = await send(path, { authorization: `Bearer ${token}` }, body)
  expect([response.status, server.asked.length]).toEqual([400, asked])
})

test('counting tokens is free and says when it is an estimate', async () => {
  const before = await server.balance()
  const asked = server.asked.length
  const counted = await send(
    '/v1/messages/count_tokens',
    { 'x-api-key': token },
    { ...message, max_tokens: undefined },
  )
  expect([counted.status, counted.headers.get('x-estimated')]).toEqual([200, 'true'])
  expect((await jsonOf(counted)).input_tokens).toBeGreaterThan(0)
  const total = await send('/v1beta/models/mock/small:countTokens', { 'x-goog-api-key': token }, content)
  expect((await jsonOf(total)).totalTokens).toBeGreaterThan(0)
  expect([await server.balance(), server.asked.length]).toEqual([before, asked])
})

test("what a vendor's 400 is about is named to callers of its names, where they sent it", async () => {
  const error = { message: 'too small', type: 'invalid_request_error', param: 'max_tokens', code: null }
  server.answerWith(() => Response.json({ error }, { status: 400 }))
  const errorOf = async (path: string, body: object) =>
    (await jsonOf(await send(path, { authorization: `Bearer ${token}` }, body))).error
  const chat = await errorOf('/v1/chat/completions', message)
  expect([chat.code, chat.param]).toEqual(['invalid_parameter', 'max_tokens'])
  const { max_tokens: _, ...unbounded } = message
  expect((await errorOf('/v1/chat/completions', unbounded)).param).toBeUndefined()
  expect((await errorOf('/v1/messages', message)).param).toBeUndefined()
  server.answerWith(() => completion('hello'))
})

test.each([
  ['POST', '/v1/messages/batches'],
  ['GET', '/v1/messages'],
] as const)(
  '%s %s, which is not there, is refused in the style of the addresses around it',
  async (method, path) => {
    const response = await server.fetch(new Request(`http://turnpike.test${path}`, { method }))
    const body = await jsonOf(response)
    expect([body.type, body.request_id]).toEqual(['error', response.headers.get('request-id')])
  },
)

test('where no style has the address, what is not offered is refused in the style of whose client asks', async () => {
  const sent = async (path: string, headers: Record<string, string> = {}) =>
    jsonOf(await server.fetch(new Request(`http://turnpike.test${path}`, { method: 'POST', headers })))
  const byGoogle = { 'x-goog-api-key': token }
  for (const [path, reason, headers] of [
    ['/v1/cachedContents', 'not_offered', byGoogle],
    ['/v1/tunedModels', 'not_offered', byGoogle],
    ['/v1/nothing', 'not_found', byGoogle],
    ['/v1alpha/auth_tokens', 'not_offered', {}],
  ] as const) {
    const { error } = await sent(path, headers)
    expect([path, error.details?.[0].reason, typeof error.status]).toEqual([path, reason, 'string'])
  }
  const byAnthropic = await sent('/v1/skills', { 'anthropic-version': '2023-06-01' })
  expect(byAnthropic).toMatchObject({ type: 'error', error: { code: 'not_offered' } })
  const byCohere = await sent('/v1/datasets', { 'x-fern-sdk-name': 'cohere-ai' })
  expect(byCohere).toMatchObject({ code: 'not_offered', message: expect.stringContaining('/v1/datasets') })
  expect((await sent('/v1/skills')).error).toMatchObject({
    type: 'invalid_request_error',
    code: 'not_offered',
  })
})

test('the same for generate-content and for the addresses of an account', async () => {
  const sent = async (method: string, path: string) =>
    (await jsonOf(await server.fetch(new Request(`http://turnpike.test${path}`, { method })))).error
  expect((await sent('POST', '/v1beta/cachedContents')).details[0].reason).toBe('not_offered')
  expect((await sent('POST', '/upload/v1beta/fileSearchStores/x')).details[0].reason).toBe('not_offered')
  expect((await sent('POST', '/v1beta/nothing')).status).toBe('NOT_FOUND')
  expect((await sent('GET', '/v1beta1/publishers/x')).code).toBe(405)
  expect(await sent('DELETE', '/api/wallet/rules')).toBe('method_not_allowed')
  expect((await sent('GET', '/v1/chat')).code).toBe('not_offered')
  expect((await sent('GET', '/v1/nothing')).code).toBe('not_found')
})
