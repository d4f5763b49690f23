/** Sources of an answer as the official clients read them, from a vendor of another dialect, whole and streamed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { streaming } from '../server/harness.ts'
import { type ListeningServer, listen } from './harness.ts'

let it: ListeningServer
let root: string
const model = 'local/echo-1'
const url = 'https://example.com/lake'
const text = 'Zürich lies on a lake.'
const annotations = [
  { type: 'url_citation', url_citation: { url, title: 'Lake', start_index: 0, end_index: text.length } },
]
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const head = { id: 'c', created: 1, model: 'm' }
const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`

beforeAll(async () => {
  it = await listen()
  root = it.baseURL.replace(/\/v1$/, '')
  it.server.answerWith(({ body }) => {
    const message = { role: 'assistant', content: text, annotations }
    return body.stream === true
      ? streaming([
          chunk({ role: 'assistant', content: text }, null),
          chunk({ annotations }, 'stop', { usage }),
          'data: [DONE]\n\n',
        ])
      : Response.json({ ...head, choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
  })
})

afterAll(() => it.stop())

test('@anthropic-ai/sdk', async () => {
  const client = new Anthropic({ apiKey: it.key, baseURL: root, maxRetries: 0 })
  const asked = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] }
  const answers = [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]
  for (const { content } of answers)
    expect(content).toMatchObject([{ type: 'text', text, citations: [{ url, title: 'Lake' }] }])
})

test('openai, responses', async () => {
  const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
  const answers = [
    await client.responses.create({ model, input: 'hi' }),
    await client.responses.stream({ model, input: 'hi' }).finalResponse(),
  ]
  const content = [
    { type: 'output_text', text, annotations: [{ url, title: 'Lake', start_index: 0, end_index: 22 }] },
  ]
  for (const { output } of answers) expect(output).toMatchObject([{ type: 'message', content }])
})

test('@google/genai', async () => {
  const client = new GoogleGenAI({ apiKey: it.key, httpOptions: { baseUrl: root } })
  const whole = await client.models.generateContent({ model, contents: 'hi' })
  let last = whole
  for await (const piece of await client.models.generateContentStream({ model, contents: 'hi' })) last = piece
  for (const { candidates } of [whole, last])
    expect(candidates?.[0]?.groundingMetadata).toMatchObject({
      groundingChunks: [{ web: { uri: url, title: 'Lake' } }],
      groundingSupports: [{ segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text } }],
    })
})

test.each([
  ['@ai-sdk/openai', () => createOpenAI({ baseURL: it.baseURL, apiKey: it.key })(model)],
  ['@ai-sdk/anthropic', () => createAnthropic({ baseURL: it.baseURL, apiKey: it.key })(model)],
  ['@ai-sdk/google', () => createGoogleGenerativeAI({ baseURL: `${it.baseURL}beta`, apiKey: it.key })(model)],
])('%s', async (_name, open) => {
  const whole = await generateText({ model: open(), prompt: 'hi', maxRetries: 0 })
  const stream = streamText({ model: open(), prompt: 'hi', maxRetries: 0 })
  await stream.consumeStream()
  for (const answer of [whole, { text: await stream.text, sources: await stream.sources }]) {
    expect(answer.text).toBe(text)
    expect(answer.sources).toMatchObject([{ sourceType: 'url', url, title: 'Lake' }])
  }
})
