/** Transcription: what we send to each vendor, and what each of its answers means. */
import { expect, test } from 'bun:test'
import { type ProductCases, type ReplyCase, readingOf, sentOf, verdictOf } from '../../test/vendor-media.ts'
import { EXAMPLE_SOUND } from './openai-transcription.ts'

const file = EXAMPLE_SOUND
const failures: ReplyCase[] = [
  ['bad request', { status: 400, json: { error: { message: 'no' } } }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: { error: { code: 'rate_limit_exceeded' } } }, 'upstream_error'],
  ['no credits', { status: 402, json: { category: 'ASR_PAYMENT_REQUIRED' } }, 'upstream_error'],
  ['something else', { json: { hello: 1 } }, 'broken'],
  ['no JSON', { text: 'Hello.' }, 'broken'],
]
const seconds = { text: 'Hello.', usage: { type: 'duration', seconds: 5 } }
const tokens = {
  text: 'Hello.',
  usage: {
    type: 'tokens',
    input_tokens: 22,
    input_token_details: { text_tokens: 2, audio_tokens: 20 },
    output_tokens: 6,
  },
}
const plain = (model: string) => ({
  method: 'POST',
  path: '/audio/transcriptions',
  form: [
    ['model', model],
    ['file', 'audio.wav'],
    ['response_format', 'json'],
    ['temperature', '0'],
  ],
})
const timed = (model: string, ...more: string[][]) => ({
  method: 'POST',
  path: '/audio/transcriptions',
  form: [
    ['model', model],
    ['file', 'audio.wav'],
    ['response_format', 'verbose_json'],
    ['temperature', '0'],
    ...more,
  ],
})
const segment = ['timestamp_granularities[]', 'segment']

const products: ProductCases[] = [
  {
    id: 'openai/gpt-transcribe',
    inputs: { file },
    sent: plain('gpt-transcribe'),
    replies: [['ok', { json: seconds }, { audio_ms: 5_000 }], ...failures],
  },
  ...['gpt-4o-transcribe', 'gpt-4o-mini-transcribe'].map(
    (name): ProductCases => ({
      id: `openai/${name}`,
      inputs: { file },
      sent: plain(name),
      replies: [
        ['ok', { json: tokens }, { input: 2, input_audio: 20, output: 6 }],
        ['ok without usage', { json: { text: '' } }, 'not measured'],
        ...failures,
      ],
    }),
  ),
  {
    id: 'openai/whisper-1',
    inputs: { file, language: 'en', prompt: 'names', timestamps: 'word' },
    sent: timed('whisper-1', ['prompt', 'names'], ['language', 'en'], segment, [
      'timestamp_granularities[]',
      'word',
    ]),
    replies: [
      ['ok', { json: { text: 'Hello.', duration: 1.25 } }, { audio_ms: 1_250 }],
      ['ok with usage', { json: seconds }, { audio_ms: 5_000 }],
      ...failures,
    ],
  },
  {
    id: 'groq/whisper-large-v3',
    inputs: { file },
    sent: timed('whisper-large-v3', segment),
    replies: [
      ['ok, ten seconds at least', { json: { text: 'Hello.', duration: 1.25 } }, { audio_ms: 10_000 }],
      ['ok, longer', { json: { text: 'Hello.', duration: 12.34 } }, { audio_ms: 12_340 }],
      ...failures,
    ],
  },
  {
    id: 'deepgram/nova-3',
    inputs: { file },
    sent: {
      method: 'POST',
      path: '/listen',
      query: { model: 'nova-3', language: 'en', smart_format: 'true' },
      raw: 'audio/wav',
    },
    replies: [
      [
        'ok',
        {
          json: {
            metadata: { duration: 25.9, channels: 1 },
            results: { channels: [{ alternatives: [{ transcript: 'hello', words: [] }] }] },
          },
        },
        { audio_ms: 25_900 },
      ],
      ['nothing heard at all', { json: { metadata: { duration: 1 }, results: { channels: [] } } }, 'broken'],
      ...failures,
    ],
  },
  {
    id: 'elevenlabs/scribe-v2',
    inputs: { file, language: 'en' },
    sent: {
      method: 'POST',
      path: '/speech-to-text',
      form: [
        ['model_id', 'scribe_v2'],
        ['file', 'audio.wav'],
        ['diarize', 'false'],
        ['language_code', 'en'],
      ],
    },
    replies: [
      ['ok', { json: { text: 'Hello.', audio_duration_secs: 1.2, words: [] } }, { audio_ms: 1_200 }],
      ['no credits here', { status: 401, json: { detail: { status: 'quota_exceeded' } } }, 'upstream_error'],
      ...failures,
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

test('a translation is asked at its own address, without what it does not take', () => {
  expect(sentOf('openai/whisper-1', { file, task: 'translate', language: 'de' })).toEqual({
    ...timed('whisper-1'),
    path: '/audio/translations',
  })
})

test('times come from segments, or from words put together', () => {
  const segments = [{ id: 0, start: 0, end: 1, text: ' Hello.' }]
  expect(verdictOf('groq/whisper-large-v3', { file }, { json: { text: 'Hello.', segments } })).toMatchObject({
    transcript: { text: 'Hello.', segments: [{ start: 0, end: 1, text: ' Hello.' }] },
  })
  const words = [
    { word: 'hello', punctuated_word: 'Hello.', start: 0.1, end: 0.5 },
    { word: 'you', punctuated_word: 'You', start: 0.6, end: 0.8 },
    { word: 'there', punctuated_word: 'there', start: 3, end: 3.5 },
  ]
  const json = { results: { channels: [{ alternatives: [{ transcript: 'Hello. You there', words }] }] } }
  expect(verdictOf('deepgram/nova-3', { file, timestamps: 'word' }, { json })).toMatchObject({
    transcript: {
      segments: [
        { start: 0.1, end: 0.5, text: 'Hello.' },
        { start: 0.6, end: 0.8, text: 'You' },
        { start: 3, end: 3.5, text: 'there' },
      ],
      words: [{ text: 'Hello.' }, { text: 'You' }, { text: 'there' }],
    },
  })
})
