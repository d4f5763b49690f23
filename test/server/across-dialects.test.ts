/** What agents send as they are, over HTTP, to vendors of another dialect than their own. */
import { expect, test } from 'bun:test'
import type { VendorDialectId } from '../../src/dialects/dialect.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { completion, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

const hi = [{ role: 'user', content: 'hi' }]

const whole: Readonly<Record<'chat' | 'messages' | 'gemini', () => Response>> = {
  chat: () => completion('hello'),
  messages: () =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  gemini: () =>
    Response.json({
      candidates: [
        { content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
    }),
}

/** Runs `work` before a server whose vendor speaks a dialect. */
const before = async (
  speaks: Exclude<VendorDialectId, 'converse'>,
  work: (server: TestServer) => Promise<void>,
  more: { vendor?: Partial<Vendor>; name?: string } = {},
): Promise<void> => {
  const model = {
    ...testModel(more.name ?? 'small', { capabilities: ['streaming', 'function_calling', 'reasoning'] }),
    id: 'mock/small',
  }
  const server = await startTestServer({
    vendor: { ...(speaks === 'chat' ? {} : { speaks }), ...more.vendor },
    models: [model],
  })
  server.answerWith(() => whole[speaks]())
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

const callers = {
  chat: ['/v1/chat/completions', { model: 'mock/small', messages: hi }, 'max_tokens'],
  messages: ['/v1/messages', { model: 'mock/small', messages: hi }, 'max_tokens'],
  responses: ['/v1/responses', { model: 'mock/small', input: 'hi' }, 'max_output_tokens'],
} as const

const sentBound = (body: any): number => body.max_tokens ?? body.generationConfig?.maxOutputTokens

test.each(['chat', 'messages', 'gemini'] as const)(
  'a bound above what a model of %s gives: lowered and told, in its own dialect refused',
  (speaks) =>
    before(speaks, async (server) => {
      for (const [caller, [path, body, member]] of Object.entries(callers)) {
        const response = await server.post(path, { ...body, [member]: 32_000 })
        const told = [response.status, response.headers.get('x-max-tokens-lowered')]
        if (caller === speaks) {
          expect([caller, told, (await jsonOf(response)).error.param]).toEqual([
            caller,
            [400, null],
            'max_tokens',
          ])
          continue
        }
        expect([caller, told]).toEqual([caller, [200, '8192']])
        expect(sentBound(server.asked.at(-1)?.body)).toBe(8_192)
        const fits = await server.post(path, { ...body, [member]: 8_192 })
        expect([fits.status, fits.headers.get('x-max-tokens-lowered')]).toEqual([200, null])
      }
      expect(await server.heldAfterAll()).toBe(0n)
    }),
)

test('messages: a text without sources has no member for them', () =>
  before('chat', async (server) => {
    const response = await server.post('/v1/messages', { ...callers.messages[1], max_tokens: 9 })
    expect((await jsonOf(response)).content).toEqual([{ type: 'text', text: 'hello' }])
  }))
