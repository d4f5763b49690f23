/** What is asked of this vendor for transcripts, and what each of its answers means. */
import { failures, file } from '../../../test/vendor-answers/transcription.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
