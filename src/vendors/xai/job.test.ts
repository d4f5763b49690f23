/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'xai/grok-imagine-video',
    inputs: { prompt: 'a fox', image: 'https://example.com/a.png', duration: 3 },
    sent: {
      method: 'POST',
      path: '/videos/generations',
      json: {
        model: 'grok-imagine-video',
        prompt: 'a fox',
        duration: 3,
        resolution: '480p',
        aspect_ratio: '16:9',
        image: { url: 'https://example.com/a.png' },
      },
    },
    submissions: [
      ['taken', ok({ request_id: 'd4' }), { ref: { id: 'd4', seconds: 3, pictures: 1 } }],
      ...usual({ code: 'invalid', error: 'no' }),
    ],
    ref: { id: 'd4', seconds: 3, pictures: 1 },
    poll: { method: 'GET', path: '/videos/d4' },
    polls: [
      ['pending without a body', { status: 202, text: '' }, 'pending'],
      ['progress', ok({ status: 'pending', progress: 30 }, 202), { progress: 0.3 }],
      [
        'done',
        ok({ status: 'done', video: { url: film, duration: 2.96, respect_moderation: true } }),
        { video_ms: 2_960, image: 1 },
      ],
      ['done without a length', ok({ status: 'done', video: { url: film } }), { video_ms: 3_000, image: 1 }],
      ['blocked', ok({ status: 'done', video: { url: '', respect_moderation: false } }), 'blocked'],
      ['no address', ok({ status: 'done', video: { url: null } }), 'fault of vendor'],
      ['expired', ok({ status: 'expired' }), 'fault of vendor'],
      ['failed', ok({ status: 'failed', error: { code: 'internal', message: 'oops' } }), 'fault of vendor'],
      ...lost,
    ],
  },
])
