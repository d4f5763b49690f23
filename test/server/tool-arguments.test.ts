/**
 * Arguments of tools, between all callers' and vendors' dialects: what the model wrote arrives with every digit, whole and
 * streamed, in answers and in what is sent back; and what is no JSON is a fault, never a call without arguments.
 */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { callerDialects } from '../../src/dialects/index.ts'
import type { Reply } from '../../src/dialects/neutral.ts'
import { converseAnswer, converseStream } from '../dialects/converse.ts'
import { billed, context, type SharedDialectId, stepsOf, streamOf } from '../dialects/steps.ts'
import { startTestServer, type TestServer, testModel, USD } from './harness.ts'

const vendors = ['chat', 'messages', 'gemini', 'responses', 'converse'] as const
type VendorId = (typeof vendors)[number]

const replyWith = (text: string): Omit<Reply, 'usage'> => ({
  id: 'r_1',
  model: 'small',
  choices: [
    {
      parts: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_call', id: 'call_1', name: 'find', arguments: text },
      ],
      finish: 'tool_calls',
    },
  ],
})

/** As a network brings it, so that the answer has begun before its end is there. */
const inPieces = (bytes: Uint8Array) =>
  (async function* () {
    for (let at = 0; at < bytes.length; at += 100) {
      yield bytes.subarray(at, at + 100)
      await Bun.sleep(0)
    }
  })() as never

/** The vendor's answer, as its own dialect writes it. */
const vendorAnswer = (vendor: VendorId, text: string, stream: boolean): Response => {
  const reply = replyWith(text)
  if (vendor === 'converse')
    return stream
      ? new Response(inPieces(converseStream(reply, 3)), {
          headers: { 'content-type': 'application/vnd.amazon.eventstream' },
        })
      : Response.json(converseAnswer(reply))
  const { writeReply, streamWriter } = callerDialects[vendor]
  return stream
    ? new Response(inPieces(streamOf(stepsOf(reply), streamWriter(context(), false))), {
        headers: { 'content-type': 'text/event-stream' },
      })
    : Response.json(writeReply({ ...reply, usage: billed.usage }, context()))
}

const schemaText = '{"type":"object","properties":{"n":{"type":"integer","maximum":98765432109876543210}}}'
const gemini = (stream: boolean) =>
  `/v1beta/models/mock/small:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`

/** A conversation with a call and its result, as JSON text, because its numbers would lose digits as values. */
const asked: Record<
  SharedDialectId,
  (args: string, stream: boolean) => readonly [path: string, body: string]
> = {
  chat: (args, stream) => [
    '/v1/chat/completions',
    `{"model":"mock/small","stream":${stream},"tools":[{"type":"function","function":{"name":"find","parameters":${schemaText}}}],
      "messages":[{"role":"user","content":"hi"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"find","arguments":${JSON.stringify(args)}}}]},
      {"role":"tool","tool_call_id":"call_1","content":"ok"}]}`,
  ],
  messages: (args, stream) => [
    '/v1/messages',
    `{"model":"mock/small","max_tokens":100,"stream":${stream},"tools":[{"name":"find","input_schema":${schemaText}}],
      "messages":[{"role":"user","content":"hi"},
      {"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"find","input":${args}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"ok"}]}]}`,
  ],
  gemini: (args, stream) => [
    gemini(stream),
    `{"tools":[{"functionDeclarations":[{"name":"find","parametersJsonSchema":${schemaText}}]}],
      "contents":[{"role":"user","parts":[{"text":"hi"}]},
      {"role":"model","parts":[{"functionCall":{"name":"find","args":${args}}}]},
      {"role":"user","parts":[{"functionResponse":{"name":"find","response":{"result":"ok"}}}]}]}`,
  ],
  responses: (args, stream) => [
    '/v1/responses',
    `{"model":"mock/small","stream":${stream},"tools":[{"type":"function","name":"find","parameters":${schemaText}}],
      "input":[{"role":"user","content":"hi"},
      {"type":"function_call","call_id":"call_1","name":"find","arguments":${JSON.stringify(args)}},
      {"type":"function_call_output","call_id":"call_1","output":"ok"}]}`,
  ],
  interactions: (args, stream) => [
    '/v1beta/interactions',
    `{"model":"mock/small","stream":${stream},"tools":[{"type":"function","name":"find","parameters":${schemaText}}],
      "input":[{"type":"user_input","content":[{"type":"text","text":"hi"}]},
      {"type":"function_call","id":"call_1","name":"find","arguments":${args}},
      {"type":"function_result","call_id":"call_1","name":"find","result":"ok"}]}`,
  ],
}

/** All texts in an answer, with its events put together, as a client reads arguments out of it. */
const read = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/^data: /, ''))
    .flatMap((line) =>
      [...line.matchAll(/"(?:arguments|partial_json|delta)":\s*"((?:[^"\\]|\\.)*)"/g)].map(([, one]) => one),
    )
    .map((one) => JSON.parse(`"${one}"`))
    .join('') + text

const from = async (vendor: VendorId, work: (server: TestServer) => Promise<void>): Promise<void> => {
  const server = await startTestServer({
    vendor: vendor === 'chat' ? {} : { speaks: vendor, ...(vendor === 'converse' ? { framing: 'aws' } : {}) },
    models: [testModel('small', { capabilities: ['streaming', 'function_calling'] })],
  })
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

const send = (server: TestServer, [path, body]: readonly [string, string]) =>
  server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    }),
  )
let token = ''

const hasError = (text: string): boolean => /"error": ?\{/.test(text)

/** Whole numbers and fractions with more digits than a double has. */
const long = fc.oneof(
  fc.bigInt({ min: 2n ** 53n + 1n, max: 10n ** 30n }).map((n) => `${n}`),
  fc.bigInt({ min: -(10n ** 30n), max: -(2n ** 53n) - 1n }).map((n) => `${n}`),
  fc.bigInt({ min: 10n ** 18n, max: 10n ** 24n }).map((n) => `0.${n}1`),
)

describe.each(vendors.map((vendor) => [vendor] as const))('a vendor of %s', (vendor) => {
  test.each(['chat', 'messages', 'gemini', 'responses'] as const)('and a caller of %s', (caller) =>
    from(vendor, async (server) => {
      token = (await server.newKey()).token
      await fc.assert(
        fc.asyncProperty(long, fc.boolean(), async (number, stream) => {
          const args = `{"n":${number},"deep":[{"input":{"m":${number}}}]}`
          server.answerWith(() => vendorAnswer(vendor, args, stream))
          const response = await send(server, asked[caller](args, stream))
          const text = await response.text()
          expect([response.status, hasError(text)]).toEqual([200, false])
          const compact = read(text).replaceAll(/\s/g, '')
          expect(compact).toContain(`"n":${number}`)
          expect(compact).toContain(`{"m":${number}}`)
          const sent = (server.asked.at(-1)?.text ?? '').replaceAll('\\"', '"').replaceAll(/\s/g, '')
          expect(sent).toContain(`{"n":${number},"deep":[{"input":{"m":${number}}}]}`)
          expect(sent).toContain('98765432109876543210')
        }),
        { numRuns: 12 },
      )
    }),
  )
})

describe.each(['chat', 'responses'] as const)('arguments that a model of %s does not end', (vendor) => {
  test.each(['messages', 'gemini'] as const)('are a fault to a caller of %s, whole and streamed', (caller) =>
    from(vendor, async (server) => {
      token = (await server.newKey()).token
      for (const stream of [false, true])
        for (const args of ['{"path": "/etc", "force"', '["a"]', 'rm -rf']) {
          server.answerWith(() => vendorAnswer(vendor, args, stream))
          const response = await send(server, asked[caller]('{"n":1}', stream))
          const text = await response.text()
          expect([args, response.status]).toEqual([args, stream ? 200 : 503])
          expect(hasError(text)).toBe(true)
          expect(text).not.toMatch(/"(?:message_stop|STOP)"/)
        }
      expect(await server.heldAfterAll()).toBe(0n)
    }),
  )
})

test.each(['chat', 'messages', 'responses', 'interactions'] as const)(
  'a call that its vendor cannot read is a fault to a caller of %s, asked once and free',
  (caller) =>
    from('gemini', async (server) => {
      token = (await server.newKey()).token
      const content = { role: 'model', parts: [] }
      const answer = {
        candidates: [{ content, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
      }
      for (const stream of [false, true]) {
        const count = server.asked.length
        server.answerWith(() =>
          stream
            ? new Response(`data: ${JSON.stringify(answer)}\n\n`, {
                headers: { 'content-type': 'text/event-stream' },
              })
            : Response.json(answer),
        )
        const response = await send(server, asked[caller]('{"n":1}', stream))
        expect([response.status, hasError(await response.text())]).toEqual([503, true])
        expect(server.asked.length).toBe(count + 1)
      }
      expect(await server.balance()).toBe(100n * USD)
      expect(await server.heldAfterAll()).toBe(0n)
    }),
)

test('a call of an earlier turn that cannot be read goes on as what the model wrote', async () => {
  for (const vendor of ['messages', 'gemini', 'converse'] as const)
    await from(vendor, async (server) => {
      token = (await server.newKey()).token
      server.answerWith(() => vendorAnswer(vendor, '{"n":1}', false))
      const response = await send(server, asked.chat('{"path": "/etc", "force"', false))
      expect(response.status).toBe(200)
      expect(server.asked.at(-1)?.text).toContain(
        JSON.stringify({ unreadable_arguments: '{"path": "/etc", "force"' }),
      )
    })
})
