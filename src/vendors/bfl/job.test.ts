/** What is asked of this vendor for jobs, and what each of its answers means. */
import { lost, ok, still, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'bfl/flux-2-pro',
    callsBack: true,
    inputs: { prompt: 'a fox', width: 1_040, seed: 7 },
    sent: {
      method: 'POST',
      path: '/flux-2-pro',
      json: {
        prompt: 'a fox',
        width: 1_040,
        height: 1_024,
        seed: 7,
        safety_tolerance: 2,
        output_format: 'png',
      },
    },
    submissions: [
      [
        'taken',
        ok({
          id: 'a1',
          polling_url: 'https://api.eu.bfl.ai/v1/get?id=a1',
          cost: 4.5,
          input_mp: 0,
          output_mp: 1.02,
        }),
        {
          ref: { id: 'a1', url: 'https://api.eu.bfl.ai/v1/get?id=a1', megapixels: 2 },
          vendorCost: 45_000_000n,
        },
      ],
      [
        'taken, without a count',
        ok({ id: 'a1', polling_url: 'https://api.eu.bfl.ai/v1/get?id=a1' }),
        { ref: { id: 'a1', url: 'https://api.eu.bfl.ai/v1/get?id=a1', megapixels: 2 } },
      ],
      ['an address that is none', ok({ id: 'a1', polling_url: 'file:///etc/passwd' }), 'broken'],
      ...usual({ detail: [{ loc: ['body', 'width'], msg: 'no' }] }, 422),
    ],
    ref: { id: 'a1', url: 'https://api.eu.bfl.ai/v1/get?id=a1', megapixels: 2 },
    poll: { method: 'GET', path: 'https://api.eu.bfl.ai/v1/get?id=a1' },
    polls: [
      ['pending', ok({ id: 'a1', status: 'Pending', result: null }), 'pending'],
      ['progress', ok({ id: 'a1', status: 'Pending', progress: 0.4 }), { progress: 0.4 }],
      ['done', ok({ status: 'Ready', result: { sample: still } }), { image: 1, pixel: 1_000_000 }],
      ['done without a result', ok({ status: 'Ready', result: {} }), 'fault of vendor'],
      ['a blocked prompt', ok({ status: 'Request Moderated', result: null }), 'blocked'],
      ['a blocked picture', ok({ status: 'Content Moderated', result: null }), 'blocked'],
      ['failed', ok({ status: 'Error', result: null }), 'fault of vendor'],
      ...lost,
    ],
  },
])
