/**
 * The first event of a stream of messages gives the input as well as it is known by then; the last gives it exactly.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { type FiveVendors, listenWithVendors, modelOf, vendorIds } from './harness.ts'
import { counts } from './vendors/script.ts'

let it: FiveVendors
let client: Anthropic

beforeAll(async () => {
  it = await listenWithVendors()
  client = new Anthropic({ apiKey: it.key, baseURL: it.baseURL.replace(/\/v1$/, ''), maxRetries: 0 })
})

afterAll(() => it.stop())

const streamed = async (model: string, content: string) => {
  const stream = client.messages.stream({ model, max_tokens: 4_000, messages: [{ role: 'user', content }] })
  const first = Promise.withResolvers<Anthropic.Usage>()
  stream.on('streamEvent', (event) => {
    if (event.type === 'message_start') first.resolve({ ...event.message.usage })
  })
  const { usage } = await stream.finalMessage()
  return { first: await first.promise, last: usage }
}

test.each(vendorIds)('@anthropic-ai/sdk before a vendor that speaks %s', async (id) => {
  const { first, last } = await streamed(modelOf[id], 'Hello there, how are you?')
  expect([last.input_tokens, last.output_tokens]).toEqual([counts.input, counts.output])
  // OpenAI's dialects and interactions report nothing before the end; the estimate is that of counting tokens.
  if (id === 'messages' || id === 'gemini') expect(first.input_tokens).toBe(counts.input)
  const { input_tokens } = await client.messages.countTokens({
    model: modelOf.chat,
    messages: [{ role: 'user', content: 'Hello there, how are you?' }],
  })
  if (id === 'chat') {
    expect(first.input_tokens).toBeGreaterThan(input_tokens / 2)
    expect(first.input_tokens).toBeLessThan(input_tokens * 2)
  }
})

test('the estimate grows with what is sent', async () => {
  const short = await streamed(modelOf.chat, 'Hello')
  const long = await streamed(modelOf.chat, 'word'.repeat(1_000))
  expect(long.first.input_tokens - short.first.input_tokens).toBeGreaterThan(990)
  expect(long.last.input_tokens).toBe(counts.input)
})
