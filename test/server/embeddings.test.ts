/**
 * Embeddings at vendors with a form of their own, against strict scripted vendors: they refuse an address or a member
 * that the vendor's reference does not have, as the vendor would.
 */
import { afterEach, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/core/json-body.ts'
import { bedrock } from '../../src/vendors/bedrock.ts'
import { google } from '../../src/vendors/google/google.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { vertex } from '../../src/vendors/vertex.ts'
import {
  jsonOf,
  mockVendor,
  startTestServer,
  type TestServer,
  testModel,
  type VendorRequest,
} from './harness.ts'

let server: TestServer
afterEach(() => server.stop())

const VECTORS = [
  [0.5, -0.25, 0.125],
  [0.75, 0.5, -1],
]

/** A vendor: what it takes, by its public reference, and what it answers for a number of texts. */
type Strict = {
  readonly vendor: Vendor
  readonly name: string
  readonly path: string
  readonly texts: (body: JsonObject) => unknown
  readonly answer: (count: number) => Response
}

const only = (value: unknown, ...names: string[]): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).every((name) => names.includes(name))

/** The texts of contents with one part each; undefined where a member is not in the reference. */
const textOfContent = (content: any): unknown =>
  only(content, 'parts') && only(content.parts[0], 'text') ? content.parts[0].text : undefined

const gemini = (usage: object): Strict => ({
  vendor: google,
  name: 'gemini-embedding-2',
  path: '/models/gemini-embedding-2:batchEmbedContents',
  texts: (body: any) =>
    only(body, 'requests')
      ? body.requests.map((one: any) =>
          only(one, 'model', 'content', 'outputDimensionality', 'taskType', 'title') &&
          one.model === 'models/gemini-embedding-2'
            ? textOfContent(one.content)
            : undefined,
        )
      : undefined,
  answer: (count) =>
    Response.json({ embeddings: VECTORS.slice(0, count).map((values) => ({ values })), ...usage }),
})

const predict: Strict = {
  vendor: vertex,
  name: 'gemini-embedding-001',
  path: '/models/gemini-embedding-001:predict',
  texts: (body: any) =>
    only(body, 'instances', 'parameters') && only(body.parameters ?? {}, 'outputDimensionality')
      ? body.instances.map((one: any) =>
          only(one, 'content', 'task_type', 'title') ? one.content : undefined,
        )
      : undefined,
  answer: (count) =>
    Response.json({
      predictions: VECTORS.slice(0, count).map((values) => ({
        embeddings: { values, statistics: { token_count: 10, truncated: false } },
      })),
      metadata: { billableCharacterCount: 35 },
    }),
}

const embedContent: Strict = {
  vendor: vertex,
  name: 'gemini-embedding-2',
  path: '/models/gemini-embedding-2:embedContent',
  texts: (body: any) =>
    only(body, 'content', 'embedContentConfig') &&
    only(body.embedContentConfig ?? {}, 'outputDimensionality', 'taskType', 'title')
      ? [textOfContent(body.content)]
      : undefined,
  answer: () =>
    Response.json({
      embedding: { values: VECTORS[0] },
      usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
    }),
}

const titan: Strict = {
  vendor: bedrock,
  name: 'amazon.titan-embed-text-v2:0',
  path: '/model/amazon.titan-embed-text-v2%3A0/invoke',
  texts: (body: any) =>
    only(body, 'inputText', 'dimensions', 'normalize', 'embeddingTypes') ? [body.inputText] : undefined,
  answer: () =>
    Response.json({
      embedding: VECTORS[0],
      embeddingsByType: { float: VECTORS[0] },
      inputTextTokenCount: 10,
    }),
}

const cohere: Strict = {
  vendor: bedrock,
  name: 'cohere.embed-v4:0',
  path: '/model/cohere.embed-v4%3A0/invoke',
  texts: (body: any) =>
    only(body, 'texts', 'input_type', 'embedding_types', 'output_dimension', 'truncate') &&
    body.input_type !== undefined
      ? body.texts
      : undefined,
  answer: (count) =>
    Response.json(
      { id: 'e', response_type: 'embeddings_by_type', embeddings: { float: VECTORS.slice(0, count) } },
      { headers: { 'x-amzn-bedrock-input-token-count': String(10 * count) } },
    ),
}

const list: Strict = {
  vendor: mockVendor,
  name: 'text-embedding-3-small',
  path: '/embeddings',
  texts: (body: any) =>
    only(body, 'model', 'input', 'dimensions') && body.model === 'text-embedding-3-small'
      ? body.input
      : undefined,
  answer: (count) =>
    Response.json({
      object: 'list',
      data: VECTORS.slice(0, count)
        .map((embedding, index) => ({ object: 'embedding', index, embedding }))
        .reverse(),
      usage: { prompt_tokens: 10 * count, total_tokens: 10 * count },
    }),
}

const several = gemini({ usageMetadata: { promptTokenCount: 20, promptTokenDetails: [] } })
const strict = { gemini: several, predict, embedContent, titan, cohere }

const start = async ({ vendor, name, path, texts, answer }: Strict): Promise<void> => {
  server = await startTestServer({
    vendor: { ...vendor, id: 'mock' },
    models: [testModel('embed', { kind: 'embeddings', maxOutputTokens: 0, upstreamName: name })],
  })
  server.answerWith(({ url, body }: VendorRequest) => {
    if (!url.endsWith(`.invalid/v1${path}`))
      return Response.json({ error: { message: `no method at ${url}` } }, { status: 404 })
    const found = texts(body)
    if (!Array.isArray(found) || found.some((text) => typeof text !== 'string' || text === ''))
      return Response.json(
        { error: { message: 'Unknown name', status: 'INVALID_ARGUMENT' } },
        { status: 400 },
      )
    return answer(found.length)
  })
}

const embed = (more: object) =>
  server.post('/v1/embeddings', { model: 'mock/embed', input: 'hello', ...more })

for (const [name, vendor] of Object.entries(strict)) {
  test(`${name}: a text, metered by the vendor's own count`, async () => {
    await start(vendor === several ? gemini({ usageMetadata: { promptTokenCount: 10 } }) : vendor)
    const before = await server.balance()
    const response = await embed({ user: 'someone' })
    const answer = await jsonOf(response)
    expect([response.status, answer.object, answer.model]).toEqual([200, 'list', 'mock/embed'])
    expect(answer.data).toEqual([{ object: 'embedding', index: 0, embedding: VECTORS[0] }])
    expect(answer.usage).toEqual({
      prompt_tokens: 10,
      total_tokens: 10,
      cost: 0.00001,
      cost_details: { input: 0.00001 },
    })
    expect(before - (await server.balance())).toBe(10_000n)
    expect(response.headers.get('x-not-carried')).toBe('user')
  })

  test(`${name}: dimensions, and base64 as the official library asks for it`, async () => {
    await start(vendor)
    const response = await embed({ dimensions: 256, encoding_format: 'base64' })
    expect(response.status).toBe(200)
    const [{ embedding }] = (await jsonOf(response)).data
    expect([...new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)]).toEqual(
      VECTORS[0] as number[],
    )
    expect(server.asked.at(-1)?.text).toContain('256')
  })

  test(`${name}: lists of tokens are a 400 that says so, and the vendor is not asked`, async () => {
    await start(vendor)
    const response = await embed({ input: [1, 2, 3] })
    expect([response.status, (await jsonOf(response)).error.param, server.asked.length]).toEqual([
      400,
      'input',
      0,
    ])
  })
}

for (const [name, vendor] of Object.entries({ gemini: several, predict, cohere }))
  test(`${name}: several texts in order, in one request`, async () => {
    await start(vendor)
    const before = await server.balance()
    const { data, usage } = await jsonOf(await embed({ input: ['one', 'two'] }))
    expect(data.map(({ index, embedding }: any) => [index, embedding])).toEqual(
      VECTORS.map((vector, index) => [index, vector]),
    )
    expect([usage.prompt_tokens, before - (await server.balance())]).toEqual([20, 20_000n])
    expect(server.asked.length).toBe(1)
  })

for (const [name, vendor] of Object.entries({ embedContent, titan }))
  test(`${name}: several texts are a 400 that says what to do`, async () => {
    await start(vendor)
    const response = await embed({ input: ['one', 'two'] })
    expect([response.status, (await jsonOf(response)).error.message, server.asked.length]).toEqual([
      400,
      "The model's vendor embeds one text in a request; send each input in a call of its own.",
      0,
    ])
  })

test('numbers of a vendor that knows no base64 become base64 for a caller that asks for it, and stay what they are', async () => {
  await start(list)
  const sent = { ...(await jsonOf(list.answer(2))), model: list.name }
  server.answerWith(() => Response.json(sent))
  const both = { input: ['one', 'two'] }
  const numbers = await jsonOf(await embed(both))
  const { data, ...answer } = await jsonOf(await embed({ ...both, encoding_format: 'base64' }))
  const vectors = data.map(({ embedding, ...one }: any) => ({
    ...one,
    embedding: [...new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)],
  }))
  expect(vectors).toEqual(numbers.data)
  expect(answer.usage).toEqual(numbers.usage)
  expect(numbers.data.map(({ index }: any) => index)).toEqual([1, 0])
})

test('a vendor that counts nothing is estimated, and marked so', async () => {
  await start(gemini({}))
  const { usage } = await jsonOf(await embed({}))
  expect(usage.estimated).toBe(true)
  expect(usage.prompt_tokens).toBeGreaterThan(0)
})

test('fewer vectors than texts are no answer: nothing is charged', async () => {
  await start(several)
  server.answerWith(() => several.answer(1))
  const before = await server.balance()
  const response = await embed({ input: ['one', 'two'] })
  expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'upstream_error'])
  while (server.openCalls() > 0) await Bun.sleep(1)
  expect(await server.balance()).toBe(before)
})

test('what the purpose of the vectors is reaches the vendor that asks for it', async () => {
  await start(cohere)
  await embed({ input_type: 'search_query' })
  expect(server.asked.at(-1)?.body.input_type).toBe('search_query')
})

const inBatch = (name: string, more: object, ...texts: string[]) =>
  server.post(`/v1beta/models/${name}:batchEmbedContents`, {
    requests: texts.map((text) => ({
      model: `models/${name}`,
      content: { role: 'user', parts: [{ text }] },
      ...more,
    })),
  })

const purpose = { taskType: 'RETRIEVAL_DOCUMENT', title: 'Tides' }

for (const [name, vendor] of Object.entries({ ...strict, list }))
  test(`${name}: Google's form, one text, with the same charge`, async () => {
    await start(vendor === several ? gemini({ usageMetadata: { promptTokenCount: 10 } }) : vendor)
    const before = await server.balance()
    const response = await server.post('/v1beta/models/mock/embed:embedContent', {
      content: { parts: [{ text: 'hello' }] },
      output_dimensionality: 256,
      ...purpose,
    })
    const { embedding, usageMetadata, ...answer } = await jsonOf(response)
    expect([response.status, embedding, Object.keys(answer)]).toEqual([
      200,
      { values: VECTORS[0] },
      ['_balance_warning', '_remaining_credits'],
    ])
    expect(usageMetadata).toEqual({
      promptTokenCount: 10,
      totalTokenCount: 10,
      cost: 0.00001,
      cost_details: { input: 0.00001 },
    })
    expect(before - (await server.balance())).toBe(10_000n)
    expect(server.asked.at(-1)?.text).toContain('256')
    const google = vendor.vendor === vertex || vendor.vendor.id === 'google'
    expect(response.headers.get('x-not-carried')).toBe(google ? null : 'taskType, title')
    expect(server.asked.at(-1)?.text.includes('RETRIEVAL_DOCUMENT')).toBe(google)
  })

for (const [name, vendor] of Object.entries({ gemini: several, predict, cohere, list }))
  test(`${name}: Google's form, several texts in order`, async () => {
    await start(vendor)
    const before = await server.balance()
    const { embeddings, usageMetadata } = await jsonOf(await inBatch('mock/embed', {}, 'one', 'two'))
    expect(embeddings).toEqual(VECTORS.map((values) => ({ values })))
    expect([usageMetadata.promptTokenCount, before - (await server.balance())]).toEqual([20, 20_000n])
  })

test("Google's form: what is wrong is named in its error", async () => {
  await start(list)
  const one = { content: { parts: [{ text: 'a' }] } }
  const refused: readonly (readonly [method: string, body: object, param: string])[] = [
    ['embedContent', {}, 'content'],
    ['embedContent', { content: { parts: [] } }, 'content.parts'],
    ['embedContent', { content: { parts: [{ text: '' }] } }, 'content.parts[0].text'],
    ['embedContent', { content: { parts: [{ inlineData: {} }] } }, 'content.parts[0].text'],
    ['embedContent', { content: { parts: [{ text: 'a' }, { text: 'b' }] } }, 'content.parts'],
    ['embedContent', { ...one, outputDimensionality: 0 }, 'outputDimensionality'],
    ['embedContent', { ...one, requests: [one] }, 'requests'],
    ['embedContent', { ...one, model: 'models/other' }, 'model'],
    ['batchEmbedContents', {}, 'requests'],
    ['batchEmbedContents', { requests: [] }, 'requests'],
    ['batchEmbedContents', { requests: [one, {}] }, 'requests[1].content'],
    ['batchEmbedContents', { requests: [{ ...one, model: 'models/other' }] }, 'requests[0].model'],
    ['batchEmbedContents', { requests: [one, { ...one, outputDimensionality: 2 }] }, 'requests'],
    ['batchEmbedContents', { requests: Array(2_049).fill(one) }, 'requests'],
  ]
  for (const [method, body, param] of refused) {
    const response = await server.post(`/v1beta/models/mock/embed:${method}`, body)
    const { error } = await jsonOf(response)
    expect([method, body, response.status, error.details[0].metadata.param]).toEqual([
      method,
      body,
      400,
      param,
    ])
  }
  expect(server.asked.length).toBe(0)
})
