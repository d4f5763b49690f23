/** Search, speech, transcription, ranking and moderation through the whole server, with the vendors' own records and a scripted wire. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Assets } from '../../src/assets/assets.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import { EXAMPLE_SOUND } from '../../src/vendors/openai/transcription.ts'
import { recordOf } from '../vendor-media.ts'
import { unread } from './asset-rig.ts'
import { jsonOf, mockSetup, startTestServer, type TestServer } from './harness.ts'

const priced = (id: string): MediaModel => {
  const record = recordOf(id)
  return 'card' in record
    ? record
    : { ...record, card: { rows: [{ rates: { search: usd('0.002') } }], most: record.most } }
}

const records = [
  'tavily/search',
  'xai/text-to-speech',
  'openai/whisper-1',
  'openai/gpt-transcribe',
  'openai/omni-moderation-latest',
  'cohere/rerank-v4.0-fast',
].map(priced)

const kept = new Map<string, Uint8Array>()
/** Keeps assets in memory, as the real store does in files. */
const assets: Assets = {
  ...unread,
  full: async () => undefined,
  bytes: async (id) => kept.get(id) ?? new Uint8Array(),
  keep: async ({ runId, index, type, from }) => {
    const id = `${runId}-${index}`
    const bytes = 'bytes' in from ? from.bytes : new Uint8Array()
    kept.set(id, bytes)
    return {
      id,
      url: `https://turnpike.test/v1/assets/${id}.mp3`,
      type,
      media_type: 'audio/mpeg',
      bytes: bytes.length,
      sha256: '',
      expires_at: '2026-12-01T00:00:00.000Z',
    }
  },
}

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    models: records.map((record) => modelOf('mock', record)),
    vendor: { media: { models: records }, auth: 'Token' },
    assets: () => assets,
  })
})
afterAll(() => server.stop())

const spentBy = async (act: () => Promise<Response>): Promise<[Response, bigint]> => {
  const before = await server.balance()
  const response = await act()
  return [response, before - (await server.balance())]
}

describe('POST /v1/run', () => {
  test('a search costs the credits that the vendor counted', async () => {
    server.answerWith(() =>
      Response.json({ query: 'x402', results: [{ url: 'https://x402.org' }], usage: { credits: 1 } }),
    )
    const inputs = { query: 'x402', search_depth: 'advanced' }
    const [response, spent] = await spentBy(() => server.post('/v1/run', { model: 'mock/search', inputs }))
    expect(await jsonOf(response)).toMatchObject({
      object: 'run',
      results: [{ url: 'https://x402.org' }],
      usage: { credits: 1, cost: 0.008 },
    })
    expect(spent).toBe(8_000_000n)
    expect(server.asked.at(-1)?.body).toMatchObject({ search_depth: 'advanced', include_usage: true })
    expect(server.asked.at(-1)?.headers.get('authorization')).toBe('Token house-key')
  })

  test('a search whose bound is above the ceiling does not reach the vendor', async () => {
    const asked = server.asked.length
    const inputs = { query: 'x402', search_depth: 'advanced' }
    const headers = { 'x-max-cost-usd': '0.008' }
    const [response, spent] = await spentBy(() =>
      server.post('/v1/run', { model: 'mock/search', inputs }, headers),
    )
    expect([response.status, spent, server.asked.length]).toEqual([402, 0n, asked])
  })

  test('speech is stored and costs its letters', async () => {
    server.answerWith(() => new Response('mp3', { headers: { 'content-type': 'audio/mpeg' } }))
    const inputs = { text: 'Hello.' }
    const [response, spent] = await spentBy(() =>
      server.post('/v1/run', { model: 'mock/text-to-speech', inputs }),
    )
    expect((await jsonOf(response)).outputs).toMatchObject([{ type: 'audio', bytes: 3 }])
    expect(spent).toBe(25_200n)
    expect(server.asked.at(-1)?.url).toEndWith('/v1/tts')
  })

  test('an answer that is no sound is free', async () => {
    server.answerWith(() => Response.json({ hello: 1 }))
    const inputs = { text: 'Hello.' }
    const [response, spent] = await spentBy(() =>
      server.post('/v1/run', { model: 'mock/text-to-speech', inputs }),
    )
    expect([response.status, spent]).toEqual([503, 0n])
  })
})

const WAV = Buffer.from(EXAMPLE_SOUND.slice(EXAMPLE_SOUND.indexOf(',') + 1), 'base64')

const form = (members: Record<string, string>, boundary = 'XbX', bytes = WAV, filename = 'a') => {
  const fields = Object.entries(members).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`
  return Buffer.concat([Buffer.from(fields.join('') + head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

let token = ''
const sendForm = async (path: string, body: Uint8Array, boundary = 'XbX', headers = {}) => {
  if (token === '') ({ token } = await server.newKey())
  return server.fetch(
    new Request(`http://turnpike.test${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        ...headers,
      },
      body,
    }),
  )
}

const heard = {
  text: 'Hello there.',
  language: 'english',
  duration: 2,
  segments: [
    { id: 0, start: 0, end: 1, text: ' Hello', no_speech_prob: 0.01 },
    { id: 1, start: 1, end: 2.5, text: ' there.', avg_logprob: -0.2 },
  ],
}
const says = (what: object) => server.answerWith(() => Response.json(what))
const whisper = { model: 'mock/whisper-1' }
const listen = (members: Record<string, string>) =>
  sendForm('/v1/audio/transcriptions', form({ ...whisper, ...members }))

describe('POST /v1/audio/transcriptions', () => {
  test('takes a form, sends a form, and charges the seconds', async () => {
    says(heard)
    const [response, spent] = await spentBy(() => listen({ temperature: '0.5', language: 'en' }))
    expect(await jsonOf(response)).toMatchObject({ text: 'Hello there.', usage: { cost: 0.0002 } })
    expect(spent).toBe(200_000n)
    const { text, url } = server.asked.at(-1) ?? { text: '', url: '' }
    expect(url).toEndWith('/audio/transcriptions')
    expect(text).toContain('name="file"; filename="audio.wav"')
    expect(text).toContain('name="temperature"\r\n\r\n0.5')
  })

  test.each([
    ['text', 'text/plain; charset=utf-8', 'Hello there.\n'],
    [
      'srt',
      'text/plain; charset=utf-8',
      '1\n00:00:00,000 --> 00:00:01,000\nHello\n\n2\n00:00:01,000 --> 00:00:02,500\nthere.\n\n',
    ],
    [
      'vtt',
      'text/vtt; charset=utf-8',
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello\n\n00:00:01.000 --> 00:00:02.500\nthere.\n\n',
    ],
  ])('as %s', async (style, type, text) => {
    says(heard)
    const response = await listen({ response_format: style })
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('x-cost-usd')).toBe('0.0002')
    expect(await response.text()).toBe(text)
  })

  test('as verbose_json, with words where they are asked for', async () => {
    says({ ...heard, words: [{ word: 'Hello', start: 0, end: 1 }] })
    const response = await listen({
      response_format: 'verbose_json',
      'timestamp_granularities[]': 'word',
    })
    expect(await jsonOf(response)).toMatchObject({
      duration: 2,
      segments: [
        { id: 0, text: ' Hello', no_speech_prob: 0.01 },
        { id: 1, avg_logprob: -0.2 },
      ],
      words: [{ word: 'Hello', start: 0, end: 1 }],
    })
    expect(server.asked.at(-1)?.text).toContain('name="timestamp_granularities[]"\r\n\r\nword')
  })

  test('a retry with another boundary is the same call, charged once', async () => {
    says(heard)
    const headers = { 'idempotency-key': 'form-1' }
    const send = (boundary: string) =>
      sendForm(
        '/v1/audio/transcriptions',
        form({ ...whisper, response_format: 'srt' }, boundary),
        boundary,
        headers,
      )
    const first = await send('AaA')
    const [again, spent] = await spentBy(() => send('BbB'))
    expect([again.status, spent]).toEqual([200, 0n])
    expect(await again.text()).toBe(await first.text())
  })

  test('refuses times of a model that gives none, and what is no sound', async () => {
    const asked = server.asked.length
    const plain = { model: 'mock/gpt-transcribe', response_format: 'srt' }
    const timeless = await sendForm('/v1/audio/transcriptions', form(plain))
    expect([timeless.status, (await jsonOf(timeless)).error.param]).toEqual([400, 'response_format'])
    const text = await sendForm('/v1/audio/transcriptions', form(whisper, 'XbX', Buffer.from('<p>')))
    expect([text.status, (await jsonOf(text)).error.code]).toEqual([415, 'unsupported_media_type'])
    const linked = await server.post('/v1/audio/transcriptions', {
      ...whisper,
      file: 'https://example.com/a.mp3',
    })
    const { error } = await jsonOf(linked)
    expect([linked.status, error.param]).toEqual([400, 'file'])
    expect(error.message).toContain('or the id of a file')
    expect(server.asked.length).toBe(asked)
  })

  test('a file is known by the ending of its name', async () => {
    says(heard)
    const named = form(whisper, 'XbX', Buffer.from('anything'), 'talk.OGA')
    expect((await sendForm('/v1/audio/transcriptions', named)).status).toBe(200)
    expect(server.asked.at(-1)?.text).toContain('filename="audio.ogg"')
  })

  test.each([
    ['no form', Buffer.from('hello'), 400],
    ['cut off', form(whisper).subarray(0, 90), 400],
    [
      'ten thousand parts',
      Buffer.from('--XbX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(10_000)),
      400,
    ],
    [
      'the same member twice',
      Buffer.concat([form({ model: 'a' }).subarray(0, 62), form({ model: 'b' })]),
      400,
    ],
  ])('a form that is %s is refused', async (_what, body, status) => {
    const asked = server.asked.length
    const response = await sendForm('/v1/audio/transcriptions', body)
    expect([response.status, server.asked.length]).toEqual([status, asked])
  })

  test('translations are asked of models that translate', async () => {
    says(heard)
    const response = await sendForm('/v1/audio/translations', form(whisper))
    expect((await jsonOf(response)).text).toBe('Hello there.')
    expect(server.asked.at(-1)?.url).toEndWith('/audio/translations')
    const other = await sendForm('/v1/audio/translations', form({ model: 'mock/gpt-transcribe' }))
    expect([other.status, (await jsonOf(other)).error.param]).toEqual([400, 'model'])
  })
})

describe('other addresses', () => {
  test('POST /v1/rerank, at the vendor’s other host', async () => {
    says({
      id: 'r',
      results: [{ index: 1, relevance_score: 0.9 }],
      meta: { billed_units: { search_units: 1 } },
    })
    const body = { model: 'mock/rerank-v4.0-fast', query: 'fox', documents: ['a dog', { text: 'a fox' }] }
    const [response, spent] = await spentBy(() => server.post('/v1/rerank', body))
    expect(await jsonOf(response)).toMatchObject({ results: [{ index: 1, relevance_score: 0.9 }] })
    expect(spent).toBe(2_000_000n)
    expect(server.asked.at(-1)?.url).toBe('https://api.cohere.com/v2/rerank')
    expect(server.asked.at(-1)?.body.documents).toEqual(['a dog', 'a fox'])
    const wrong = await server.post('/v1/rerank', { ...body, model: 'mock/search' })
    expect([wrong.status, (await jsonOf(wrong)).error.code]).toEqual([400, 'model_not_found'])
    expect((await server.post('/v1/rerank', { ...body, return_documents: true })).status).toBe(400)
  })

  test.each([
    ['https://proxy.example/cohere/v1', 'https://proxy.example/cohere/v2/rerank'],
    ['http://127.0.0.1:9000/any', 'http://127.0.0.1:9000/v2/rerank'],
  ])('an operator’s own address of the vendor, %s, is asked for that too', async (baseUrl, expected) => {
    const asked: string[] = []
    const answer = async (url: string) => {
      asked.push(url)
      return Response.json({ results: [], meta: { billed_units: { search_units: 1 } } })
    }
    const media = { models: records }
    const proxied = await startTestServer({
      models: records.map((record) => modelOf('proxied', record)),
      more: [{ ...mockSetup({ id: 'proxied', media }, answer), baseUrl }],
    })
    const body = { model: 'proxied/rerank-v4.0-fast', query: 'fox', documents: ['a dog'] }
    expect((await proxied.post('/v1/rerank', body)).status).toBe(200)
    expect(asked).toEqual([expected])
    await proxied.stop()
  })

  test('POST /v1/moderations is free', async () => {
    says({ id: 'm', model: 'omni', results: [{ flagged: false, categories: {} }] })
    const [response, spent] = await spentBy(() =>
      server.post('/v1/moderations', { model: 'mock/omni-moderation-latest', input: 'hello' }),
    )
    expect(response.status).toBe(200)
    expect(await jsonOf(response)).toMatchObject({ results: [{ flagged: false }], usage: { cost: 0 } })
    expect(spent).toBe(0n)
  })
})
