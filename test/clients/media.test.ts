/**
 * Official clients of products that are not chat, with only their address and key changed: of OpenAI, Cohere, the AI
 * SDK and Google; with the built-in products, and with the records of vendors and a scripted wire.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateImage, generateSpeech, transcribe } from 'ai'
import { CohereClientV2 } from 'cohere-ai'
import OpenAI, { toFile } from 'openai'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { EXAMPLE_SOUND } from '../../src/vendors/openai/transcription.ts'
import { type AssetServer, png, startAssetServer } from '../server/asset-rig.ts'
import { mockSetup } from '../server/harness.ts'
import { recordOf } from '../vendor-media.ts'

const soldAs = (id: string): MediaModel => {
  const record = recordOf(id)
  return 'card' in record
    ? record
    : { ...record, card: { rows: [{ rates: { search: usd('0.002') } }], most: record.most } }
}
const scripted = [
  'openai/gpt-image-2',
  'openai/whisper-1',
  'openai/gpt-4o-transcribe',
  'openai/omni-moderation-latest',
  'cohere/rerank-v4.0-fast',
].map(soldAs)
const local = mediaHere.models.filter(({ name }) => name === 'sketch-1' || name === 'speech-1')

let it: AssetServer
let stop: () => Promise<void>
let client: OpenAI
let baseURL: string
let key: string

beforeAll(async () => {
  it = await startAssetServer({
    server: {
      models: [
        ...scripted.map((one) => modelOf('openai', one)),
        ...local.map((one) => modelOf('local', one)),
      ],
      more: [
        mockSetup({ id: 'openai', media: { models: scripted } }, (url, init) => answer(url, init)),
        { ...mockSetup({ id: 'local', media: mediaHere }, localFetch), baseUrl: 'local:' },
      ],
    },
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: it.fetch })
  baseURL = `http://127.0.0.1:${bound.port}/v1`
  key = (await it.newKey()).token
  client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })
  stop = async () => {
    await bound.stop(true)
    await it.stop()
  }
})
afterAll(() => stop())

const nobody = () => Response.json({ error: { message: 'nothing is scripted' } }, { status: 500 })
let script: (url: string, body: string) => Response = nobody
beforeEach(() => {
  script = nobody
})
const answer = async (url: string, init: RequestInit): Promise<Response> =>
  script(url, await new Response(init.body ?? '').text())

const PICTURE = png(8, 6)
const base64 = PICTURE.toString('base64')
const usage = {
  input_tokens: 10,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
  output_tokens: 200,
  total_tokens: 210,
}
const SOUND = Buffer.from(EXAMPLE_SOUND.slice(EXAMPLE_SOUND.indexOf(',') + 1), 'base64')
/** The outcome of a client's call; it is no real promise. */
const thrownBy = async (asked: PromiseLike<unknown>): Promise<unknown> => {
  try {
    return await asked
  } catch (thrown) {
    return thrown
  }
}
const sizeOf = (bytes: Buffer) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
/** The length of WAV with 16 bits, and whether it is more than silence. */
const heard = (wav: Buffer) => {
  const data = wav.subarray(wav.indexOf('data') + 8)
  const samples = new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + (data.length & ~1)))
  return {
    seconds: data.length / wav.readUInt32LE(28),
    loudest: samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0),
  }
}

describe('openai', () => {
  test('images.generate: bytes and addresses', async () => {
    const made = await client.images.generate({
      model: 'local/sketch-1',
      prompt: 'a fox',
      size: '256x256',
      n: 2,
    })
    const pictures = (made.data ?? []).map(({ b64_json }) => Buffer.from(b64_json ?? '', 'base64'))
    expect(pictures.map(sizeOf)).toEqual([
      [256, 256],
      [256, 256],
    ])
    const named = await client.images.generate({
      model: 'local/sketch-1',
      prompt: 'a fox',
      size: '128x128',
      response_format: 'url',
    })
    expect(named.data?.[0]?.url).toContain('/v1/assets/')
  })

  test('images.generate as a stream', async () => {
    const events = [
      { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: 'AAAA' },
      { type: 'image_generation.completed', b64_json: base64, usage },
    ]
    script = () =>
      new Response(events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    const stream = await client.images.generate({
      model: 'openai/gpt-image-2',
      prompt: 'a fox',
      stream: true,
      partial_images: 1,
    })
    const seen: string[] = []
    for await (const event of stream) {
      seen.push(event.type)
      if (event.type === 'image_generation.completed')
        expect([event.b64_json, event.usage.output_tokens]).toEqual([base64, 200])
    }
    expect(seen).toEqual(['image_generation.partial_image', 'image_generation.completed'])
  })

  test('images.edit', async () => {
    let sent = ''
    script = (url, body) => {
      sent = `${url} ${body.split('image[]').length - 1}`
      return Response.json({ created: 1, data: [{ b64_json: base64 }], usage })
    }
    const image = [
      await toFile(PICTURE, 'a.png', { type: 'image/png' }),
      await toFile(PICTURE, 'b.png', { type: 'image/png' }),
    ]
    const made = await client.images.edit({
      model: 'openai/gpt-image-2',
      prompt: 'add a hat',
      image,
      quality: 'low',
    })
    expect([made.data?.[0]?.b64_json, sent]).toEqual([base64, 'http://mock.invalid/v1/images/edits 2'])
  })

  test.skipIf(!local.some(({ name }) => name === 'speech-1'))(
    'audio.speech: a sentence that is heard',
    async () => {
      const response = await client.audio.speech.create({
        model: 'local/speech-1',
        voice: 'slt',
        input: 'The sea rises twice a day.',
      })
      const { seconds, loudest } = heard(Buffer.from(await response.arrayBuffer()))
      expect([seconds > 1, seconds < 5, loudest > 3_000]).toEqual([true, true, true])
    },
  )

  test('audio.transcriptions and audio.translations', async () => {
    script = () =>
      Response.json({
        text: 'hello',
        duration: 0.2,
        language: 'english',
        segments: [{ start: 0, end: 0.2, text: 'hello' }],
      })
    const file = () => toFile(SOUND, 'talk.wav')
    const plain = await client.audio.transcriptions.create({ model: 'openai/whisper-1', file: await file() })
    expect(plain.text).toBe('hello')
    const verbose = await client.audio.transcriptions.create({
      model: 'openai/whisper-1',
      file: await file(),
      response_format: 'verbose_json',
    })
    expect(verbose.segments?.[0]).toMatchObject({ start: 0, end: 0.2, text: 'hello' })
    const vtt = await client.audio.transcriptions.create({
      model: 'openai/whisper-1',
      file: await file(),
      response_format: 'vtt',
    })
    expect(vtt as unknown).toStartWith('WEBVTT')
    const translated = await client.audio.translations.create({
      model: 'openai/whisper-1',
      file: await file(),
    })
    expect(translated.text).toBe('hello')
  })

  test('moderations', async () => {
    script = () =>
      Response.json({
        id: 'modr-1',
        model: 'omni-moderation-latest',
        results: [{ flagged: true, categories: {}, category_scores: {} }],
      })
    const { results } = await client.moderations.create({
      model: 'openai/omni-moderation-latest',
      input: 'a text',
    })
    expect(results[0]?.flagged).toBe(true)
  })

  test('files: made, listed, read, used and deleted', async () => {
    const made = await client.files.create({ file: await toFile(SOUND, 'talk.wav'), purpose: 'user_data' })
    expect(made).toMatchObject({
      object: 'file',
      bytes: SOUND.length,
      filename: 'talk.wav',
      purpose: 'user_data',
    })
    const listed: string[] = []
    for await (const { id } of client.files.list({ limit: 1 })) listed.push(id)
    expect(listed).toContain(made.id)
    expect((await client.files.retrieve(made.id)).id).toBe(made.id)
    expect(Buffer.from(await (await client.files.content(made.id)).arrayBuffer()).equals(SOUND)).toBe(true)
    script = () => Response.json({ text: 'hello', duration: 0.2 })
    const run = await client.post('/run', { body: { model: 'openai/whisper-1', inputs: { file: made.id } } })
    expect(run).toMatchObject({ outputs: [{ type: 'text', text: 'hello' }] })
    expect(await client.files.delete(made.id)).toMatchObject({ id: made.id, deleted: true })
    expect(await thrownBy(client.files.retrieve(made.id))).toBeInstanceOf(OpenAI.NotFoundError)
  })

  test('errors are the classes that the client knows', async () => {
    const wrong = client.images.generate({ model: 'local/sketch-1', prompt: 'a', quality: 'high' })
    expect(await thrownBy(wrong)).toBeInstanceOf(OpenAI.BadRequestError)
    script = () => Response.json({ error: { message: 'no', code: 'moderation_blocked' } }, { status: 400 })
    const blocked = await thrownBy(client.images.generate({ model: 'openai/gpt-image-2', prompt: 'a' }))
    expect(blocked).toMatchObject({ status: 400, code: 'content_policy_violation' })
  })
})

test('cohere-ai: rerank', async () => {
  script = () =>
    Response.json({
      id: 'r',
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
      meta: { billed_units: { search_units: 1 } },
    })
  // Its address is the host alone; the version is the client's.
  const cohere = new CohereClientV2({ token: key, environment: baseURL.replace(/\/v1$/, '') })
  const ranked = await cohere.rerank({
    model: 'openai/rerank-v4.0-fast',
    query: 'tides',
    documents: ['a', 'b'],
    topN: 2,
  })
  expect(ranked.results.map(({ index }) => index)).toEqual([1, 0])
})

describe('the AI SDK', () => {
  const provider = () => createOpenAI({ apiKey: key, baseURL })

  test('an image', async () => {
    const { image } = await generateImage({
      model: provider().image('local/sketch-1'),
      prompt: 'a fox',
      size: '256x256',
    })
    expect([image.mediaType, sizeOf(Buffer.from(image.uint8Array))]).toEqual(['image/png', [256, 256]])
  })

  test.skipIf(!local.some(({ name }) => name === 'speech-1'))('speech', async () => {
    const { audio } = await generateSpeech({
      model: provider().speech('local/speech-1'),
      text: 'The sea rises twice a day.',
      voice: 'slt',
      outputFormat: 'wav',
    })
    expect(heard(Buffer.from(audio.uint8Array)).seconds).toBeGreaterThan(1)
  })

  test('a transcription', async () => {
    script = () =>
      Response.json({ text: 'hello', usage: { type: 'tokens', input_tokens: 5, output_tokens: 2 } })
    const { text } = await transcribe({
      model: provider().transcription('openai/gpt-4o-transcribe'),
      audio: SOUND,
    })
    expect(text).toBe('hello')
  })
})
