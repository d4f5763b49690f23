/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'bytedance/seedance-2.0',
    inputs: { prompt: 'a fox', image: 'https://example.com/a.png', generate_audio: false },
    sent: {
      method: 'POST',
      path: '/contents/generations/tasks',
      json: {
        model: 'dreamina-seedance-2-0-260128',
        content: [
          { type: 'text', text: 'a fox' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'first_frame' },
        ],
        resolution: '720p',
        ratio: '16:9',
        duration: 5,
        generate_audio: false,
        watermark: false,
      },
    },
    submissions: [
      ['taken', ok({ id: 'cgt-1' }), { ref: { id: 'cgt-1' } }],
      [
        'bad request',
        { status: 400, json: { error: { code: 'InvalidParameter', message: 'no' } } },
        'fault of inputs',
      ],
      [
        'blocked',
        { status: 400, json: { error: { code: 'InputTextSensitiveContentDetected', message: 'no' } } },
        'blocked',
      ],
      ...outages({ error: { code: 'AccountOverdueError', message: 'no' } }),
    ],
    ref: { id: 'cgt-1' },
    poll: { method: 'GET', path: '/contents/generations/tasks/cgt-1' },
    cancel: { method: 'DELETE', path: '/contents/generations/tasks/cgt-1' },
    polls: [
      ['queued', ok({ status: 'queued' }), 'pending'],
      ['running', ok({ status: 'running' }), 'pending'],
      [
        'done',
        ok({ status: 'succeeded', content: { video_url: film }, usage: { completion_tokens: 108_900 } }),
        { output: 108_900 },
      ],
      ['done without a count', ok({ status: 'succeeded', content: { video_url: film } }), 'not measured'],
      ['done without a result', ok({ status: 'succeeded', content: {} }), 'fault of vendor'],
      [
        'blocked',
        ok({ status: 'failed', error: { code: 'OutputVideoSensitiveContentDetected' } }),
        'blocked',
      ],
      [
        'bad input',
        ok({ status: 'failed', error: { code: 'InvalidParameter.TaskType' } }),
        'fault of inputs',
      ],
      ['failed', ok({ status: 'failed', error: { code: 'InternalServiceError' } }), 'fault of vendor'],
      ['expired', ok({ status: 'expired' }), 'fault of vendor'],
      ['cancelled', ok({ status: 'cancelled' }), 'cancelled'],
      ...lost,
    ],
  },
])
