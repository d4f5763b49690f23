/**
 * Kling at its maker. Source: Kling API reference as api-evangelist/kling-ai transcribes it (2026-08). Not verified: codes
 * of errors, `external_task_id`, the present host, and prices, which are those of prepaid packs.
 */
import { z } from 'zod'
import type { Json } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { countAt, listAt, member, msOf, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, begunAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const isBlocked = (text: string): boolean =>
  /risk control|content safety|polic(?:y|ies)|sensitive/i.test(text)

/** What a body's code says, whatever the status: 1200 to 1203 are wrong inputs, 1301 is the filter. */
const refusedOf = ({ json }: VendorAnswer): Verdict | undefined => {
  const code = countAt(json, 'code')
  if (code === 1301) return BLOCKED
  return code !== undefined && code >= 1200 && code <= 1203
    ? failed(textAt(json, 'message'), 'inputs')
    : undefined
}

const lengthMs = (video: Json): number | undefined => {
  const seconds = numberAt({ seconds: Number(textAt(video, 'duration') ?? Number.NaN) }, 'seconds')
  return seconds === undefined ? undefined : msOf(seconds)
}

const shape: JobShape = {
  flow: 'job',
  ask: (inputs, model, { id, wakeAt }) =>
    postJson('/v1/videos/text2video', {
      model_name: model,
      ...inputs,
      external_task_id: id,
      ...(wakeAt === undefined ? {} : { callback_url: wakeAt }),
    }),
  readRef: (answer) => begunAt(member(objectOf(answer), 'data'), 'task_id') ?? refusedOf(answer),
  poll: (ref) => ({ method: 'GET', path: `/v1/videos/text2video/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const data = member(objectOf(answer), 'data')
    switch (textAt(data, 'task_status')) {
      case 'submitted':
      case 'processing':
        return { pending: true }
      case 'succeed': {
        const video = listAt(member(data, 'task_result'), 'videos')?.[0] ?? null
        const url = addressAt(video, 'url')
        if (url === undefined) return failed('the result has no address')
        const video_ms = lengthMs(video)
        return jobDone(
          [outputAt('video', url, ['task_result', 'videos', 0, 'url'])],
          { task_result: { videos: [video] } },
          video_ms === undefined ? undefined : { video_ms },
        )
      }
      case 'failed': {
        const message = textAt(data, 'task_status_msg') ?? ''
        return isBlocked(message) ? BLOCKED : failed(message)
      }
      default:
        return undefined
    }
  },
  onCancel: 'billed',
  everyMs: 3_000,
  deadlineMs: 3_600_000,
}

const klingMedia: VendorMedia = {
  unverified: 'codes of errors, its own id of a task, prices, the present host',
  models: [],
  waiting: [
    {
      name: 'kling-v2-6',
      category: 'video',
      title: 'Kling 2.6',
      description: 'Films of 5 or 10 seconds from text.',
      inputs: z.strictObject({
        prompt: z.string().min(1).max(2_500),
        negative_prompt: z.string().max(2_500).optional(),
        mode: z.enum(['std', 'pro']).default('std'),
        aspect_ratio: z.enum(['16:9', '9:16', '1:1']).default('16:9'),
        duration: z.enum(['5', '10']).default('5'),
      }),
      example: { prompt: 'a red fox runs through snow', duration: '5' },
      shape,
      most: { video_ms: ({ duration }) => Number(duration) * 1_000 },
      source: 'sold in prepaid packs: a second has no published price',
    },
  ],
}

/** Kling: sells films but no chat; its credential is made of two keys, made by cli/config/cloud-vendors.ts. */
export const kling = {
  ...noChat,
  id: 'kling',
  name: 'Kling',
  keyVariable: 'KLING_SECRET_KEY',
  alsoNeeds: 'KLING_ACCESS_KEY',
  baseUrl: 'https://api.klingai.com',
  media: klingMedia,
} satisfies Vendor
