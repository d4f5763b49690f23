/**
 * Products that have names or forms of their own for what clients of OpenAI and Google send: it is written for them, and
 * what they do take is not refused.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/core/json-body.ts'
import { modelOf } from '../../src/media/models.ts'
import { delta, events } from '../vendor-answers/speech.ts'
import { sold } from '../vendor-media.ts'
import { type AssetServer, png, startAssetServer } from './asset-rig.ts'
import { jsonOf, mockSetup } from './harness.ts'

const ids = [
  'openai/gpt-4o-mini-tts',
  'elevenlabs/flash-v2.5',
  'xai/text-to-speech',
  'fal/fal-ai/flux-1/schnell',
  'replicate/black-forest-labs/flux-schnell',
  'runway/gen4_image',
  'bfl/flux-2-pro',
  'stability/upscale-creative',
  'bytedance/seedance-2.0',
  'xai/grok-imagine-video',
  'minimax/MiniMax-Hailuo-2.3',
  'google/gemini-omni-1.1-flash',
] as const

const recordOf = (id: string) => {
  const record = sold.get(id)
  if (record === undefined) throw new Error(`no record ${id}`)
  return record
}

let server: AssetServer
let asked: string[] = []
let script: () => Response

const vendorOf = (id: string): string => id.slice(0, id.indexOf('/'))

beforeAll(async () => {
  const answer = async (_url: string, init: RequestInit): Promise<Response> => {
    asked.push(await new Response(init.body ?? '').text())
    return script()
  }
  server = await startAssetServer({
    server: {
      models: ids.map((id) => modelOf(vendorOf(id), recordOf(id))),
      more: [...new Set(ids.map(vendorOf))].map((id) =>
        mockSetup({ id, media: { models: ids.filter((one) => vendorOf(one) === id).map(recordOf) } }, answer),
      ),
    },
  })
})
afterAll(() => server.stop())
beforeEach(() => {
  asked = []
  // What was asked is all that matters of pictures and films.
  script = () => Response.json({ error: { message: 'no' } }, { status: 400 })
})

const PICTURE = png(8, 6)
const DATA = `data:image/png;base64,${PICTURE.toString('base64')}`
/** What the vendor got; the caller's refusal if it got nothing. */
const sentFor = async (path: string, body: JsonObject): Promise<JsonObject> => {
  const refused = await jsonOf(await server.post(path, body))
  return asked.length === 0 ? refused : JSON.parse(asked[0] ?? '')
}

/** A frame of MPEG 1 layer III. */
const MP3 = Uint8Array.of(255, 251, 0x90, 0, ...new Uint8Array(413))

describe('speech', () => {
  test('raw samples, which no head tells, are what was asked for', async () => {
    script = () => {
      const { headers, text } = events(delta, delta, {
        type: 'speech.audio.done',
        usage: { input_tokens: 3, output_tokens: 21 },
      })
      return new Response(text, { headers })
    }
    const body = { model: 'openai/gpt-4o-mini-tts', input: 'Hello.', response_format: 'pcm' }
    const response = await server.post('/v1/audio/speech', body)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/pcm'])
    expect(await response.text()).toBe('ID3ID3')
    const inputs = { input: 'Hello.', response_format: 'pcm' }
    const run = await jsonOf(await server.post('/v1/run', { model: 'openai/gpt-4o-mini-tts', inputs }))
    expect(run.outputs).toMatchObject([{ type: 'audio', media_type: 'audio/pcm', bytes: 6 }])
    const { headers } = await server.fetchUrl(run.outputs[0].url)
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'audio/pcm',
      expect.stringMatching(/^attachment; filename="[0-9a-f]{32}\.pcm"$/),
    ])
  })

  test.each(['elevenlabs/flash-v2.5', 'xai/text-to-speech'])(
    '%s makes MP3 alone: clients that ask for that in each call are served, and no other form is',
    async (model) => {
      script = () => new Response(MP3, { headers: { 'content-type': 'audio/mpeg' } })
      const say = (response_format: string) =>
        server.post('/v1/audio/speech', { model, input: 'Hello.', response_format })
      const response = await say('mp3')
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/mpeg'])
      expect((await jsonOf(await say('wav'))).error).toMatchObject({
        code: 'invalid_parameter',
        param: 'response_format',
      })
    },
  )
})

describe('pictures', () => {
  test.each([
    [
      'fal/fal-ai/flux-1/schnell',
      { size: '1024x768', n: 2 },
      { prompt: 'a fox', image_size: { width: 1_024, height: 768 }, num_images: 2 },
    ],
    [
      'replicate/black-forest-labs/flux-schnell',
      { size: '1920x1080', n: 3 },
      { input: { prompt: 'a fox', aspect_ratio: '16:9', num_outputs: 3 } },
    ],
    ['runway/gen4_image', { size: '1920x1080', n: 1 }, { promptText: 'a fox', ratio: '1920:1080' }],
  ])('%s gets its own names', async (model, more, sent) => {
    expect(await sentFor('/v1/images/generations', { model, prompt: 'a fox', ...more })).toMatchObject(sent)
  })

  test('the size of the plain address is written too', async () => {
    const body = { model: 'runway/gen4_image', prompt: 'a fox', size: '1280x720' }
    const sent = { promptText: 'a fox', ratio: '1280:720' }
    expect(await sentFor('/v1/image/generate', body)).toMatchObject(sent)
  })

  test('too many are refused by the name that was sent', async () => {
    const body = { model: 'fal/fal-ai/flux-1/schnell', prompt: 'a fox', n: 9 }
    expect(await sentFor('/v1/images/generations', body)).toMatchObject({
      error: { param: 'n', message: "'n' must be at most 4." },
    })
  })

  test('a picture to work on comes under the name that the model has for it', async () => {
    const model = 'bfl/flux-2-pro'
    const sent = { prompt: 'add a hat', input_image: DATA.slice(DATA.indexOf(',') + 1) }
    expect(await sentFor('/v1/images/edits', { model, prompt: 'add a hat', image: DATA })).toMatchObject(sent)
    asked = []
    const inlineData = { mimeType: 'image/png', data: PICTURE.toString('base64') }
    const contents = [{ role: 'user', parts: [{ text: 'add a hat' }, { inlineData }] }]
    expect(await sentFor(`/v1beta/models/${model}:generateContent`, { contents })).toMatchObject(sent)
  })
})

describe('films', () => {
  test.each([
    ['bytedance/seedance-2.0', '1280x720', { ratio: '16:9', resolution: '720p' }],
    ['bytedance/seedance-2.0', '1920x1080', { ratio: '16:9', resolution: '1080p' }],
    ['bytedance/seedance-2.0', '960x960', { ratio: '1:1', resolution: '720p' }],
    ['xai/grok-imagine-video', '720x1280', { aspect_ratio: '9:16', resolution: '720p' }],
    ['minimax/MiniMax-Hailuo-2.3', '1920x1080', { resolution: '1080P' }],
  ])('%s in %s', async (model, size, sent) => {
    expect(await sentFor('/v1/videos', { model, prompt: 'a fox', size })).toMatchObject(sent)
  })

  test('a resolution that the model does not make is refused, and not made smaller in silence', async () => {
    const body = { model: 'google/gemini-omni-1.1-flash', prompt: 'a fox', size: '1920x1080' }
    expect(await sentFor('/v1/videos', body)).toMatchObject({
      error: { param: 'size', message: expect.stringContaining('720p') },
    })
  })
})
