/** What is asked of this vendor for sounds, and what each of its answers means. */
import { failures, ok } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'xai/text-to-speech',
    inputs: { text: 'Hello.' },
    sent: { method: 'POST', path: '/tts', json: { text: 'Hello.', voice_id: 'eve', language: 'auto' } },
    replies: [
      ['ok', ok(), { character: 6 }],
      ...failures({ code: 'Client specified an invalid argument', error: 'no' }),
    ],
  },
])
