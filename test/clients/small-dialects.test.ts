/** The official clients of the small dialects beyond the matrix: charges, sources, repeats, lists and embeddings. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CohereError } from 'cohere-ai'
import OpenAI from 'openai'
import { streaming } from '../server/harness.ts'
import { gathered, openCohere } from './drivers/cohere.ts'
import { openOllama } from './drivers/ollama.ts'
import {
  type FiveVendors,
  type ListeningServer,
  listen,
  listenWithVendors,
  modelOf,
  vendorIds,
} from './harness.ts'

let it: FiveVendors
let local: ListeningServer
let openai: OpenAI

beforeAll(async () => {
  it = await listenWithVendors()
  local = await listen()
  openai = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
})
afterAll(async () => {
  await it.stop()
  await local.stop()
})

/** What one call cost, once all of it is charged. */
const costOf = async (server: ListeningServer['server'], call: () => Promise<unknown>): Promise<bigint> => {
  const before = await server.balance()
  await call()
  while (server.openCalls() > 0) await Bun.sleep(1)
  return before - (await server.balance())
}

const drained = async (stream: AsyncIterable<unknown>) => {
  let count = 0
  for await (const _ of stream) count++
  return count
}

test.each([...vendorIds])(
  'a call costs in each style what it costs in chat completions, before %s',
  async (vendor) => {
    const model = modelOf[vendor]
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const { v2 } = openCohere(it)
    const ollama = openOllama(it)
    const max_tokens = 500
    const options = { num_predict: max_tokens }
    const expected = await costOf(it.server, () =>
      openai.chat.completions.create({ model, messages, max_tokens }),
    )
    expect(expected > 0n).toBe(true)
    for (const call of [
      () => openai.completions.create({ model, prompt: 'hi', max_tokens }),
      async () => drained(await openai.completions.create({ model, prompt: 'hi', max_tokens, stream: true })),
      () => v2.chat({ model, messages, maxTokens: max_tokens }),
      async () => drained(await v2.chatStream({ model, messages, maxTokens: max_tokens })),
      () => ollama.chat({ model, messages, options, stream: false }),
      async () => drained(await ollama.chat({ model, messages, options, stream: true })),
      () => ollama.generate({ model, prompt: 'hi', options, stream: false }),
      async () => drained(await ollama.generate({ model, prompt: 'hi', options, stream: true })),
    ])
      expect(await costOf(it.server, call)).toBe(expected)
  },
)

test('completions: the text, its counts and its bound, whole and as a stream', async () => {
  const model = modelOf.messages
  const whole: any = await openai.completions.create({ model, prompt: 'hi' })
  expect(whole.object).toBe('text_completion')
  expect(whole.choices[0].text).toStartWith('You said: hi')
  expect([whole.usage.prompt_tokens, whole.usage.completion_tokens]).toEqual([11, 7])
  // The bound of a request that names none.
  expect(JSON.parse(it.memories.messages.request).max_tokens).toBe(16)
  let text = ''
  let usage: unknown
  const asked = { model, prompt: ['hi'], stream: true as const, stream_options: { include_usage: true } }
  for await (const chunk of await openai.completions.create(asked)) {
    text += chunk.choices[0]?.text ?? ''
    usage = chunk.usage ?? usage
  }
  expect(text).toBe(whole.choices[0].text)
  expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
  for (const odd of [
    { prompt: ['a', 'b'] },
    { prompt: [1, 2] },
    { suffix: 'x' },
    { echo: true },
    { best_of: 3 },
  ]) {
    const failed = await openai.completions
      .create({ model, prompt: 'hi', ...odd } as any)
      .catch((error) => error)
    expect([failed.status, failed.param]).toEqual([400, Object.keys(odd)[0]])
  }
})

/** An answer of a vendor of chat completions with a source. */
const url = 'https://example.com/zh'
const cited = (field: 'message' | 'delta', text: string) => ({
  id: 'c',
  object: 'x',
  model: 'echo-1',
  created: 1,
  choices: [
    {
      index: 0,
      [field]: {
        role: 'assistant',
        content: text,
        annotations: [
          { type: 'url_citation', url_citation: { url, title: 'Lake', start_index: 0, end_index: 6 } },
        ],
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
})

test("cohere-ai gets the vendor's sources, whole and as a stream, and no text ends its stream", async () => {
  const own = await listen()
  const { v2 } = openCohere(own)
  const ask = { model: 'local/echo-1', messages: [{ role: 'user' as const, content: 'hi' }] }
  const text = 'Zürich [DONE] is done.'
  own.server.answerWith((asked) =>
    asked.body.stream === true
      ? streaming([`data: ${JSON.stringify(cited('delta', text))}\n\n`, 'data: [DONE]\n\n'])
      : Response.json(cited('message', text)),
  )
  for (const message of [(await v2.chat(ask)).message, (await gathered(await v2.chatStream(ask))).message]) {
    expect(message.content).toEqual([{ type: 'text', text }])
    expect(message.citations).toMatchObject([
      { start: 0, end: 6, text: 'Zürich', type: 'TEXT_CONTENT', sources: [{ type: 'document', id: url }] },
    ])
  }
  await own.stop()
})

test('a refusal has the shape that each client reads', async () => {
  const failed = await openCohere(it)
    .v2.chat({ model: modelOf.chat, messages: [{ role: 'user', content: 'x' }], documents: ['x'] })
    .catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(CohereError)
  expect((failed as CohereError).body).toMatchObject({ code: 'invalid_parameter', param: 'documents' })
  const raw = await openOllama(it)
    .generate({ model: modelOf.chat, prompt: 'x', raw: true })
    .catch((error: unknown) => error)
  expect(raw).toMatchObject({ status_code: 400, message: expect.stringContaining("'raw'") })
  const pulled = await openOllama(it)
    .pull({ model: 'llama3' })
    .catch((error: unknown) => error)
  expect(pulled).toMatchObject({ status_code: 400, message: expect.stringContaining('GET /api/tags') })
})

test('a repeated stream of lines is the first one, byte by byte, and is charged once', async () => {
  const body = { model: modelOf.chat, messages: [{ role: 'user', content: 'hi' }] }
  const headers = { 'idempotency-key': 'lines' }
  const [first, again] = await Promise.all(
    [1, 2].map(async () => (await it.server.post('/api/chat', body, headers)).text()),
  )
  let third = ''
  expect(
    await costOf(it.server, async () => {
      const response = await it.server.post('/api/chat', body, headers)
      expect(response.headers.get('content-type')).toBe('application/x-ndjson')
      third = await response.text()
    }),
  ).toBe(0n)
  const said = (text = '') =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).message.content)
  expect(said(again)).toEqual(said(first))
  expect(said(third)).toEqual(said(first))
})

test('ollama reads the models, what each can do, and the version', async () => {
  const ollama = openOllama(it)
  const { models } = await ollama.list()
  expect(models.map(({ model }) => model)).toContain(modelOf.messages)
  const shown = await ollama.show({ model: modelOf.messages })
  expect(shown.capabilities).toEqual(['completion', 'tools', 'vision', 'thinking'])
  expect((await ollama.ps()).models).toEqual([])
  expect((await ollama.version()).version).toMatch(/^\d+\.\d+\.\d+$/)
  const unknown = await ollama.show({ model: 'x/y' }).catch((error: unknown) => error)
  expect(unknown).toMatchObject({ message: expect.stringContaining('/api/tags') })
})

test('embeddings have the vectors and charges of /v1/embeddings in each style', async () => {
  const model = 'local/hash-embed-1'
  const input = ['one', 'two and two']
  const theirs = new OpenAI({ apiKey: local.key, baseURL: local.baseURL, maxRetries: 0 })
  let vectors: readonly (readonly number[])[] = []
  const expected = await costOf(local.server, async () => {
    const { data } = await theirs.embeddings.create({ model, input, dimensions: 8, encoding_format: 'float' })
    vectors = data.map(({ embedding }) => embedding)
  })
  const { v2 } = openCohere(local)
  const ask = { model, texts: input, inputType: 'search_document' as const, outputDimension: 8 }
  const cohere = await costOf(local.server, async () => {
    const answer = await v2.embed({ ...ask, embeddingTypes: ['float', 'base64'] })
    expect(answer.embeddings.float).toEqual(vectors as number[][])
    const [first = ''] = answer.embeddings.base64 ?? []
    const read = new Float32Array(Uint8Array.from(Buffer.from(first, 'base64')).buffer)
    expect([...read]).toEqual((vectors[0] ?? []).map(Math.fround))
    expect(answer.meta?.billedUnits?.inputTokens).toBeGreaterThan(0)
  })
  const ollama = openOllama(local)
  const lines = await costOf(local.server, async () => {
    const answer = await ollama.embed({ model, input, dimensions: 8 })
    expect(answer.embeddings).toEqual(vectors as number[][])
    expect(answer.prompt_eval_count).toBeGreaterThan(0)
  })
  expect([cohere, lines]).toEqual([expected, expected])
  const { embedding } = await ollama.embeddings({ model, prompt: 'one' })
  expect(embedding.length).toBe(256)
  const refused = await v2.embed({ ...ask, embeddingTypes: ['int8'] }).catch((error: unknown) => error)
  expect((refused as CohereError).body).toMatchObject({ param: 'embedding_types[0]' })
})
