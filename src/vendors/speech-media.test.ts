/** Speech and music: what we send to each vendor, and what each of its answers means. */
import { expect, test } from 'bun:test'
import { type ProductCases, type ReplyCase, readingOf, sentOf, verdictOf } from '../../test/vendor-media.ts'

const sound = new Uint8Array([73, 68, 51, 4])
const ok = (headers: Record<string, string> = {}) => ({
  headers: { 'content-type': 'audio/mpeg', ...headers },
  bytes: sound,
})
const failures = (bad: object, rest: Record<number, object> = {}): ReplyCase[] => [
  ['bad request', { status: 400, json: bad }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: rest[429] ?? bad }, 'upstream_error'],
  ['no credits', { status: 402, json: rest[402] ?? bad }, 'upstream_error'],
  ['a page in place of a sound', { headers: { 'content-type': 'text/html' }, text: '<p>' }, 'broken'],
  ['an empty sound', { headers: { 'content-type': 'audio/mpeg' }, text: '' }, 'broken'],
]

const events = (...all: object[]) => ({
  headers: { 'content-type': 'text/event-stream' },
  text: all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''),
})
const delta = { type: 'speech.audio.delta', audio: 'SUQz' }
const detail = (status: string) => ({ detail: { status, message: 'no' } })
const base = (status_code: number) => ({ json: { base_resp: { status_code, status_msg: 'no' } } })

const products: ProductCases[] = [
  {
    id: 'openai/gpt-4o-mini-tts',
    inputs: { input: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/audio/speech',
      json: {
        model: 'gpt-4o-mini-tts',
        input: 'Hello.',
        voice: 'coral',
        response_format: 'mp3',
        speed: 1,
        stream_format: 'sse',
      },
    },
    replies: [
      [
        'ok',
        events(delta, delta, { type: 'speech.audio.done', usage: { input_tokens: 3, output_tokens: 21 } }),
        { input: 3, output_audio: 21 },
      ],
      ['ok without usage', events(delta, { type: 'speech.audio.done' }), 'not measured'],
      ['cut off', events(delta), 'broken'],
      ['nothing said', events({ type: 'speech.audio.done' }), 'broken'],
      [
        'blocked',
        { status: 400, json: { error: { message: 'no', code: 'content_policy_violation' } } },
        'content_policy_violation',
      ],
      ['bad request', { status: 400, json: { error: { message: 'Invalid voice' } } }, 'invalid_parameter'],
      ['no credits', { status: 429, json: { error: { code: 'insufficient_quota' } } }, 'upstream_error'],
    ],
  },
  {
    id: 'elevenlabs/flash-v2.5',
    inputs: { text: 'Hello.', seed: 1 },
    sent: {
      method: 'POST',
      path: '/text-to-speech/21m00Tcm4TlvDq8ikWAM',
      query: { output_format: 'mp3_44100_128' },
      json: { text: 'Hello.', seed: 1, model_id: 'eleven_flash_v2_5' },
    },
    replies: [
      ['ok', ok({ 'character-cost': '3' }), { character: 6 }],
      ['fewer credits than letters', ok({ 'character-cost': '2' }), { character: 4 }],
      ['more credits than letters', ok({ 'character-cost': '9' }), { character: 6 }],
      ['ok without a count', ok(), { character: 6 }],
      ['no credits', { status: 401, json: detail('quota_exceeded') }, 'upstream_error'],
      ['refused key', { status: 401, json: detail('invalid_api_key') }, 'upstream_error'],
      ['busy', { status: 429, json: detail('too_many_concurrent_requests') }, 'upstream_error'],
      ['bad member', { status: 422, json: { detail: [{ loc: ['body'], msg: 'no' }] } }, 'invalid_parameter'],
      ...failures(detail('bad')),
    ],
  },
  {
    id: 'elevenlabs/multilingual-v2',
    inputs: { text: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/text-to-speech/21m00Tcm4TlvDq8ikWAM',
      query: { output_format: 'mp3_44100_128' },
      json: { text: 'Hello.', model_id: 'eleven_multilingual_v2' },
    },
    replies: [['ok', ok({ 'character-cost': '6' }), { character: 6 }], ...failures(detail('bad'))],
  },
  {
    id: 'elevenlabs/music-v2.5',
    inputs: { prompt: 'calm piano', music_length_ms: 30_000 },
    sent: {
      method: 'POST',
      path: '/music',
      query: { output_format: 'mp3_44100_128' },
      json: {
        prompt: 'calm piano',
        music_length_ms: 30_000,
        force_instrumental: false,
        model_id: 'music_v2_5',
      },
    },
    replies: [
      ['ok', ok(), 'not measured'],
      ['blocked', { status: 400, json: detail('bad_prompt') }, 'blocked'],
      ...failures(detail('bad')),
    ],
  },
  {
    id: 'deepgram/aura-2',
    inputs: { text: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/speak',
      query: { model: 'aura-2-thalia-en', encoding: 'mp3' },
      json: { text: 'Hello.' },
    },
    replies: [
      ['ok', ok({ 'dg-char-count': '6' }), { character: 6 }],
      ['ok without a count', ok(), { character: 6 }],
      ['an absurd count', ok({ 'dg-char-count': '-1' }), { character: 6 }],
      ...failures({ err_code: 'Bad Request', err_msg: 'no' }, { 402: { category: 'PAYMENT_REQUIRED' } }),
    ],
  },
  {
    id: 'cartesia/sonic-3',
    inputs: { text: 'Hello.', voice: 'a0e99841-438c-4a64-b679-ae501e7d6091' },
    sent: {
      method: 'POST',
      path: '/tts/bytes',
      json: {
        model_id: 'sonic-3',
        transcript: 'Hello.',
        voice: { mode: 'id', id: 'a0e99841-438c-4a64-b679-ae501e7d6091' },
        language: 'en',
        output_format: { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 },
      },
    },
    replies: [['ok', ok(), { character: 6 }], ...failures({ message: 'no' })],
  },
  {
    id: 'xai/text-to-speech',
    inputs: { text: 'Hello.' },
    sent: { method: 'POST', path: '/tts', json: { text: 'Hello.', voice_id: 'eve', language: 'auto' } },
    replies: [
      ['ok', ok(), { character: 6 }],
      ...failures({ code: 'Client specified an invalid argument', error: 'no' }),
    ],
  },
  {
    id: 'minimax/speech-2.6-hd',
    inputs: { text: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/t2a_v2',
      json: {
        model: 'speech-2.6-hd',
        text: 'Hello.',
        stream: false,
        voice_setting: { voice_id: 'English_expressive_narrator', speed: 1 },
        audio_setting: { format: 'mp3', sample_rate: 32_000 },
        output_format: 'hex',
      },
    },
    replies: [
      [
        'ok',
        {
          json: {
            data: { audio: '494433', status: 2 },
            extra_info: { usage_characters: 7 },
            base_resp: { status_code: 0 },
          },
        },
        { character: 7 },
      ],
      ['blocked', base(1026), 'blocked'],
      ['blocked result', base(1027), 'blocked'],
      ['bad request', base(2013), 'fault of inputs'],
      ['rate limit', base(1002), 'fault of vendor'],
      ['no credits', base(1008), 'fault of vendor'],
      ['no hex', { json: { data: { audio: 'xyz' }, base_resp: { status_code: 0 } } }, 'broken'],
    ],
  },
  {
    id: 'minimax/music-2.0',
    inputs: { prompt: 'calm piano', lyrics: '[verse]\nla la' },
    sent: {
      method: 'POST',
      path: '/music_generation',
      json: { model: 'music-2.0', prompt: 'calm piano', lyrics: '[verse]\nla la', output_format: 'url' },
    },
    replies: [
      [
        'ok',
        {
          json: {
            data: { audio: 'https://cdn.example.com/a.mp3' },
            extra_info: { music_duration: 61_000 },
            base_resp: { status_code: 0 },
          },
        },
        { song: 1 },
      ],
      ['blocked', base(1026), 'blocked'],
      ['no credits', base(1008), 'fault of vendor'],
      ['another address', { json: { data: { audio: 'file:///etc/passwd' } } }, 'broken'],
    ],
  },
  {
    id: 'google/lyria-3.5',
    inputs: { prompt: 'calm piano' },
    sent: {
      method: 'POST',
      path: '/interactions',
      json: { model: 'lyria-3.5', input: 'calm piano', store: false },
    },
    replies: [
      [
        'ok',
        {
          json: {
            status: 'completed',
            steps: [
              { type: 'user_input', content: [{ type: 'text', text: 'calm piano' }] },
              {
                type: 'model_output',
                content: [
                  { type: 'text', text: '[verse]' },
                  { type: 'audio', mime_type: 'audio/mpeg', data: 'SUQz' },
                ],
              },
            ],
          },
        },
        { song: 1 },
      ],
      ['blocked', { json: { status: 'failed', errors: [{ message: 'PROHIBITED content' }] } }, 'blocked'],
      ['failed', { json: { status: 'failed', errors: [{ message: 'oops' }] } }, 'fault of vendor'],
      ...failures({ error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT' } }),
    ],
  },
  {
    id: 'stability/stable-audio-2.5',
    inputs: { prompt: 'calm piano', seed: 7 },
    sent: {
      method: 'POST',
      path: '/v2beta/audio/stable-audio-2/text-to-audio',
      headers: { accept: 'audio/*' },
      form: [
        ['model', 'stable-audio-2.5'],
        ['prompt', 'calm piano'],
        ['duration', '30'],
        ['output_format', 'mp3'],
        ['seed', '7'],
      ],
    },
    replies: [
      ['ok', ok({ 'finish-reason': 'SUCCESS' }), { song: 1 }],
      ['blocked', { status: 403, json: { name: 'content_moderation', errors: ['no'] } }, 'blocked'],
      ['blocked with 200', ok({ 'finish-reason': 'CONTENT_FILTERED' }), 'blocked'],
      ...failures({ name: 'bad_request', errors: ['no'] }),
    ],
  },
]

for (const { id, inputs, sent, replies } of products) {
  test(`${id}: what is sent`, () => {
    expect(sentOf(id, inputs)).toEqual(sent)
  })
  test.each(replies.map((one) => [...one] as const))(`${id}: %s`, (_what, reply, expected) => {
    expect(readingOf(id, inputs, reply)).toEqual(expected)
  })
}

test('the pieces of a sound are put together', () => {
  const reply = events(delta, delta, { type: 'speech.audio.done' })
  const verdict = verdictOf('openai/gpt-4o-mini-tts', { input: 'Hi' }, reply)
  expect(verdict).toMatchObject({
    outputs: [{ type: 'audio', from: { bytes: new Uint8Array([73, 68, 51, 73, 68, 51]) } }],
  })
})
