/** What is asked of this vendor for jobs, and what each of its answers means. */
import { lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'assemblyai/universal-2',
    inputs: { file: 'data:audio/wav;base64,UklGRg==', timestamps: 'word' },
    sent: { method: 'POST', path: '/v2/upload', raw: 'application/octet-stream' },
    submissions: [
      [
        'uploaded',
        ok({ upload_url: 'https://cdn.assemblyai.com/upload/x' }),
        {
          next: {
            method: 'POST',
            path: '/v2/transcript',
            json: {
              audio_url: 'https://cdn.assemblyai.com/upload/x',
              speech_models: ['universal-2'],
              language_detection: true,
            },
          },
        },
      ],
      ['taken', ok({ id: 'k2', status: 'queued' }), { ref: { id: 'k2', words: true } }, 1],
      ['bad request', { status: 400, json: { error: 'no' } }, 'fault of inputs', 1],
      ...outages({ error: 'no' }),
    ],
    ref: { id: 'k2', words: true },
    poll: { method: 'GET', path: '/v2/transcript/k2' },
    polls: [
      ['queued', ok({ status: 'queued', text: null }), 'pending'],
      ['working', ok({ status: 'processing' }), 'pending'],
      ['done', ok({ status: 'completed', text: 'hi', audio_duration: 2 }), { audio_ms: 2_000 }],
      ['done without a length', ok({ status: 'completed', text: 'hi' }), 'not measured'],
      [
        'a bad sound',
        ok({ status: 'error', error: 'File does not appear to contain audio.' }),
        'fault of inputs',
      ],
      ['failed', ok({ status: 'error', error: 'Server error' }), 'fault of vendor'],
      ...lost,
    ],
  },
])
