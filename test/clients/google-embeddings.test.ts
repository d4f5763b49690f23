/** Google's own client and the AI SDK in its style with embeddings, against the built-in model under the scripted vendor's name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { ApiError, GoogleGenAI } from '@google/genai'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'
import { type ListeningServer, listen } from './harness.ts'

const model = 'local/hash-embed-1'

let it: ListeningServer
let google: GoogleGenAI
let openai: OpenAI

beforeAll(async () => {
  it = await listen()
  const baseUrl = it.baseURL.replace(/\/v1$/, '')
  google = new GoogleGenAI({ apiKey: it.key, httpOptions: { baseUrl } })
  openai = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
})
afterAll(() => it.stop())

test('@google/genai embeds one text and several, with the vectors and charges of /v1/embeddings', async () => {
  for (const contents of ['hello', ['one', 'two and two']]) {
    const before = await it.server.balance()
    const theirs = await openai.embeddings.create({ model, input: contents, dimensions: 8 })
    const between = await it.server.balance()
    const { embeddings } = await google.models.embedContent({
      model,
      contents,
      config: { outputDimensionality: 8 },
    })
    expect(embeddings?.map(({ values }) => values?.map(Math.fround))).toEqual(
      theirs.data.map(({ embedding }) => embedding),
    )
    expect(between - (await it.server.balance())).toBe(before - between)
    expect(before - between).toBeGreaterThan(0n)
  }
})

test('@ai-sdk/google embeds one text and several', async () => {
  const baseURL = it.baseURL.replace(/v1$/, 'v1beta')
  const embeddingModel = createGoogleGenerativeAI({ apiKey: it.key, baseURL }).textEmbeddingModel(model)
  const { embedding } = await embed({ model: embeddingModel, value: 'one' })
  const { embeddings } = await embedMany({ model: embeddingModel, values: ['one', 'two'] })
  expect([embedding.length, embeddings.length, embeddings[0]]).toEqual([256, 2, embedding])
})

test('@google/genai lists models of embeddings and says which methods they take', async () => {
  const methods = new Map<string | undefined, readonly string[] | undefined>()
  for await (const { name, supportedActions } of await google.models.list())
    methods.set(name, supportedActions)
  expect(methods.get(`models/${model}`)).toEqual(['embedContent', 'batchEmbedContents'])
})

test('@google/genai: a chat model embeds nothing, and the error says so', async () => {
  const failed = await google.models
    .embedContent({ model: 'local/echo-1', contents: 'hello' })
    .catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(ApiError)
  expect([(failed as ApiError).status, (failed as ApiError).message]).toEqual([
    400,
    expect.stringContaining("'local/echo-1' is no embeddings model but one of chat"),
  ])
})
