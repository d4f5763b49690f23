/** What is asked of this vendor for jobs, and what each of its answers means. */
import { lost, ok, outages, still } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'replicate/black-forest-labs/flux-schnell',
    callsBack: true,
    inputs: { prompt: 'a fox', num_outputs: 2 },
    sent: {
      method: 'POST',
      path: '/models/black-forest-labs/flux-schnell/predictions',
      json: {
        input: {
          prompt: 'a fox',
          aspect_ratio: '1:1',
          num_outputs: 2,
          output_format: 'png',
          output_quality: 80,
          megapixels: '1',
          disable_safety_checker: false,
        },
      },
    },
    submissions: [
      ['taken', ok({ id: 'h8', status: 'starting' }, 201), { ref: { id: 'h8' } }],
      [
        'a wrong input',
        { status: 422, json: { detail: '- input.prompt: is required', invalid_fields: [{}] } },
        'fault of inputs',
      ],
      ...outages({ title: 'no', detail: 'no' }),
    ],
    ref: { id: 'h8' },
    poll: { method: 'GET', path: '/predictions/h8' },
    cancel: { method: 'POST', path: '/predictions/h8/cancel' },
    polls: [
      ['starting', ok({ status: 'starting', output: null }), 'pending'],
      ['running', ok({ status: 'processing', output: null }), 'pending'],
      ['done', ok({ status: 'succeeded', output: [still, still] }), { image: 2 }],
      ['done with one address', ok({ status: 'succeeded', output: still }), { image: 1 }],
      ['done without a result', ok({ status: 'succeeded', output: null }), 'fault of vendor'],
      ['blocked', ok({ status: 'failed', error: 'NSFW content detected.' }), 'blocked'],
      ['failed', ok({ status: 'failed', error: 'CUDA out of memory' }), 'fault of vendor'],
      ['cancelled', ok({ status: 'canceled' }), 'cancelled'],
      ['aborted', ok({ status: 'aborted' }), 'cancelled'],
      ...lost,
    ],
  },
])
