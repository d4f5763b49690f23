/** What guardrails mask comes back to official clients, whole and streamed; the page's example runs as it is written. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { withRules } from '../server/guard-rig.ts'
import { completion, startTestServer, streaming, testModel } from '../server/harness.ts'
import { blocksOf } from './documented.ts'
import { type ListeningServer, listen } from './harness.ts'

let it: ListeningServer
let root: string
const model = 'local/echo-1'
const EMAIL = 'ann@example.com'
const ask = `Write to ${EMAIL}.`
const text = `I wrote to ${EMAIL}!`
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const head = { id: 'c', created: 1, model: 'm' }
const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`

beforeAll(async () => {
  it = await listen({ responsesKeptMs: 3_600_000 })
  root = it.baseURL.replace(/\/v1$/, '')
  await withRules(it.server, [{ detect: ['email'], action: 'mask', on: 'input' }])
  it.server.answerWith(({ body, text: sent }) => {
    const content = sent.includes(EMAIL) ? 'leaked' : 'I wrote to [EMAIL_1]!'
    const message = { role: 'assistant', content }
    return body.stream === true
      ? streaming([
          ...[...content].map((letter) => chunk({ role: 'assistant', content: letter }, null)),
          chunk({}, 'stop', { usage }),
          'data: [DONE]\n\n',
        ])
      : Response.json({
          ...head,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage,
        })
  })
})
afterAll(() => it.stop())

test('openai, chat and responses', async () => {
  const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: ask }]
  const whole = await client.chat.completions.create({ model, messages })
  const streamed = await client.chat.completions.stream({ model, messages }).finalChatCompletion()
  expect([whole, streamed].map(({ choices }) => choices[0]?.message.content)).toEqual([text, text])
  const asked = { model, input: ask, store: false }
  const answers = [await client.responses.create(asked), await client.responses.stream(asked).finalResponse()]
  expect(answers.map((answer) => answer.output_text)).toEqual([text, text])
})

test('the AI SDK as it is, whose second turn names what the first one left here', async () => {
  const named = createOpenAI({ apiKey: it.key, baseURL: it.baseURL })(model)
  const first = [{ role: 'user' as const, content: ask }]
  const { text: whole, response } = await generateText({ model: named, messages: first })
  const messages = [...first, ...response.messages, { role: 'user' as const, content: 'And again.' }]
  const before = it.server.asked.length
  const second = await streamText({ model: named, messages }).text
  expect([whole, second]).toEqual([text, text])
  const sent = JSON.stringify(it.server.asked.slice(before))
  expect([sent.includes('[EMAIL_1]!'), sent.includes(EMAIL)]).toEqual([true, false])
})

test('@anthropic-ai/sdk', async () => {
  const client = new Anthropic({ apiKey: it.key, baseURL: root, maxRetries: 0 })
  const asked = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: ask }] }
  const answers = [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]
  for (const { content } of answers) expect(content).toMatchObject([{ type: 'text', text }])
})

test('@google/genai', async () => {
  const client = new GoogleGenAI({ apiKey: it.key, httpOptions: { baseUrl: root } })
  expect((await client.models.generateContent({ model, contents: ask })).text).toBe(text)
  let said = ''
  for await (const piece of await client.models.generateContentStream({ model, contents: ask }))
    said += piece.text ?? ''
  expect(said).toBe(text)
})

test('the commands of docs/guardrails.md run as they are written', async () => {
  const server = await startTestServer({ models: [testModel('small', { id: 'openai/gpt-5-mini' })] })
  server.answerWith(({ text: sent }) =>
    completion(sent.includes('ann@') ? 'leaked' : 'Dear [EMAIL_1], [EMPLOYEE_1]'),
  )
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-guardrails-'))
  const { token } = await server.newKey({}, { canManage: true })
  const env = { PATH: process.env.PATH ?? '', GATE: `http://127.0.0.1:${bound.port}`, KEY: token }
  for (const block of await blocksOf('guardrails.md')) {
    const shell = Bun.spawn(['sh', '-e', '-c', block], { cwd: folder, env, stderr: 'pipe', stdout: 'ignore' })
    expect([await new Response(shell.stderr).text(), await shell.exited]).toEqual(['', 0])
  }
  const answer = JSON.parse(await readFile(join(folder, 'answer.json'), 'utf8'))
  expect(answer.choices[0].message.content).toBe('Dear ann@example.com, EMP-123456')
  await bound.stop(true)
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})
