/** What is asked of this vendor for jobs, and what each of its answers means. */
import { lost, ok, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'stability/upscale-creative',
    inputs: { image: 'data:image/png;base64,cG5n', prompt: 'a fox' },
    sent: {
      method: 'POST',
      path: '/v2beta/stable-image/upscale/creative',
      headers: { accept: 'application/json' },
      form: [
        ['image', 'image.png'],
        ['prompt', 'a fox'],
        ['seed', '0'],
        ['output_format', 'png'],
        ['creativity', '0.3'],
      ],
    },
    submissions: [
      ['taken', ok({ id: 'f6' }), { ref: { id: 'f6' } }],
      ['blocked', { status: 403, json: { name: 'content_moderation', errors: ['no'] } }, 'blocked'],
      ...usual({ id: 'x', name: 'bad_request', errors: ['no'] }),
    ],
    ref: { id: 'f6' },
    poll: { method: 'GET', path: '/v2beta/results/f6', headers: { accept: 'image/*' } },
    polls: [
      ['pending', ok({ id: 'f6', status: 'in-progress' }, 202), 'pending'],
      [
        'done',
        { headers: { 'content-type': 'image/png', 'finish-reason': 'SUCCESS' }, text: 'png' },
        { image: 1 },
      ],
      [
        'a blocked picture',
        { headers: { 'content-type': 'image/png', 'finish-reason': 'CONTENT_FILTERED' }, text: 'png' },
        'blocked',
      ],
      ['blocked', { status: 403, json: { name: 'content_moderation' } }, 'blocked'],
      ['something else', { text: '<p>' }, 'fault of vendor'],
      ...lost.slice(0, 2),
    ],
  },
])
