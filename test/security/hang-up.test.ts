/** Hanging up at a chosen moment does not make an answer cheaper: what the vendor bills out of sight is charged. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chat,
  pausedStream,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
  USD,
} from '../server/harness.ts'
import { engines } from '../store/engines.ts'

const thinker = testModel('thinker', { capabilities: ['streaming', 'reasoning'] })
const usage = {
  prompt_tokens: 10,
  completion_tokens: 5_005,
  completion_tokens_details: { reasoning_tokens: 5_000 },
}
const full = 10n * 1_000n + 5_005n * 10_000n

const event = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

/** Reads until `seen` came, hangs up, lets the vendor go on, and waits for the charge. */
const hangUp = async (
  server: TestServer,
  { path, body, seen }: { path: string; body: object; seen: string },
  goOn: () => void,
): Promise<bigint> => {
  const before = await server.balance()
  const gone = new AbortController()
  const { token } = await server.newKey()
  const response = await server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      signal: gone.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    }),
  )
  const reader = response.body?.getReader()
  for (let text = ''; !text.includes(seen); ) {
    const { value, done } = (await reader?.read()) ?? { done: true }
    if (done) throw new Error(`the stream ended before '${seen}': ${text}`)
    text += new TextDecoder().decode(value)
  }
  gone.abort()
  const left = reader?.cancel().catch(() => undefined)
  goOn()
  await left
  while (server.openCalls() > 0) await Bun.sleep(1)
  return before - (await server.balance())
}

for (const kind of engines.filter(({ name }) => name !== 'SQLite in a file'))
  describe(`hanging up, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.fresh>>
    let server: TestServer
    let speaking: TestServer
    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({ url: database.url, models: [thinker, testModel('small')] })
      speaking = await startTestServer({ vendor: { speaks: 'messages' }, models: [thinker] })
    })
    afterAll(async () => {
      await server.stop()
      await speaking.stop()
      await database.stop()
    })

    test.each([
      ['mock/thinker', 'of a model that thinks', '"word "', 3],
      ['mock/thinker', 'that has ended', '"stop"', 4],
      ['mock/small', 'that has ended, of a model that does not think', '"stop"', 4],
    ])('%s: the usage of an answer %s is waited for', async (model, _what, seen, before) => {
      const going = Promise.withResolvers<void>()
      server.answerWith(() =>
        pausedStream(streamEvents(['word ', 'word '], usage), before, () => going.promise),
      )
      const asked = { path: '/v1/chat/completions', body: chat({ model, stream: true }), seen }
      expect(await hangUp(server, asked, going.resolve)).toBe(full)
    })

    test.each(['/v1/messages', '/v1/chat/completions'])(
      '%s: thoughts that are billed and not shown are waited for',
      async (path) => {
        const going = Promise.withResolvers<void>()
        const pieces = [
          event('message_start', {
            message: { id: 'msg_1', model: 'm', usage: { input_tokens: 10, output_tokens: 1 } },
          }),
          event('content_block_start', {
            index: 0,
            content_block: { type: 'thinking', thinking: '', signature: '' },
          }),
          event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'abc' } }),
          event('content_block_stop', { index: 0 }),
          event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
          event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'all of it' } }),
          event('content_block_stop', { index: 1 }),
          event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5_005 } }),
          event('message_stop'),
        ]
        speaking.answerWith(() => pausedStream(pieces, 7, () => going.promise))
        const body = { ...chat({ model: 'mock/thinker', stream: true }), max_tokens: 8_000 }
        expect(await hangUp(speaking, { path, body, seen: 'all of it' }, going.resolve)).toBe(full)
      },
    )

    test('a stream that started on a small hold pays for all that was billed', async () => {
      const before = await server.balance()
      const words = ['\u6f22'.repeat(2_000), '\u6f22'.repeat(2_000)]
      const billed = { prompt_tokens: 10, completion_tokens: 8_000 }
      server.answerWith(() => streaming(streamEvents(words, billed)))
      const response = await server.post('/v1/chat/completions', chat({ stream: true }))
      await response.text()
      expect(before - (await server.balance())).toBe(10n * 1_000n + 8_000n * 10_000n)
    })

    test('and never more than its caller allowed', async () => {
      const before = await server.balance()
      const billed = { prompt_tokens: 10, completion_tokens: 8_000 }
      server.answerWith(() => streaming(streamEvents(['\u6f22'.repeat(4_000)], billed)))
      const response = await server.post('/v1/chat/completions', chat({ stream: true }), {
        'x-max-cost-usd': '0.05',
      })
      await response.text()
      const paid = before - (await server.balance())
      expect(paid).toBeLessThanOrEqual(USD / 20n)
      expect(paid).toBeGreaterThan(USD / 25n)
    })
  })
