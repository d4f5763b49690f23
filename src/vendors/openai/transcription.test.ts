/** What is asked of this vendor for transcripts, and what each of its answers means. */
import { failures, file, plain, seconds, segment, timed } from '../../../test/vendor-answers/transcription.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'openai/gpt-transcribe',
    inputs: { file },
    sent: plain('gpt-transcribe'),
    replies: [['ok', { json: seconds }, { audio_ms: 5_000 }], ...failures],
  },
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
])
