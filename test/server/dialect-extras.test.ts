/**
 * How callers over HTTP learn which parts of an answer are not carried: in the header, or in the comment at a stream's
 * end.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { jsonOf, startTestServer, streaming, type TestServer } from './harness.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ vendor: { speaks: 'gemini' } })
})
afterAll(() => server.stop())

const parts = [
  { text: 'listen' },
  { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'AAAA' } },
]
const answer = {
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
}
const asked = { model: 'mock/small', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }

test('an answer in one piece: its losses stand beside those of the call', async () => {
  server.answerWith(() => Response.json(answer))
  const before = await server.balance()
  const response = await server.post('/v1/messages', { ...asked, seed: 1 })
  expect(response.headers.get('x-not-carried')).toBe('seed, audio')
  expect((await jsonOf(response)).content.map(({ type }: { type: string }) => type)).toEqual(['text'])
  expect(before - (await server.balance())).toBe(60_000n)
  const carried = await server.post('/v1/chat/completions', asked)
  expect(carried.headers.get('x-not-carried')).toBeNull()
  expect((await jsonOf(carried)).choices[0].message.audio.data).toBe('AAAA')
})

test('a stream: they stand in a comment before its end', async () => {
  server.answerWith(() => streaming([`data: ${JSON.stringify(answer)}\n\n`]))
  const response = await server.post('/v1/messages', { ...asked, stream: true })
  const text = await response.text()
  expect(response.headers.get('x-not-carried')).toBeNull()
  expect(text.indexOf('\n\n: x-not-carried: audio\n\n')).toBeGreaterThan(0)
  expect(text.indexOf(': x-not-carried')).toBeLessThan(text.indexOf('event: message_delta'))
})
