/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, still, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'luma/ray-3.2',
    inputs: { prompt: 'a fox', duration: '10s' },
    sent: {
      method: 'POST',
      path: '/generations',
      json: {
        model: 'ray-3.2',
        type: 'video',
        prompt: 'a fox',
        aspect_ratio: '16:9',
        video: { resolution: '720p', duration: '10s', hdr: false, loop: false, exr_export: false },
      },
    },
    submissions: [
      ['taken', ok({ id: 'c3', state: 'queued' }, 201), { ref: { id: 'c3' } }],
      ...usual({ detail: 'no' }),
    ],
    ref: { id: 'c3' },
    poll: { method: 'GET', path: '/generations/c3' },
    polls: [
      ['pending', ok({ id: 'c3', state: 'queued' }), 'pending'],
      ['working', ok({ id: 'c3', state: 'processing' }), 'pending'],
      ['done', ok({ id: 'c3', state: 'completed', output: [{ type: 'video', url: film }] }), { call: 1 }],
      ['done without a result', ok({ id: 'c3', state: 'completed', output: [] }), 'fault of vendor'],
      [
        'blocked',
        ok({ state: 'failed', failure_code: 'content_moderated', failure_reason: 'no' }),
        'blocked',
      ],
      [
        'failed',
        ok({ state: 'failed', failure_code: 'internal', failure_reason: 'oops' }),
        'fault of vendor',
      ],
      ...lost.filter(([what]) => what !== 'an unknown state'),
    ],
  },
  {
    id: 'luma/uni-1',
    inputs: { prompt: 'a fox' },
    sent: {
      method: 'POST',
      path: '/generations',
      json: {
        model: 'uni-1',
        type: 'image',
        prompt: 'a fox',
        aspect_ratio: '1:1',
        style: 'auto',
        output_format: 'png',
      },
    },
    submissions: [['taken', ok({ id: 'c4', state: 'queued' }, 201), { ref: { id: 'c4' } }]],
    ref: { id: 'c4' },
    poll: { method: 'GET', path: '/generations/c4' },
    polls: [['done', ok({ state: 'completed', output: [{ type: 'image', url: still }] }), { call: 1 }]],
  },
])
