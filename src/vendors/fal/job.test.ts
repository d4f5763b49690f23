/** What is asked of this vendor for jobs, and what each of its answers means. */
import { film, lost, ok, outages, still } from '../../../test/vendor-answers/job.ts'
import { testJobs } from '../../../test/vendor-jobs.ts'

testJobs([
  {
    id: 'fal/fal-ai/kling-video/v3/standard/text-to-video',
    callsBack: true,
    inputs: { prompt: 'a fox', duration: '3', generate_audio: true },
    sent: {
      method: 'POST',
      path: '/fal-ai/kling-video/v3/standard/text-to-video',
      json: { prompt: 'a fox', duration: '3', aspect_ratio: '16:9', generate_audio: true, cfg_scale: 0.5 },
    },
    submissions: [
      [
        'taken',
        ok({ request_id: 'g7', status_url: 'https://elsewhere.example.com/' }),
        { ref: { id: 'g7', app: 'fal-ai/kling-video' } },
      ],
      [
        'a wrong input',
        { status: 422, json: { detail: [{ msg: 'no', type: 'missing' }] } },
        'fault of inputs',
      ],
      [
        'blocked',
        { status: 422, json: { detail: [{ msg: 'no', type: 'content_policy_violation' }] } },
        'blocked',
      ],
      ...outages({ detail: 'no' }),
    ],
    ref: { id: 'g7', app: 'fal-ai/kling-video' },
    poll: { method: 'GET', path: '/fal-ai/kling-video/requests/g7/status' },
    cancel: { method: 'PUT', path: '/fal-ai/kling-video/requests/g7/cancel' },
    polls: [
      ['queued', ok({ status: 'IN_QUEUE', queue_position: 3 }, 202), 'pending'],
      ['running', ok({ status: 'IN_PROGRESS' }, 202), 'pending'],
      [
        'ended',
        ok({ status: 'COMPLETED' }),
        { next: { method: 'GET', path: '/fal-ai/kling-video/requests/g7' } },
      ],
      [
        'done',
        { headers: { 'x-fal-billable-units': '3.008' }, json: { video: { url: film } } },
        { video_ms: 3_008 },
        1,
      ],
      ['done without units', ok({ video: { url: film } }), 'not measured', 1],
      ['done without a result', ok({ video: {} }), 'fault of vendor', 1],
      [
        'blocked',
        { status: 422, json: { detail: [{ msg: 'flagged', type: 'content_policy_violation' }] } },
        'blocked',
        1,
      ],
      ['failed', { status: 422, json: { detail: [{ msg: 'no', type: 'missing' }] } }, 'fault of inputs', 1],
      ['not there yet', { status: 400, json: { detail: 'Request is still in progress' } }, 'pending', 1],
      ['the model failed', { status: 500, json: { detail: 'oops' } }, 'fault of vendor', 1],
      ['the queue failed', { status: 502, text: 'oops' }, 'upstream_error', 1],
      ['cancelled', ok({ status: 'CANCELLED' }), 'cancelled'],
      ...lost,
    ],
  },
  {
    id: 'fal/fal-ai/flux-1/schnell',
    callsBack: true,
    inputs: { prompt: 'a fox', num_images: 2, image_size: { width: 1_024, height: 768 } },
    sent: {
      method: 'POST',
      path: '/fal-ai/flux-1/schnell',
      json: {
        prompt: 'a fox',
        image_size: { width: 1_024, height: 768 },
        num_images: 2,
        num_inference_steps: 4,
        output_format: 'png',
        enable_safety_checker: true,
      },
    },
    submissions: [['taken', ok({ request_id: 'g8' }), { ref: { id: 'g8', app: 'fal-ai/flux-1' } }]],
    ref: { id: 'g8', app: 'fal-ai/flux-1' },
    poll: { method: 'GET', path: '/fal-ai/flux-1/requests/g8/status' },
    cancel: { method: 'PUT', path: '/fal-ai/flux-1/requests/g8/cancel' },
    polls: [
      [
        'done',
        {
          headers: { 'x-fal-billable-units': '1.572864' },
          json: { images: [{ url: still }, { url: still }], has_nsfw_concepts: [false, false] },
        },
        { pixel: 1_572_864 },
        1,
      ],
      ['all blocked', ok({ images: [{ url: still }], has_nsfw_concepts: [true] }), 'blocked', 1],
    ],
  },
  {
    id: 'fal/fal-ai/bytedance/seedream/v4/text-to-image',
    callsBack: true,
    inputs: { prompt: 'a fox', num_images: 2 },
    sent: {
      method: 'POST',
      path: '/fal-ai/bytedance/seedream/v4/text-to-image',
      json: {
        prompt: 'a fox',
        image_size: { width: 2_048, height: 2_048 },
        num_images: 2,
        max_images: 1,
        enable_safety_checker: true,
      },
    },
    submissions: [['taken', ok({ request_id: 'g9' }), { ref: { id: 'g9', app: 'fal-ai/bytedance' } }]],
    ref: { id: 'g9', app: 'fal-ai/bytedance' },
    poll: { method: 'GET', path: '/fal-ai/bytedance/requests/g9/status' },
    cancel: { method: 'PUT', path: '/fal-ai/bytedance/requests/g9/cancel' },
    polls: [
      [
        'one of two is delivered',
        ok({ images: [{ url: still }, { url: still }], has_nsfw_concepts: [true, false] }),
        { image: 1 },
        1,
      ],
    ],
  },
])
