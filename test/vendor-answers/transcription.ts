/** What the tests of vendors that deliver transcripts have in common: our own words for their answers. */

import { EXAMPLE_SOUND } from '../../src/vendors/openai/transcription.ts'
import type { ReplyCase } from '../vendor-media.ts'

export const file = EXAMPLE_SOUND
export const failures: ReplyCase[] = [
  ['bad request', { status: 400, json: { error: { message: 'no' } } }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: { error: { code: 'rate_limit_exceeded' } } }, 'upstream_error'],
  ['no credits', { status: 402, json: { category: 'ASR_PAYMENT_REQUIRED' } }, 'upstream_error'],
  ['something else', { json: { hello: 1 } }, 'broken'],
  ['no JSON', { text: 'Hello.' }, 'broken'],
]
export const seconds = { text: 'Hello.', usage: { type: 'duration', seconds: 5 } }
export const tokens = {
  text: 'Hello.',
  usage: {
    type: 'tokens',
    input_tokens: 22,
    input_token_details: { text_tokens: 2, audio_tokens: 20 },
    output_tokens: 6,
  },
}
export const plain = (model: string) => ({
  method: 'POST',
  path: '/audio/transcriptions',
  form: [
    ['model', model],
    ['file', 'audio.wav'],
    ['response_format', 'json'],
    ['temperature', '0'],
  ],
})
export const timed = (model: string, ...more: string[][]) => ({
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
export const segment = ['timestamp_granularities[]', 'segment']
