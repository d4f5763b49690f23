/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'creatomate/render',
    callsBack: true,
    inputs: { duration: 2, elements: [{ type: 'text', text: 'Hi' }] },
    sent: {
      method: 'POST',
      path: '/renders',
      json: {
        source: {
          output_format: 'mp4',
          width: 1_280,
          height: 720,
          frame_rate: 25,
          duration: 2,
          elements: [{ type: 'text', text: 'Hi' }],
        },
      },
    },
    submissions: [
      [
        'taken, as a list',
        ok([{ id: 'j1', status: 'planned', url: film }], 202),
        { ref: { id: 'j1', frames: 25 } },
      ],
      ['taken, alone', ok({ id: 'j1', status: 'planned' }, 202), { ref: { id: 'j1', frames: 25 } }],
      ['bad request', { status: 400, json: { hint: 'no' } }, 'fault of inputs'],
      ...outages({ message: 'no' }),
    ],
    ref: { id: 'j1', frames: 25 },
    poll: { method: 'GET', path: '/renders/j1' },
    polls: [
      ['planned', ok({ status: 'planned', url: film }), 'pending'],
      ['rendering', ok({ status: 'rendering' }), 'pending'],
      [
        'done',
        ok({ status: 'succeeded', url: film, width: 1_280, height: 720, duration: 2 }),
        { pixel: 46_080_000 },
      ],
      ['done without a size', ok({ status: 'succeeded', url: film }), 'not measured'],
      ['failed', ok({ status: 'failed', error_message: 'no' }), 'fault of vendor'],
      ...lost,
    ],
  },
])
