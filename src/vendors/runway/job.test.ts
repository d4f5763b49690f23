/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'runway/gen4.5',
    inputs: { promptText: 'a fox', duration: 4 },
    sent: {
      method: 'POST',
      path: '/text_to_video',
      json: { model: 'gen4.5', promptText: 'a fox', ratio: '1280:720', duration: 4 },
    },
    submissions: [
      [
        'taken',
        ok({ id: 'b 2', estimatedCost: { credits: 48 } }),
        { ref: { id: 'b 2' }, vendorCost: 480_000_000n },
      ],
      ['taken without an estimate', ok({ id: 'b2' }), { ref: { id: 'b2' } }],
      ...usual({ error: 'Validation of body failed', issues: [] }),
    ],
    ref: { id: 'b 2' },
    poll: { method: 'GET', path: '/tasks/b%202' },
    cancel: { method: 'DELETE', path: '/tasks/b%202' },
    polls: [
      ['pending', ok({ status: 'PENDING' }), 'pending'],
      ['throttled', ok({ status: 'THROTTLED' }), 'pending'],
      ['progress', ok({ status: 'RUNNING', progress: 0.25 }), { progress: 0.25 }],
      ['done', ok({ status: 'SUCCEEDED', cost: { credits: 48 }, output: [film] }), { credit: 48 }],
      ['done without a cost', ok({ status: 'SUCCEEDED', output: [film] }), 'not measured'],
      ['done without a result', ok({ status: 'SUCCEEDED', output: [] }), 'fault of vendor'],
      ['blocked', ok({ status: 'FAILED', failureCode: 'SAFETY.INPUT.TEXT', failure: 'no' }), 'blocked'],
      ['a blocked result', ok({ status: 'FAILED', failureCode: 'SAFETY.OUTPUT.IMAGE' }), 'blocked'],
      ['a bad picture', ok({ status: 'FAILED', failureCode: 'ASSET.INVALID' }), 'fault of inputs'],
      ['failed', ok({ status: 'FAILED', failureCode: 'INTERNAL.BAD_OUTPUT' }), 'fault of vendor'],
      ['cancelled', ok({ status: 'CANCELLED', cost: { credits: 0 } }), 'cancelled'],
      ...lost,
    ],
  },
])
