/**
 * Google's own client with pictures and films, with only its address and key changed: by the Gemini API, and by Vertex
 * AI for what exists only there. With the records of vendors and a scripted wire.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { ApiError, GoogleGenAI } from '@google/genai'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { type AssetServer, mp4Head, png, startAssetServer } from '../server/asset-rig.ts'
import { mockSetup } from '../server/harness.ts'
import { until } from '../until.ts'
import { recordOf } from '../vendor-media.ts'

const sold = (id: string): MediaModel => {
  const record = recordOf(id)
  if (!('card' in record)) throw new Error(`${id} has no price`)
  return record
}
const ofGoogle = ['google/gemini-3.1-flash-image', 'google/gemini-omni-1.1-flash'].map(sold)
const ofOpenai = [sold('openai/gpt-image-2')]

type Sent = { readonly method: string; readonly path: string; readonly body: string }

let it: AssetServer
let gemini: GoogleGenAI
let vertex: GoogleGenAI
let stranger: GoogleGenAI
let stop: () => Promise<void>
let script: (sent: Sent) => Response
let asked: Sent[] = []

const answer = async (url: string, init: RequestInit): Promise<Response> => {
  const sent = {
    method: init.method ?? 'GET',
    path: new URL(url).pathname,
    body: await new Response(init.body ?? '').text(),
  }
  asked.push(sent)
  return script(sent)
}

beforeAll(async () => {
  it = await startAssetServer({
    server: {
      models: [
        ...ofGoogle.map((one) => modelOf('google', one)),
        ...ofOpenai.map((one) => modelOf('openai', one)),
      ],
      more: [
        mockSetup({ id: 'google', media: { models: ofGoogle } }, answer),
        mockSetup({ id: 'openai', media: { models: ofOpenai } }, answer),
      ],
    },
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: it.fetch })
  const httpOptions = { baseUrl: `http://127.0.0.1:${bound.port}` }
  const apiKey = (await it.newKey()).token
  gemini = new GoogleGenAI({ apiKey, httpOptions })
  vertex = new GoogleGenAI({ vertexai: true, apiKey, httpOptions })
  stranger = new GoogleGenAI({ vertexai: true, apiKey: (await it.newKey()).token, httpOptions })
  stop = async () => {
    await bound.stop(true)
    await it.stop()
  }
})
afterAll(() => stop())
beforeEach(() => {
  asked = []
})

const PICTURE = png(8, 6)
const inlineData = { mimeType: 'image/png', data: PICTURE.toString('base64') }
const usageMetadata = {
  promptTokenCount: 6,
  candidatesTokenCount: 1_120,
  totalTokenCount: 1_126,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_120 }],
}
const picture = () =>
  Response.json({
    candidates: [{ content: { role: 'model', parts: [{ inlineData }] }, finishReason: 'STOP' }],
    usageMetadata,
  })

/** What `work` took from the wallet, in nano-USD. */
const costOf = async <T>(work: () => Promise<T>): Promise<readonly [T, bigint]> => {
  const before = await it.balance()
  const done = await work()
  return [done, before - (await it.balance())]
}

/** The status of a call of the client. */
const statusOf = async (call: Promise<unknown>): Promise<number | undefined> => {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  return thrown instanceof ApiError ? thrown.status : undefined
}

const config = { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '1K' } }

for (const [name, client] of [
  ['the Gemini API', () => gemini],
  ['Vertex AI', () => vertex],
] as const)
  test(`generateContent of a model that makes pictures, by ${name}`, async () => {
    script = picture
    const [made, cost] = await costOf(() =>
      client().models.generateContent({ model: 'google/gemini-3.1-flash-image', contents: 'a fox', config }),
    )
    expect(made.candidates?.[0]?.content?.parts?.map((part) => part.inlineData)).toEqual([inlineData])
    expect(made.usageMetadata).toMatchObject({ candidatesTokenCount: 1_120 })
    // 6 tokens in at 0.5 USD a million, 1,120 of a picture at 60.
    expect(cost).toBe(6n * 500n + 1_120n * 60_000n)
    expect(JSON.parse(asked[0]?.body ?? '')).toMatchObject({
      contents: [{ parts: [{ text: 'a fox' }] }],
      generationConfig: { imageConfig: { aspectRatio: '16:9', imageSize: '1K' } },
    })
  })

test('generateContent: what the model does not know is refused, and what the vendor blocks is free', async () => {
  script = picture
  const ask = (more: object) =>
    gemini.models.generateContent({
      model: 'google/gemini-3.1-flash-image',
      contents: 'a fox',
      config: { ...config, ...more },
    })
  const [statuses, cost] = await costOf(async () => [
    await statusOf(ask({ systemInstruction: 'be brief' })),
    await statusOf(ask({ temperature: 1 })),
    await statusOf(ask({ imageConfig: { aspectRatio: '7:1' } })),
    await statusOf(
      gemini.models.generateContentStream({ model: 'google/gemini-3.1-flash-image', contents: 'a fox' }),
    ),
  ])
  expect([statuses, cost, asked.length]).toEqual([[400, 400, 400, 400], 0n, 0])
  script = () => Response.json({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata })
  const [status, blocked] = await costOf(() => statusOf(ask({})))
  expect([status, blocked]).toEqual([400, 0n])
})

test('generateImages, of another vendor too', async () => {
  script = () =>
    Response.json({
      data: [{ b64_json: inlineData.data }, { b64_json: inlineData.data }],
      usage: {
        input_tokens: 10,
        input_tokens_details: { text_tokens: 10, image_tokens: 0 },
        output_tokens: 200,
        total_tokens: 210,
      },
    })
  const [made, cost] = await costOf(() =>
    vertex.models.generateImages({
      model: 'openai/gpt-image-2',
      prompt: 'a fox',
      config: { numberOfImages: 2 },
    }),
  )
  expect(made.generatedImages?.map(({ image }) => image)).toEqual([
    { imageBytes: inlineData.data, mimeType: 'image/png' },
    { imageBytes: inlineData.data, mimeType: 'image/png' },
  ])
  expect(cost).toBeGreaterThan(0n)
  expect(JSON.parse(asked[0]?.body ?? '')).toMatchObject({ prompt: 'a fox', n: 2 })
  script = picture
  const one = await vertex.models.generateImages({
    model: 'google/gemini-3.1-flash-image',
    prompt: 'a fox',
    config: { numberOfImages: 1, aspectRatio: '16:9' },
  })
  expect(one.generatedImages?.length).toBe(1)
  const wrong = (model: string) => statusOf(vertex.models.generateImages({ model, prompt: 'a fox' }))
  expect([await wrong('google/gemini-omni-1.1-flash'), await wrong('google/nothing')]).toEqual([400, 400])
})

/** The vendor of films: it works on them for some minutes, then ends as it was told. */
const films = (end: () => object) => {
  let ended = false
  script = ({ method, path }) =>
    method === 'POST' && path.endsWith('/interactions')
      ? Response.json({ id: 'v1_abc', status: 'in_progress' })
      : Response.json(ended ? end() : { id: 'v1_abc', status: 'in_progress' })
  return () => {
    ended = true
  }
}

const generate = () =>
  vertex.models.generateVideos({
    model: 'google/gemini-omni-1.1-flash',
    source: { prompt: 'a marble' },
    config: { durationSeconds: 6, aspectRatio: '16:9', numberOfVideos: 1 },
  })

test('generateVideos: an operation that is asked for until it is done, charged once', async () => {
  const film = { type: 'video', mime_type: 'video/mp4', data: mp4Head.toString('base64') }
  const end = films(() => ({
    id: 'v1_abc',
    status: 'completed',
    steps: [{ type: 'model_output', content: [film] }],
    usage: {
      total_input_tokens: 11,
      total_output_tokens: 34_752,
      output_tokens_by_modality: [{ modality: 'video', tokens: 34_752 }],
    },
  }))
  const before = await it.balance()
  let operation = await generate()
  expect([operation.done ?? false, operation.response]).toEqual([false, undefined])
  expect(JSON.parse(asked[0]?.body ?? '')).toMatchObject({
    response_format: { duration: '6s', aspect_ratio: '16:9' },
  })
  expect((await vertex.operations.getVideosOperation({ operation })).done).toBe(false)
  expect(await it.balance()).toBe(before)
  expect(await statusOf(stranger.operations.getVideosOperation({ operation }))).toBe(404)
  end()
  await until(async () => {
    operation = await vertex.operations.getVideosOperation({ operation })
    return operation.done === true
  })
  const video = operation.response?.generatedVideos?.[0]?.video
  expect(video?.mimeType).toBe('video/mp4')
  const stored = await it.fetchUrl(video?.uri ?? '')
  expect(Buffer.from(await stored.arrayBuffer())).toEqual(mp4Head)
  // 11 tokens in at 1.5 USD a million, 6 s of film, of which no more than is held.
  const cost = before - (await it.balance())
  expect(cost).toBe(11n * 1_500n + 6_000n * 101_360n)
  await vertex.operations.getVideosOperation({ operation })
  expect(before - (await it.balance())).toBe(cost)
})

test('generateVideos: what fails is free, and the operation says why', async () => {
  const end = films(() => ({ id: 'v1_abc', status: 'failed', errors: [{ code: 13, message: 'internal' }] }))
  const before = await it.balance()
  let operation = await generate()
  end()
  await until(async () => {
    operation = await vertex.operations.getVideosOperation({ operation })
    return operation.done === true
  })
  expect([operation.error?.code, operation.response]).toEqual([13, undefined])
  expect(String(operation.error?.message)).toContain('Nothing was charged')
  expect(await it.balance()).toBe(before)
})
