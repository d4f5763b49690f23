/** What is asked of this vendor for sounds, and what each of its answers means. */
import { detail, failures, ok } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
