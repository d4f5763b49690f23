/** Image vendors: what we send to each, and how each kind of answer is read, with fixtures of our own. */
import { describe, expect, test } from 'bun:test'
import { recordOf } from '../../test/vendor-media.ts'
import type { Json, JsonObject } from '../core/json-body.ts'
import { encodeOutgoing } from '../media/encode.ts'
import { readInputs } from '../media/inputs.ts'
import type { OnceShape, VendorAnswer, Verdict } from '../media/shape.ts'
import { vendors } from './index.ts'

const PNG = Buffer.from('png').toString('base64')
const PICTURE = `data:image/png;base64,${PNG}`

const shapeOf = (id: string): OnceShape => {
  const { shape } = recordOf(id)
  if (shape.flow !== 'once') throw new Error(`${id} is a job`)
  return shape
}

const inputsOf = (id: string, given: JsonObject): JsonObject => {
  const inputs = readInputs(recordOf(id), given)
  if (!('prompt' in inputs) && !('image' in inputs)) throw new Error(`refused: ${JSON.stringify(inputs)}`)
  return inputs as JsonObject
}

/** The request as the vendor gets it. */
const requestOf = (id: string, given: JsonObject) => {
  const product = recordOf(id)
  const outgoing = shapeOf(id).ask(inputsOf(id, given), product.upstreamName ?? product.name)
  const { path, headers, body } = encodeOutgoing(outgoing, 'boundary')
  return { path, headers, text: new TextDecoder().decode(body) }
}

type Answer = {
  readonly status?: number
  readonly json?: Json
  readonly headers?: Record<string, string>
  readonly bytes?: string
}

const answerOf = ({ status = 200, json, headers = {}, bytes = '' }: Answer): VendorAnswer => ({
  status,
  header: (name) => headers[name],
  bytes: new TextEncoder().encode(bytes),
  json,
})

const read = (id: string, given: JsonObject, answer: Answer): Verdict | undefined =>
  shapeOf(id).read(answerOf(answer), inputsOf(id, given))

const png = { 'content-type': 'image/png', 'finish-reason': 'SUCCESS', seed: '343' }

describe('what vendors are asked', () => {
  const rows: readonly (readonly [string, JsonObject, string, JsonObject])[] = [
    [
      'openai/gpt-image-2',
      { prompt: 'a fox' },
      '/images/generations',
      {
        model: 'gpt-image-2',
        prompt: 'a fox',
        n: 1,
        size: '1024x1024',
        quality: 'medium',
        background: 'auto',
        output_format: 'png',
      },
    ],
    [
      'google/gemini-3-pro-image',
      { prompt: 'a fox', image_size: '4K' },
      '/models/gemini-3-pro-image:generateContent',
      {
        contents: [{ role: 'user', parts: [{ text: 'a fox' }] }],
        generationConfig: {
          responseModalities: ['IMAGE'],
          imageConfig: { aspectRatio: '1:1', imageSize: '4K' },
          maxOutputTokens: 10_192,
        },
      },
    ],
    [
      'xai/grok-imagine-image',
      { prompt: 'a fox', n: 2 },
      '/images/generations',
      {
        model: 'grok-imagine-image',
        prompt: 'a fox',
        n: 2,
        aspect_ratio: '1:1',
        resolution: '1k',
        response_format: 'b64_json',
      },
    ],
    [
      'together/black-forest-labs/FLUX.1-schnell',
      { prompt: 'a fox', height: 768 },
      '/images/generations',
      {
        model: 'black-forest-labs/FLUX.1-schnell',
        prompt: 'a fox',
        n: 1,
        width: 1024,
        height: 768,
        steps: 4,
        output_format: 'png',
        response_format: 'base64',
      },
    ],
    [
      'fireworks/flux-1-schnell-fp8',
      { prompt: 'a fox', seed: 1 },
      '/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image',
      { prompt: 'a fox', aspect_ratio: '1:1', guidance_scale: 3.5, seed: 1, num_inference_steps: 4 },
    ],
    [
      'minimax/image-01',
      { prompt: 'a fox', n: 2 },
      '/image_generation',
      {
        model: 'image-01',
        prompt: 'a fox',
        aspect_ratio: '1:1',
        n: 2,
        prompt_optimizer: false,
        response_format: 'url',
      },
    ],
    [
      'recraft/v4-vector',
      { prompt: 'a fox' },
      '/v1/images/generations',
      { model: 'recraftv4_vector', prompt: 'a fox', n: 1, size: '1024x1024', response_format: 'url' },
    ],
  ]
  test.each(rows)('%s as JSON', (id, given, path, body) => {
    const request = requestOf(id, given)
    expect(request.path).toBe(path)
    expect(JSON.parse(request.text)).toEqual(body)
  })

  test('ideogram as a form, in its own spelling', () => {
    const { path, headers, text } = requestOf('ideogram/v3-turbo', {
      prompt: 'a fox',
      aspect_ratio: '16:9',
      n: 2,
    })
    expect(path).toBe('/v1/ideogram-v3/generate')
    expect(headers['content-type']).toBe('multipart/form-data; boundary=boundary')
    const fields = [...text.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g)].map(([, name, value]) => [name, value])
    expect(Object.fromEntries(fields)).toEqual({
      prompt: 'a fox',
      magic_prompt: 'AUTO',
      style_type: 'AUTO',
      num_images: '2',
      aspect_ratio: '16x9',
      rendering_speed: 'TURBO',
    })
  })

  test('stability as a form with a picture’s bytes', () => {
    const { path, headers, text } = requestOf('stability/upscale', { image: PICTURE })
    expect(path).toBe('/v2beta/stable-image/upscale/fast')
    expect(headers.accept).toBe('image/*')
    expect(text).toContain('name="image"; filename="image.png"\r\nContent-Type: image/png\r\n\r\npng\r\n')
    expect(text).toContain('name="output_format"\r\n\r\npng\r\n')
    expect(requestOf('stability/ultra', { prompt: 'a fox' }).path).toBe('/v2beta/stable-image/generate/ultra')
  })

  test('a picture at an https address is refused where its bytes must be sent, and so is what is no base64', () => {
    for (const image of [
      'https://example.com/a.png',
      'data:image/png;base64,',
      'data:image/png;base64,a b',
      'data:text/html;base64,AAAA',
    ])
      expect(readInputs(recordOf('stability/upscale'), { image })).toMatchObject({
        code: 'invalid_parameter',
        members: { param: 'inputs.image' },
        message: expect.stringContaining('must be a PNG, JPEG or WebP picture'),
      })
  })
})

const fox = { prompt: 'a fox' }

const openaiUsage = {
  input_tokens: 14,
  input_tokens_details: { text_tokens: 14, image_tokens: 0 },
  output_tokens: 1_100,
  output_tokens_details: { image_tokens: 1_056, text_tokens: 44 },
  total_tokens: 1_114,
}
const base64 = { base64: PNG }
const geminiPart = { inlineData: { mimeType: 'image/png', data: PNG } }

describe('answers that deliver', () => {
  const rows: readonly (readonly [string, JsonObject, Answer, JsonObject])[] = [
    [
      'openai/gpt-image-1.5',
      fox,
      { json: { created: 1, quality: 'medium', data: [{ b64_json: PNG }], usage: openaiUsage } },
      {
        outputs: [{ type: 'image', from: base64, at: ['data', 0, 'url'] }],
        measured: { input: 14, output: 44, output_image: 1_056 },
        body: { created: 1, quality: 'medium', data: [{ url: null }], usage: openaiUsage },
      },
    ],
    [
      'google/gemini-3-pro-image',
      fox,
      {
        json: {
          candidates: [
            { content: { role: 'model', parts: [{ text: 'Here.' }, geminiPart] }, finishReason: 'STOP' },
          ],
          usageMetadata: {
            promptTokenCount: 6,
            candidatesTokenCount: 1_130,
            thoughtsTokenCount: 200,
            candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_120 }],
          },
        },
      },
      {
        outputs: [
          { type: 'image', from: base64, at: ['candidates', 0, 'content', 'parts', 1, 'inlineData', 'url'] },
        ],
        measured: { input: 6, output: 10, reasoning: 200, output_image: 1_120 },
      },
    ],
    [
      'xai/grok-imagine-image',
      { ...fox, n: 2 },
      {
        json: {
          data: [
            { b64_json: PNG, revised_prompt: '', respect_moderation: true },
            { url: null, respect_moderation: false },
          ],
          usage: { cost_in_usd_ticks: 400_000_000 },
        },
      },
      {
        outputs: [{ type: 'image', from: base64, at: ['data', 0, 'url'] }],
        measured: { image: 1 },
        vendorCost: 40_000_000n as unknown as Json,
        body: {
          data: [
            { revised_prompt: '', respect_moderation: true, url: null },
            { url: null, respect_moderation: false },
          ],
        },
      },
    ],
    [
      'together/black-forest-labs/FLUX.1-schnell',
      { ...fox, n: 3, width: 512, height: 512 },
      {
        json: {
          id: 'x',
          data: [
            { index: 0, b64_json: PNG },
            { index: 1, url: 'https://api.together.ai/x' },
          ],
        },
      },
      {
        outputs: [
          { type: 'image', from: base64, at: ['data', 0, 'url'] },
          { type: 'image', from: { url: 'https://api.together.ai/x' }, at: ['data', 1, 'url'] },
        ],
        measured: { pixel: 524_288 },
      },
    ],
    [
      'fireworks/flux-1-dev-fp8',
      fox,
      { bytes: 'png', headers: { 'content-type': 'image/png' } },
      { measured: { image: 1 }, body: { image: { url: null } } },
    ],
    [
      'recraft/v3-vector',
      fox,
      { json: { created: 1, credits: 80, data: [{ image_id: 'i', url: 'https://img.recraft.ai/a.svg' }] } },
      {
        outputs: [{ type: 'file', from: { url: 'https://img.recraft.ai/a.svg' }, at: ['data', 0, 'url'] }],
        measured: { image: 1 },
        vendorCost: 80_000_000n as unknown as Json,
        body: { created: 1, data: [{ image_id: 'i', url: null }] },
      },
    ],
    [
      'ideogram/v3-quality',
      { ...fox, n: 2 },
      {
        json: {
          data: [
            { url: null, is_image_safe: false },
            { url: 'https://ideogram.ai/a.png', is_image_safe: true, seed: 5 },
          ],
        },
      },
      {
        outputs: [{ type: 'image', from: { url: 'https://ideogram.ai/a.png' }, at: ['data', 1, 'url'] }],
        measured: { image: 1 },
      },
    ],
    [
      'minimax/image-01',
      { ...fox, n: 2 },
      {
        json: {
          data: { image_urls: ['https://cdn.example.com/a.png', null, 'https://cdn.example.com/b.png'] },
          base_resp: { status_code: 0 },
        },
      },
      {
        outputs: [
          { type: 'image', from: { url: 'https://cdn.example.com/a.png' }, at: ['data', 'image_urls', 0] },
          { type: 'image', from: { url: 'https://cdn.example.com/b.png' }, at: ['data', 'image_urls', 1] },
        ],
        measured: { image: 2 },
      },
    ],
    [
      'stability/upscale-conservative',
      { image: PICTURE, prompt: 'a fox' },
      { bytes: 'png', headers: png },
      { measured: { image: 1 } },
    ],
    [
      'stability/core',
      fox,
      { bytes: 'png', headers: png },
      { measured: { image: 1 }, body: { image: { url: null }, finish_reason: 'SUCCESS', seed: 343 } },
    ],
  ]
  test.each(rows)('%s', (id, given, answer, outcome) => {
    expect(read(id, given, answer)).toMatchObject({ verdict: 'done', ...outcome })
  })

  test('no picture’s bytes stand in a body', () => {
    for (const [id, given, answer] of rows) {
      const verdict = read(id, given, answer)
      expect(verdict?.verdict === 'done' && JSON.stringify(verdict.body).includes(PNG)).toBe(false)
    }
  })

  test('bytes are delivered as they came', () => {
    const verdict = read('stability/core', fox, { bytes: 'png', headers: png })
    const [output] = verdict?.verdict === 'done' ? verdict.outputs : []
    expect(output).toEqual({
      type: 'image',
      from: { bytes: new TextEncoder().encode('png') },
      at: ['image', 'url'],
    })
  })

  test('pictures beyond those asked for are neither delivered nor counted', () => {
    const data = [{ b64_json: PNG }, { b64_json: PNG }, { b64_json: PNG }]
    const verdict = read('xai/grok-imagine-image', { ...fox, n: 2 }, { json: { data } })
    expect(verdict).toMatchObject({ verdict: 'done', measured: { image: 2 }, body: { data: [{}, {}] } })
  })

  test('a usage that is not split is all of the picture, and one that is missing leaves the bound', () => {
    const usage = { input_tokens: 9, output_tokens: 200 }
    const whole = read('openai/gpt-image-2', fox, { json: { data: [{ b64_json: PNG }], usage } })
    expect(whole).toMatchObject({ measured: { input: 9, output_image: 200 } })
    expect(read('openai/gpt-image-2', fox, { json: { data: [{ b64_json: PNG }] } })).not.toHaveProperty(
      'measured',
    )
    const google = {
      candidates: [{ content: { parts: [geminiPart] } }],
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1_120 },
    }
    expect(read('google/gemini-3.1-flash-image', fox, { json: google })).toMatchObject({
      measured: { input: 2, output_image: 1_120 },
    })
  })
})

describe('answers that are blocked', () => {
  test.each<readonly [string, Answer]>([
    [
      'openai/gpt-image-2',
      { status: 400, json: { error: { message: 'Rejected.', code: 'moderation_blocked' } } },
    ],
    ['google/gemini-3-pro-image', { json: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } }],
    [
      'google/gemini-3-pro-image',
      { json: { candidates: [{ finishReason: 'IMAGE_SAFETY', content: { parts: [] } }] } },
    ],
    [
      'xai/grok-imagine-image',
      { json: { data: [{ url: null, b64_json: null, respect_moderation: false }] } },
    ],
    ['xai/grok-imagine-image', { json: { data: [{ b64_json: PNG, respect_moderation: false }] } }],
    [
      'fireworks/flux-1-schnell-fp8',
      { bytes: 'png', headers: { ...png, 'finish-reason': 'CONTENT_FILTERED' } },
    ],
    ['ideogram/v3-turbo', { status: 422, json: { error: 'Prompt failed safety check' } }],
    ['ideogram/v3-turbo', { json: { data: [{ url: null, is_image_safe: false }] } }],
    ['minimax/image-01', { json: { base_resp: { status_code: 1026 } } }],
    ['stability/ultra', { status: 403, json: { id: 'x', name: 'content_moderation', errors: ['no'] } }],
    ['stability/ultra', { bytes: 'blurred', headers: { ...png, 'finish-reason': 'CONTENT_FILTERED' } }],
  ])('%s with %j', (id, answer) => {
    expect(read(id, fox, answer)).toEqual({ verdict: 'blocked' })
  })
})

const products = vendors.flatMap((vendor) =>
  (vendor.media?.models ?? [])
    .filter(({ category, shape }) => category === 'image' && shape.flow === 'once')
    .map(({ name, example }) => [`${vendor.id}/${name}`, example] as const),
)

describe('answers that deliver nothing', () => {
  test.each(products)('%s leaves errors to the usual reading', (id, example) => {
    const bodies: readonly (readonly [number, Json])[] = [
      [400, { error: { message: 'Invalid value.', type: 'invalid_request_error', code: 'invalid_value' } }],
      [400, { code: 'not_enough_credits', message: 'Top up.' }],
      [402, { name: 'payment_required', errors: ['pay'] }],
      [403, { error: 'key' }],
      [422, { error: 'seed is wrong' }],
      [429, { error: 'slow down' }],
      [500, null],
    ]
    for (const [status, json] of bodies) expect(read(id, example, { status, json })).toBeUndefined()
  })

  test.each(products)('%s takes a broken answer for the vendor’s fault', (id, example) => {
    const broken: readonly Answer[] = [
      {},
      { json: null },
      { json: [] },
      { json: {} },
      { json: { data: null } },
      { json: { data: [null, {}, { b64_json: '' }, { url: 'http://inside/' }] } },
      { json: { candidates: [{ finishReason: 'STOP' }] } },
      { bytes: '<html>', headers: { 'content-type': 'text/html' } },
      { headers: { 'content-type': 'image/png' } },
    ]
    for (const answer of broken)
      expect(read(id, example, answer)).toMatchObject({ verdict: 'failed', fault: 'vendor' })
  })
})
