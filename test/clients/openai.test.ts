/** The official client library of OpenAI, with only its address and key changed. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { byTest } from '../by-test.ts'
import { until } from '../until.ts'
import { type ListeningServer, listen } from './harness.ts'

let it: ListeningServer
let client: OpenAI
const model = 'local/echo-1'
const hello = [{ role: 'user' as const, content: 'Hello there' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
}
const time = {
  type: 'function' as const,
  function: {
    name: 'get_time',
    description: 'Time',
    parameters: { type: 'object', properties: { zone: { type: 'string' } } },
  },
}

beforeAll(async () => {
  it = await listen()
  client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
})

afterAll(() => it.stop())

test('chat: an answer with its usage and cost', async () => {
  const { data, response } = await client.chat.completions.create({ model, messages: hello }).withResponse()
  expect(data.choices[0]?.message.content).toBe('You said: Hello there')
  expect(data.usage?.total_tokens).toBe(
    (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0),
  )
  expect((data.usage as { cost?: number }).cost).toBeGreaterThan(0)
  expect(response.headers.get('x-request-id')).toBeTruthy()
})

test('chat: max_tokens ends with length, stop sequences stop, n gives several', async () => {
  const short = await client.chat.completions.create({ model, messages: hello, max_tokens: 2 })
  expect([short.choices[0]?.finish_reason, short.usage?.completion_tokens]).toEqual(['length', 2])
  const stopped = await client.chat.completions.create({ model, messages: hello, stop: 'Hello' })
  expect(stopped.choices[0]?.message.content).toBe('You said:')
  const several = await client.chat.completions.create({ model, messages: hello, n: 3 })
  expect(several.choices.length).toBe(3)
})

test('stream: the pieces join to the answer, the usage comes last when asked', async () => {
  const stream = await client.chat.completions.create({
    model,
    messages: hello,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: OpenAI.CompletionUsage | null | undefined
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    if (chunk.usage) usage = chunk.usage
  }
  expect(text).toBe('You said: Hello there')
  expect(usage?.completion_tokens).toBeGreaterThan(0)
})

test('stream helper: the final completion is assembled', async () => {
  const runner = client.chat.completions.stream({ model, messages: hello })
  const final = await runner.finalChatCompletion()
  expect(final.choices[0]?.message.content).toBe('You said: Hello there')
})

test('tools: parallel calls, whole and streamed, and the turn after', async () => {
  const messages = [{ role: 'user' as const, content: 'use get_weather and get_time' }]
  const whole = await client.chat.completions.create({ model, messages, tools: [weather, time] })
  const calls = whole.choices[0]?.message.tool_calls ?? []
  expect(whole.choices[0]?.finish_reason).toBe('tool_calls')
  expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
    'get_weather',
    'get_time',
  ])
  const runner = client.chat.completions.stream({ model, messages, tools: [weather, time] })
  const streamed = (await runner.finalChatCompletion()).choices[0]?.message.tool_calls ?? []
  expect(
    streamed.map((call) =>
      call.type === 'function' ? [call.id, call.function.name, JSON.parse(call.function.arguments)] : [],
    ),
  ).toEqual(
    calls.map((call) =>
      call.type === 'function' ? [call.id, call.function.name, JSON.parse(call.function.arguments)] : [],
    ),
  )
  const after = await client.chat.completions.create({
    model,
    tools: [weather],
    messages: [
      ...messages,
      whole.choices[0]!.message,
      { role: 'tool', tool_call_id: calls[0]!.id, content: 'sunny' },
      { role: 'tool', tool_call_id: calls[1]!.id, content: 'noon' },
    ],
  })
  expect(after.choices[0]?.message.content).toContain('noon')
})

test('legacy functions and structured output', async () => {
  const legacy = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'f1 please' }],
    functions: [{ name: 'f1', parameters: { type: 'object', properties: {} } }],
  })
  expect([legacy.choices[0]?.finish_reason, legacy.choices[0]?.message.function_call?.name]).toEqual([
    'function_call',
    'f1',
  ])
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  }
  const structured = await client.chat.completions.create({
    model,
    messages: hello,
    response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
  })
  expect(JSON.parse(structured.choices[0]?.message.content ?? '')).toEqual({ name: 'Hello there', age: 1 })
})

test('embeddings: the default base64 and floats are the same vectors', async () => {
  const embed = 'local/hash-embed-1'
  const packed = await client.embeddings.create({ model: embed, input: ['one text', 'another'] })
  const plain = await client.embeddings.create({
    model: embed,
    input: ['one text', 'another'],
    encoding_format: 'float',
  })
  expect(packed.data.length).toBe(2)
  for (const [index, { embedding }] of plain.data.entries())
    for (const [at, value] of embedding.entries())
      expect(packed.data[index]?.embedding[at]).toBeCloseTo(value, 6)
  expect(packed.usage.prompt_tokens).toBe(3)
})

test('models: listed and retrieved, also with a slash in the id', async () => {
  const listed = await client.models.list()
  expect(listed.data.map(({ id }) => id)).toContain(model)
  expect((await client.models.retrieve(model)).id).toBe(model)
})

test('errors become the library’s error classes', async () => {
  const fails = async (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    )
  const wrongKey = new OpenAI({ apiKey: 'sk-wrongwrongwrongwrong', baseURL: it.baseURL, maxRetries: 0 })
  expect(await fails(wrongKey.models.list())).toBeInstanceOf(OpenAI.AuthenticationError)
  const unknown = await fails(client.chat.completions.create({ model: 'local/nope', messages: hello }))
  expect(unknown).toBeInstanceOf(OpenAI.BadRequestError)
  expect((unknown as InstanceType<typeof OpenAI.APIError>).code).toBe('model_not_found')
  expect(
    await fails(client.chat.completions.create({ model, messages: hello, temperature: 9 })),
  ).toBeInstanceOf(OpenAI.BadRequestError)
  const limited = await it.server.newKey({ rpm: 1 })
  const slow = new OpenAI({ apiKey: limited.token, baseURL: it.baseURL, maxRetries: 0 })
  const both = await Promise.all(
    [1, 2, 3].map(() => fails(slow.chat.completions.create({ model, messages: hello }))),
  )
  expect(both.filter((error) => error instanceof OpenAI.RateLimitError).length).toBeGreaterThan(0)
  const off = await it.server.newKey()
  await it.server.store.keys.changeKey(off.id, { disabledReason: 'operator', byCreator: true }, byTest)
  expect(
    await fails(new OpenAI({ apiKey: off.token, baseURL: it.baseURL, maxRetries: 0 }).models.list()),
  ).toBeInstanceOf(OpenAI.PermissionDeniedError)
})

test('an abort in mid-stream stops the vendor, and the delivered part is paid', async () => {
  const before = await it.server.balance()
  const long = 'word '.repeat(20_000)
  const stream = await client.chat.completions.create({
    model,
    stream: true,
    messages: [{ role: 'user', content: long }],
  })
  let pieces = 0
  for await (const _chunk of stream) if (++pieces === 10) break
  stream.controller.abort()
  await until(async () => (await it.server.balance()) !== before, 5)
  const paid = before - (await it.server.balance())
  expect(paid).toBeGreaterThan(0n)
  // The whole answer would be 20 000 tokens out: 400 000 nano-dollars and more.
  expect(paid).toBeLessThan(700_000n)
})
