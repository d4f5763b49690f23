/** POST /v1/responses/input_tokens: the vendor's own count where it has one, else an estimate; free. */
import { afterEach, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { listen } from '../../src/http/listen/listen.ts'
import { completion, jsonOf, startTestServer, type TestServer } from './harness.ts'

let server: TestServer
afterEach(() => server.stop())

const path = '/v1/responses/input_tokens'
const body = { model: 'mock/small', input: 'How long is this?', instructions: 'Count.' }

test('a vendor of the same style counts, without the members that only an answer needs', async () => {
  server = await startTestServer({ vendor: { speaks: 'responses' } })
  server.answerWith(() => Response.json({ object: 'response.input_tokens', input_tokens: 17 }))
  const before = await server.balance()
  const answer = await server.post(path, { ...body, max_output_tokens: 99, store: false })
  expect(await jsonOf(answer)).toEqual({ object: 'response.input_tokens', input_tokens: 17 })
  expect(answer.headers.get('x-estimated')).toBeNull()
  expect(server.asked[0]?.url).toEndWith('/responses/input_tokens')
  expect(server.asked[0]?.body).toEqual({ ...body, model: 'small' })
  expect(before - (await server.balance())).toBe(0n)
})

test('a vendor that does not count, or of another style, leaves an estimate', async () => {
  server = await startTestServer({ vendor: { speaks: 'responses' } })
  server.answerWith(() => new Response('{}', { status: 404 }))
  const answer = await server.post(path, body)
  expect(answer.headers.get('x-estimated')).toBe('true')
  expect((await jsonOf(answer)).input_tokens).toBeWithin(5, 40)
  await server.stop()
  server = await startTestServer()
  expect((await jsonOf(await server.post(path, body))).input_tokens).toBeWithin(5, 40)
  expect(server.asked).toEqual([])
})

test('a conversation that is kept counts as a whole', async () => {
  server = await startTestServer({ options: { responsesKeptMs: 3_600_000 } })
  server.answerWith(() => completion('word '.repeat(500)))
  const first = await jsonOf(await server.post('/v1/responses', body))
  const of = async (more: object): Promise<number> =>
    (await jsonOf(await server.post(path, { ...body, ...more }))).input_tokens
  expect((await of({ previous_response_id: first.id })) - (await of({}))).toBeGreaterThan(400)
})

test('the official client counts', async () => {
  server = await startTestServer()
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  try {
    const { token } = await server.newKey()
    const client = new OpenAI({ apiKey: token, baseURL: `http://127.0.0.1:${listening.port}/v1` })
    expect((await client.responses.inputTokens.count(body)).input_tokens).toBeGreaterThan(5)
  } finally {
    listening.stop()
  }
})
