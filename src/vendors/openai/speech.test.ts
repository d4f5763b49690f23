/** What is asked of this vendor for sounds, and what each of its answers means. */
import { delta, events } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
