/** Google's own client with embeddings, against the built-in model under the scripted vendor's name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ApiError, GoogleGenAI } from '@google/genai'
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
