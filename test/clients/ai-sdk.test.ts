/** The AI SDK with its OpenAI-compatible provider, unchanged but for its address and key. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embedMany, generateText, jsonSchema, streamText, tool } from 'ai'
import { type ListeningServer, listen } from './harness.ts'

let it: ListeningServer
let provider: ReturnType<typeof createOpenAICompatible>

beforeAll(async () => {
  it = await listen()
  provider = createOpenAICompatible({
    name: 'turnpike',
    baseURL: it.baseURL,
    apiKey: it.key,
    includeUsage: true,
  })
})

afterAll(() => it.stop())

test('text, with its usage', async () => {
  const { text, usage, finishReason } = await generateText({
    model: provider('local/echo-1'),
    prompt: 'Hello',
  })
  expect([text, finishReason]).toEqual(['You said: Hello', 'stop'])
  expect(usage.outputTokens).toBeGreaterThan(0)
})

test('a stream', async () => {
  const result = streamText({ model: provider('local/echo-1'), prompt: 'Hello' })
  let text = ''
  for await (const piece of result.textStream) text += piece
  expect(text).toBe('You said: Hello')
  expect((await result.usage).outputTokens).toBeGreaterThan(0)
})

test('a tool call', async () => {
  const result = await generateText({
    model: provider('local/echo-1'),
    prompt: 'use lookup',
    tools: {
      lookup: tool({
        description: 'Looks up',
        inputSchema: jsonSchema<{ word: string }>({
          type: 'object',
          properties: { word: { type: 'string' } },
          required: ['word'],
        }),
      }),
    },
  })
  expect(result.toolCalls.map(({ toolName, input }) => [toolName, input])).toEqual([
    ['lookup', { word: 'use lookup' }],
  ])
})

test('embeddings', async () => {
  const { embeddings } = await embedMany({
    model: provider.embeddingModel('local/hash-embed-1'),
    values: ['a b', 'c d'],
  })
  expect(embeddings.length).toBe(2)
  expect(Math.hypot(...embeddings[0]!)).toBeCloseTo(1, 5)
})

test('an error is an error', async () => {
  const failing = generateText({ model: provider('local/none'), prompt: 'x', maxRetries: 0 })
  expect(failing).rejects.toThrow(/no chat model/)
})
