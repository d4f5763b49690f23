/** What is asked of this vendor for sounds, and what each of its answers means. */
import { failures, ok } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
