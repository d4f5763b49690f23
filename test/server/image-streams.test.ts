/**
 * Pictures shown while they are painted, and pictures made from pictures, with the records of OpenAI and a scripted
 * wire.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { until } from '../until.ts'
import { sold } from '../vendor-media.ts'
import { type AssetServer, png, startAssetServer } from './asset-rig.ts'
import { jsonOf, type VendorRequest } from './harness.ts'

const records = ['openai/gpt-image-2', 'recraft/recraftv4'].map(
  (id) => sold.get(id) ?? sold.get('xai/grok-imagine-image'),
) as MediaModel[]
const [first, plain] = records as [MediaModel, MediaModel]
const model = `mock/${first.name}`

const PICTURE = png(5, 4)
const base64 = PICTURE.toString('base64')
const usage = {
  input_tokens: 20,
  input_tokens_details: { text_tokens: 20, image_tokens: 0 },
  output_tokens: 417,
  total_tokens: 437,
}
const said = {
  created_at: 1_795_000_000,
  size: '1024x1024',
  quality: 'low',
  background: 'opaque',
  output_format: 'png',
}
const partial = (index: number) => ({
  type: 'image_generation.partial_image',
  partial_image_index: index,
  b64_json: 'AAAA',
  ...said,
})
const completed = { type: 'image_generation.completed', b64_json: base64, ...said, usage }
/** 20 tokens of text at 5 USD a million, and 417 of pictures at 30. */
const COST = 20n * 5_000n + 417n * 30_000n

const eventText = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

type Event = { readonly type: string; readonly [name: string]: unknown }
const eventsOf = async (response: Response): Promise<Event[]> =>
  (await response.text())
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice('data: '.length))] : []))

let server: AssetServer
beforeAll(async () => {
  server = await startAssetServer({
    server: {
      models: records.map((one) => modelOf('mock', one)),
      vendor: { media: { models: records } },
    },
  })
})
beforeEach(() => server.answerWith(() => answerWith([partial(0), partial(1), completed])))
afterAll(async () => {
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})

const answerWith = (events: readonly Event[]) =>
  new Response(events.map(eventText).join(''), { headers: { 'content-type': 'text/event-stream' } })
const ask = { model, prompt: 'a fox', quality: 'low', stream: true, partial_images: 2 }
const generate = (body: object, headers = {}) => server.post('/v1/images/generations', body, headers)
const charged = async <T>(act: () => Promise<T>): Promise<[T, bigint]> => {
  const before = await server.balance()
  const result = await act()
  await until(() => server.openCalls() === 0)
  return [result, before - (await server.balance())]
}

describe('POST /v1/images/generations as a stream', () => {
  test('shows what comes, then the picture with its bill', async () => {
    const [events, cost] = await charged(async () => eventsOf(await generate(ask)))
    expect(events.slice(0, 2)).toEqual([partial(0), partial(1)])
    expect(events[2]).toMatchObject({
      ...completed,
      created_at: expect.any(Number),
      usage: { ...usage, cost: Number(COST) / 1e9 },
    })
    expect([events.length, cost]).toEqual([3, COST])
    expect(server.asked.at(-1)?.body).toMatchObject({ stream: true, partial_images: 2, prompt: 'a fox' })
  })

  test('holds a hundred tokens more for each picture that is shown', async () => {
    const asked = server.asked.length
    // 105 tokens of text and 217 of the picture.
    const most = (partials: number) => String((105 * 5 + (217 + 100 * partials) * 30 + 100 * 30) / 1e6)
    expect((await generate(ask, { 'x-max-cost-usd': most(1) })).status).toBe(402)
    expect(server.asked.length).toBe(asked)
    const fits = await generate(ask, { 'x-max-cost-usd': most(2) })
    expect([fits.status, (await eventsOf(fits)).length]).toEqual([200, 3])
  })

  test('of a model that shows none is the picture alone', async () => {
    server.answerWith(() => Response.json({ created: 1, data: [{ b64_json: base64 }] }))
    const response = await generate({
      model: `mock/${plain.name}`,
      prompt: 'a fox',
      stream: true,
      partial_images: 1,
    })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const events = await eventsOf(response)
    expect(events).toMatchObject([{ type: 'image_generation.completed', b64_json: base64, size: '5x4' }])
  })

  test('is an error before anything was shown, and its last event after', async () => {
    server.answerWith(() =>
      answerWith([{ type: 'error', error: { code: 'moderation_blocked', message: 'no' } }]),
    )
    const [blocked, nothing] = await charged(() => generate(ask))
    expect([blocked.status, (await jsonOf(blocked)).error.code, nothing]).toEqual([
      400,
      'content_policy_violation',
      0n,
    ])
    server.answerWith(() => answerWith([partial(0)]))
    const [events, cost] = await charged(async () => eventsOf(await generate(ask)))
    expect(events).toMatchObject([partial(0), { type: 'error', error: { code: 'upstream_error' } }])
    expect(cost).toBe(0n)
  })

  test('is charged to who hangs up after the first', async () => {
    const end = Promise.withResolvers<void>()
    server.answerWith(
      () =>
        new Response(
          new ReadableStream({
            start: async (controller) => {
              controller.enqueue(Buffer.from(eventText(partial(0))))
              await end.promise
              controller.enqueue(Buffer.from(eventText(completed)))
              controller.close()
            },
          }),
          { headers: { 'content-type': 'text/event-stream' } },
        ),
    )
    const [, cost] = await charged(async () => {
      const response = await generate(ask)
      const reader = response.body?.getReader()
      await reader?.read()
      await reader?.cancel()
      end.resolve()
    })
    expect(cost).toBe(COST)
    await until(() => server.gateway.capacity.calls.used() === 0)
  })

  test('is the same to the byte for a repeat, and charged once', async () => {
    const headers = { 'idempotency-key': 'painted' }
    const [first, cost] = await charged(async () => (await generate(ask, headers)).text())
    const [again, nothing] = await charged(async () => (await generate(ask, headers)).text())
    expect([again === first, cost, nothing]).toEqual([true, COST, 0n])
    expect(again).toContain('partial_image_index')
  })

  test('partial pictures without a stream are refused', async () => {
    const { error } = await jsonOf(await generate({ ...ask, stream: false }))
    expect(error).toMatchObject({ code: 'invalid_parameter', param: 'partial_images' })
  })

  test('they are not sold where nobody would see them', async () => {
    const { token } = await server.newKey()
    const asked = server.asked.length
    const inputs = { prompt: 'a fox', partial_images: 2 }
    const run = await jsonOf(await server.post('/v1/run', { model, inputs }, {}, token))
    expect(run.error).toMatchObject({ code: 'invalid_parameter', param: 'inputs.partial_images' })
    const image = await jsonOf(await server.post('/v1/image/generate', { model, ...inputs }, {}, token))
    expect(image.error).toMatchObject({ code: 'invalid_parameter', param: 'partial_images' })
    expect(server.asked.length).toBe(asked)
  })
})

describe('POST /v1/images/edits', () => {
  const token = async () => (await server.newKey()).token
  const edit = async (fill: (form: FormData) => void): Promise<Response> => {
    const form = new FormData()
    form.append('model', model)
    form.append('prompt', 'add a hat')
    fill(form)
    return server.fetch(
      new Request('http://turnpike.test/v1/images/edits', {
        method: 'POST',
        headers: { authorization: `Bearer ${await token()}` },
        body: form,
      }),
    )
  }
  const file = (bytes: Uint8Array = PICTURE, name = 'a.png') => new File([Uint8Array.from(bytes)], name)
  const edited = {
    ...usage,
    input_tokens_details: { text_tokens: 9, image_tokens: 1_191 },
    input_tokens: 1_200,
  }
  const formOf = async (request: VendorRequest | undefined): Promise<[string, string][]> => {
    const type = request?.headers.get('content-type') ?? ''
    const form = await new Response(request?.text, { headers: { 'content-type': type } }).formData()
    return [...form.entries()].map(([name, value]) => [
      name,
      typeof value === 'string' ? value : `<${value.name}>`,
    ])
  }

  test('sends several pictures and a mask as the vendor wants them, and charges what it counted', async () => {
    server.answerWith(() => Response.json({ created: 1, data: [{ b64_json: base64 }], usage: edited }))
    const [response, cost] = await charged(() =>
      edit((form) => {
        form.append('image[]', file())
        form.append('image[]', file())
        form.append('mask', file())
        form.append('n', '1')
        form.append('size', '1024x1024')
        form.append('quality', 'low')
      }),
    )
    expect((await jsonOf(response)).data).toEqual([{ b64_json: base64 }])
    expect(cost).toBe(9n * 5_000n + 1_191n * 8_000n + 417n * 30_000n)
    expect(server.asked.at(-1)?.url).toEndWith('/images/edits')
    expect(await formOf(server.asked.at(-1))).toEqual([
      ['model', first.name],
      ['prompt', 'add a hat'],
      ['n', '1'],
      ['size', '1024x1024'],
      ['quality', 'low'],
      ['background', 'auto'],
      ['output_format', 'png'],
      ['image[]', '<picture.png>'],
      ['image[]', '<picture.png>'],
      ['mask', '<picture.png>'],
    ])
  })

  test('takes JSON with addresses, and streams', async () => {
    const made = { ...completed, type: 'image_edit.completed', usage: edited }
    server.answerWith(() => answerWith([{ ...partial(0), type: 'image_edit.partial_image' }, made]))
    const body = { model, prompt: 'a hat', stream: true, partial_images: 1 }
    const address = `data:image/png;base64,${base64}`
    for (const pictures of [{ image: address }, { images: [{ image_url: address }] }]) {
      const events = await eventsOf(await server.post('/v1/images/edits', { ...body, ...pictures }))
      expect(events.map(({ type }) => type)).toEqual(['image_edit.partial_image', 'image_edit.completed'])
      expect((await formOf(server.asked.at(-1))).filter(([name]) => name === 'stream')).toEqual([
        ['stream', 'true'],
      ])
    }
  })

  test('refuses what is no picture, no picture at all, and models that take none', async () => {
    const asked = server.asked.length
    const svg = await edit((form) =>
      form.append('image', file(Buffer.from('<svg onload="alert(1)"/>'), 'a.png')),
    )
    expect([svg.status, (await jsonOf(svg)).error.code]).toEqual([415, 'unsupported_media_type'])
    const none = await jsonOf(await edit(() => undefined))
    expect(none.error).toMatchObject({ code: 'invalid_parameter', param: 'image' })
    const body = { model: `mock/${plain.name}`, prompt: 'a', image: `data:image/png;base64,${base64}` }
    expect((await jsonOf(await server.post('/v1/images/edits', body))).error.param).toBe('model')
    const lonely = { model, prompt: 'a', inputs: {}, mask: body.image }
    expect((await server.post('/v1/images/edits', lonely)).status).toBe(400)
    expect(server.asked.length).toBe(asked)
  })
})
