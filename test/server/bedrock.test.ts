/** A vendor that speaks Converse in Amazon's binary framing, asked by callers of other dialects. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { awsMessage } from './aws-message.ts'
import { chat, eventsOf, jsonOf, startTestServer, type TestServer, testModel } from './harness.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    vendor: { speaks: 'converse', framing: 'aws' },
    models: [
      testModel('small', {
        upstreamName: 'anthropic.claude-x-v1:0',
        capabilities: ['streaming', 'reasoning'],
      }),
    ],
  })
})
afterAll(() => server.stop())

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 115, cacheReadInputTokens: 100 }
/** 10 input, 100 cached and 5 output tokens at the test model's prices. */
const COST = 10n * 1_000n + 100n * 100n + 5n * 10_000n

const stream = (events: readonly (readonly [string, object])[]) =>
  new Response(
    new Blob(
      events.map(
        ([type, payload]) =>
          awsMessage(
            { ':message-type': 'event', ':event-type': type },
            JSON.stringify(payload),
          ) as Uint8Array<ArrayBuffer>,
      ),
    ).stream(),
  )

test('a chat call with a tool result, whole', async () => {
  server.answerWith(() =>
    Response.json({
      output: { message: { role: 'assistant', content: [{ text: 'It is ' }, { text: 'sunny.' }] } },
      stopReason: 'end_turn',
      usage,
    }),
  )
  const before = await server.balance()
  const response = await server.post(
    '/v1/chat/completions',
    chat({
      max_tokens: 100,
      seed: 4,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call:1', type: 'function', function: { name: 'look', arguments: '{"at":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call:1', content: 'sun' },
      ],
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    }),
  )
  const answer = await jsonOf(response)
  expect(answer.choices[0]).toMatchObject({ message: { content: 'It is sunny.' }, finish_reason: 'stop' })
  expect(answer.usage).toMatchObject({
    prompt_tokens: 110,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 100 },
  })
  expect(response.headers.get('x-not-carried')).toBe('seed')
  expect(before - (await server.balance())).toBe(COST)
  const asked = server.asked.at(-1)!
  expect(asked.url).toEndWith('/model/anthropic.claude-x-v1%3A0/converse')
  expect(asked.body).toEqual({
    system: [{ text: 'Be short.' }],
    messages: [
      { role: 'user', content: [{ text: 'Weather?' }] },
      {
        role: 'assistant',
        content: [{ toolUse: { toolUseId: 'call_1', name: 'look', input: { at: 'Rome' } } }],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'sun' }] } }] },
    ],
    inferenceConfig: { maxTokens: 100 },
    toolConfig: { tools: [{ toolSpec: { name: 'look', inputSchema: { json: { type: 'object' } } } }] },
  })
})

test('a stream with reasoning and a tool call, to a caller of the messages style', async () => {
  server.answerWith(() =>
    stream([
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm.' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'c2ln' } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 't1', name: 'look' } } }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"at":' } } }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '"Rome"}' } } }],
      ['messageStop', { stopReason: 'tool_use' }],
      ['metadata', { usage, metrics: { latencyMs: 1 } }],
    ]),
  )
  const before = await server.balance()
  const response = await server.post('/v1/messages', {
    model: 'mock/small',
    max_tokens: 4_000,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    messages: [{ role: 'user', content: 'Weather?' }],
  })
  const events = (await response.text())
    .split('\n\n')
    .flatMap((block) =>
      block.startsWith('event: ') ? [JSON.parse(block.slice(block.indexOf('data: ') + 6))] : [],
    )
  const blocks = events
    .filter(({ type }) => type === 'content_block_start')
    .map(({ content_block }) => content_block.type)
  expect(blocks).toEqual(['thinking', 'tool_use'])
  expect(events.find(({ delta }) => delta?.type === 'signature_delta').delta.signature).toBe('c2ln')
  expect(
    events
      .filter(({ delta }) => delta?.type === 'input_json_delta')
      .map(({ delta }) => delta.partial_json)
      .join(''),
  ).toBe('{"at":"Rome"}')
  expect(events.at(-2)).toMatchObject({
    delta: { stop_reason: 'tool_use' },
    usage: { input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 5 },
  })
  expect(server.asked.at(-1)!.body.additionalModelRequestFields).toEqual({
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  })
  expect(before - (await server.balance())).toBe(COST)
})

test('a schema goes as a tool and comes back as text', async () => {
  server.answerWith(({ body }) => {
    const name = (body.toolConfig as any).toolChoice.tool.name
    return Response.json({
      output: {
        message: { role: 'assistant', content: [{ toolUse: { toolUseId: 't', name, input: { ok: true } } }] },
      },
      stopReason: 'tool_use',
      usage,
    })
  })
  const format = {
    type: 'json_schema',
    json_schema: { name: 'x', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
  }
  const answer = await jsonOf(await server.post('/v1/chat/completions', chat({ response_format: format })))
  expect(answer.choices[0]).toMatchObject({ message: { content: '{"ok":true}' }, finish_reason: 'stop' })
})

test('an exception in mid-stream ends the stream with an error, damaged bytes too', async () => {
  for (const last of [
    awsMessage(
      { ':message-type': 'exception', ':exception-type': 'modelStreamErrorException' },
      '{"message":"broken"}',
    ),
    new Uint8Array(64).fill(1),
  ]) {
    server.answerWith(() => {
      const first = awsMessage(
        { ':message-type': 'event', ':event-type': 'contentBlockDelta' },
        '{"delta":{"text":"half"}}',
      )
      const pieces = [first, last]
      return new Response(
        new ReadableStream({
          pull: async (controller) => {
            const piece = pieces.shift()
            if (piece === undefined) return controller.close()
            await Bun.sleep(1)
            controller.enqueue(piece)
          },
        }),
      )
    })
    const events = eventsOf(await (await server.post('/v1/chat/completions', chat({ stream: true }))).text())
    expect(events.at(-1)).toContain('upstream_error')
    while (server.gateway.book.health().openCalls > 0) await Bun.sleep(1)
  }
})

test('what Converse cannot say is refused by name', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } }
  const response = await server.post(
    '/v1/chat/completions',
    chat({ messages: [{ role: 'user', content: [image] }] }),
  )
  expect([response.status, (await jsonOf(response)).error.param]).toEqual([400, 'image'])
})
