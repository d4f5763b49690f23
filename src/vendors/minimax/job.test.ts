/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'minimax/MiniMax-Hailuo-2.3',
    inputs: { prompt: 'a fox', duration: 10 },
    sent: {
      method: 'POST',
      path: '/video_generation',
      json: {
        model: 'MiniMax-Hailuo-2.3',
        prompt: 'a fox',
        resolution: '768P',
        duration: 10,
        prompt_optimizer: true,
      },
    },
    submissions: [
      ['taken', ok({ task_id: 'i9', base_resp: { status_code: 0 } }), { ref: { id: 'i9' } }],
      ['blocked', ok({ task_id: '', base_resp: { status_code: 1026 } }), 'blocked'],
      ['bad request', ok({ base_resp: { status_code: 2013, status_msg: 'no' } }), 'fault of inputs'],
      ['rate limit with 200', ok({ base_resp: { status_code: 1002 } }), 'fault of vendor'],
      ['no credits with 200', ok({ base_resp: { status_code: 1008 } }), 'fault of vendor'],
      ...outages({ base_resp: {} }),
    ],
    ref: { id: 'i9' },
    poll: { method: 'GET', path: '/query/video_generation', query: { task_id: 'i9' } },
    polls: [
      ['preparing', ok({ status: 'Preparing', base_resp: { status_code: 0 } }), 'pending'],
      ['queueing', ok({ status: 'Queueing' }), 'pending'],
      ['working', ok({ status: 'Processing' }), 'pending'],
      [
        'ended',
        ok({ status: 'Success', file_id: '205', base_resp: { status_code: 0 } }),
        { next: { method: 'GET', path: '/files/retrieve', query: { file_id: '205' } } },
      ],
      ['done', ok({ file: { download_url: film }, base_resp: { status_code: 0 } }), { call: 1 }, 1],
      ['no address', ok({ file: {}, base_resp: { status_code: 0 } }), 'broken', 1],
      ['blocked', ok({ status: 'Fail', base_resp: { status_code: 1027 } }), 'blocked'],
      ['failed', ok({ status: 'Fail', base_resp: { status_code: 0 } }), 'fault of vendor'],
      ...lost,
    ],
  },
])
