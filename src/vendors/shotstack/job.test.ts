/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'shotstack/render',
    callsBack: true,
    inputs: {
      timeline: {
        tracks: [
          { clips: [{ asset: { type: 'video', src: 'https://example.com/a.mp4' }, start: 2, length: 1.5 }] },
          { clips: [{ asset: { type: 'title', text: 'Hi' }, start: 0, length: 3 }] },
        ],
      },
    },
    sent: {
      method: 'POST',
      path: '/render',
      json: {
        timeline: {
          tracks: [
            {
              clips: [{ asset: { type: 'video', src: 'https://example.com/a.mp4' }, start: 2, length: 1.5 }],
            },
            { clips: [{ asset: { type: 'title', text: 'Hi' }, start: 0, length: 3 }] },
          ],
        },
        output: { format: 'mp4', resolution: 'hd', aspectRatio: '16:9', fps: 25 },
      },
    },
    submissions: [
      ['taken', ok({ success: true, response: { id: 'e5' } }, 201), { ref: { id: 'e5', ms: 3_500 } }],
      [
        'bad request',
        { status: 400, json: { success: false, response: { error: 'no' } } },
        'fault of inputs',
      ],
      ...outages({ message: 'no' }),
    ],
    ref: { id: 'e5', ms: 3_500 },
    poll: { method: 'GET', path: '/render/e5' },
    polls: [
      ['queued', ok({ response: { status: 'queued', url: null } }), 'pending'],
      ['rendering', ok({ response: { status: 'rendering' } }), 'pending'],
      ['done', ok({ response: { status: 'done', url: film, duration: 3.52 } }), { video_ms: 3_520 }],
      ['done without a length', ok({ response: { status: 'done', url: film } }), { video_ms: 3_500 }],
      ['failed', ok({ response: { status: 'failed', error: 'no' } }), 'fault of vendor'],
      ...lost,
    ],
  },
])
