/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, usual } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'google/gemini-omni-1.1-flash',
    inputs: { prompt: 'a fox', duration: 4 },
    sent: {
      method: 'POST',
      path: '/interactions',
      json: {
        model: 'gemini-omni-1.1-flash',
        input: 'a fox',
        background: true,
        response_format: {
          type: 'video',
          aspect_ratio: '16:9',
          duration: '4s',
          resolution: '720p',
          delivery: 'uri',
        },
      },
    },
    submissions: [
      ['taken', ok({ id: 'v1_a', status: 'in_progress' }), { ref: { id: 'v1_a' } }],
      ...usual({ error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT' } }),
    ],
    ref: { id: 'v1_a' },
    poll: { method: 'GET', path: '/interactions/v1_a' },
    cancel: { method: 'POST', path: '/interactions/v1_a/cancel' },
    polls: [
      ['queued', ok({ status: 'queued' }), 'pending'],
      ['running', ok({ status: 'in_progress' }), 'pending'],
      [
        'done',
        ok({
          status: 'completed',
          steps: [
            { type: 'user_input', content: [{ type: 'text', text: 'a fox' }] },
            { type: 'model_output', content: [{ type: 'video', uri: film }] },
          ],
          usage: {
            total_input_tokens: 11,
            total_output_tokens: 23_200,
            total_thought_tokens: 40,
            output_tokens_by_modality: [{ modality: 'video', tokens: 23_168 }],
          },
        }),
        { input: 11, output: 72, video_ms: 4_000 },
      ],
      [
        'done with bytes and no count',
        ok({
          status: 'completed',
          steps: [{ type: 'model_output', content: [{ type: 'video', data: 'AAAA' }] }],
        }),
        'not measured',
      ],
      ['nothing made', ok({ status: 'completed', steps: [] }), 'fault of vendor'],
      [
        'blocked',
        ok({ status: 'failed', errors: [{ code: 3, message: 'violates the safety policy' }] }),
        'blocked',
      ],
      ['failed', ok({ status: 'failed', errors: [{ code: 13, message: 'internal' }] }), 'fault of vendor'],
      ['incomplete', ok({ status: 'incomplete' }), 'fault of vendor'],
      ['cancelled', ok({ status: 'cancelled' }), 'cancelled'],
      ...lost,
    ],
  },
])
