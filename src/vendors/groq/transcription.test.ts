/** What is asked of this vendor for transcripts, and what each of its answers means. */
import { failures, file, segment, timed } from '../../../test/vendor-answers/transcription.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
