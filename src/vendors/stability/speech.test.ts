/** What is asked of this vendor for sounds, and what each of its answers means. */
import { failures, ok } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
