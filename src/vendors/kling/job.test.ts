/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'kling/kling-v2-6',
    callsBack: true,
    inputs: { prompt: 'a fox' },
    sent: {
      method: 'POST',
      path: '/v1/videos/text2video',
      json: {
        model_name: 'kling-v2-6',
        prompt: 'a fox',
        mode: 'std',
        aspect_ratio: '16:9',
        duration: '5',
        external_task_id: 'run_1',
      },
    },
    submissions: [
      ['taken', ok({ code: 0, data: { task_id: '831', task_status: 'submitted' } }), { ref: { id: '831' } }],
      ['bad request', { status: 400, json: { code: 1201, message: 'no' } }, 'fault of inputs'],
      ['blocked', { status: 400, json: { code: 1301, message: 'no' } }, 'blocked'],
      ...outages({ code: 1102, message: 'no' }),
    ],
    ref: { id: '831' },
    poll: { method: 'GET', path: '/v1/videos/text2video/831' },
    polls: [
      ['submitted', ok({ code: 0, data: { task_status: 'submitted' } }), 'pending'],
      ['running', ok({ code: 0, data: { task_status: 'processing' } }), 'pending'],
      [
        'done',
        ok({ data: { task_status: 'succeed', task_result: { videos: [{ url: film, duration: '5.1' }] } } }),
        { video_ms: 5_100 },
      ],
      [
        'done without a length',
        ok({ data: { task_status: 'succeed', task_result: { videos: [{ url: film }] } } }),
        'not measured',
      ],
      ['done without a result', ok({ data: { task_status: 'succeed', task_result: {} } }), 'fault of vendor'],
      [
        'blocked',
        ok({ data: { task_status: 'failed', task_status_msg: 'Failure to pass the risk control system' } }),
        'blocked',
      ],
      ['failed', ok({ data: { task_status: 'failed', task_status_msg: 'oops' } }), 'fault of vendor'],
      ...lost,
    ],
  },
])
