/** What is asked of this vendor for transcripts, and what each of its answers means. */
import { failures, file } from '../../../test/vendor-answers/transcription.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
