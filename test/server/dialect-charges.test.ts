/** The charge for a stream that is not read to its end, of a vendor that counts as it goes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestServer, streaming, type TestServer } from './harness.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ vendor: { speaks: 'messages', auth: 'x-api-key' } })
})
afterAll(() => server.stop())

const event = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const start = event('message_start', {
  message: { id: 'msg_1', model: 'small', usage: { input_tokens: 10, output_tokens: 1 } },
})
const words = Array.from({ length: 50 }, () =>
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'six ch' } }),
)
const opening = [start, event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })]

test.each(['/v1/messages', '/v1/chat/completions'])(
  '%s: who hangs up pays for what came, not for the count at the start',
  async (path) => {
    server.answerWith(() => streaming([...opening, ...words], 'hang'))
    const before = await server.balance()
    const gone = new AbortController()
    const { token } = await server.newKey()
    const response = await server.fetch(
      new Request(`http://turnpike.test${path}`, {
        method: 'POST',
        signal: gone.signal,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({
          model: 'mock/small',
          max_tokens: 1_000,
          stream: true,
          messages: [{ role: 'user', content: 'hi' }],
        }),
      }),
    )
    const reader = response.body!.getReader()
    for (let text = ''; text.split('six ch').length <= 50; )
      text += new TextDecoder().decode((await reader.read()).value)
    gone.abort()
    await reader.cancel()
    while (server.gateway.book.health().openCalls > 0) await Bun.sleep(1)
    // 10 tokens of input, and 300 characters at three a token.
    expect(before - (await server.balance())).toBe(10n * 1_000n + 100n * 10_000n)
  },
)
