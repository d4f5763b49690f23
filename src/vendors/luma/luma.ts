/**
 * Luma's Ray and Uni. Sources: docs.agents.lumalabs.ai, guides "Pricing" and "Video generation" (2026-06). The older
 * Dream Machine API is a different one, with other keys. Not verified: the texts of errors. Cancelling is not
 * documented.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { listAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, begunAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape, Outgoing } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const shape = (type: 'video' | 'image', ask: (inputs: JsonObject) => JsonObject): JobShape => ({
  flow: 'job',
  ask: (inputs, model): Outgoing => postJson('/generations', { model, type, ...ask(inputs) }),
  readRef: (answer) => begunAt(objectOf(answer)),
  poll: (ref) => ({ method: 'GET', path: `/generations/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const body = objectOf(answer)
    const state = textAt(body, 'state')
    if (body === undefined || state === undefined) return undefined
    if (state === 'failed') {
      const why = `${textAt(body, 'failure_code') ?? ''} ${textAt(body, 'failure_reason') ?? ''}`
      return /moderat|policy|not allowed/i.test(why) ? BLOCKED : failed(textAt(body, 'failure_reason'))
    }
    if (state !== 'completed') return { pending: true }
    const made = listAt(body, 'output') ?? []
    const outputs = made.flatMap((one, index) => {
      const url = addressAt(one, 'url')
      return url === undefined ? [] : [outputAt(type, url, ['output', index, 'url'])]
    })
    return outputs.length === 0 ? failed('the result has no address') : jobDone(outputs, body, { call: 1 })
  },
  onCancel: 'billed',
  everyMs: 3_000,
  deadlineMs: 1_800_000,
})

const prompt = z.string().min(1).max(6_000)
const clip = (price: string) => ({ call: usd(price) })

const rayInputs = z
  .strictObject({
    prompt,
    aspect_ratio: z.enum(['9:16', '3:4', '1:1', '4:3', '16:9', '21:9']).default('16:9'),
    resolution: z.enum(['540p', '720p', '1080p']).default('720p'),
    duration: z.enum(['5s', '10s']).default('5s'),
    hdr: z.boolean().default(false),
  })
  .refine(({ resolution, duration, hdr }) => !hdr || (resolution !== '540p' && duration === '5s'), {
    path: ['hdr'],
    message: 'is made in 720p or 1080p and 5s only',
  })

const lumaMedia: VendorMedia = {
  unverified: 'texts of errors and codes of failures',
  models: [
    {
      name: 'ray-3.2',
      category: 'video',
      title: 'Luma Ray 3.2',
      description: 'Films of 5 or 10 seconds from text, without sound.',
      inputs: rayInputs,
      example: { prompt: 'a red fox runs through snow', resolution: '540p' },
      shape: shape('video', ({ prompt: text, aspect_ratio, resolution, duration, hdr }) => ({
        prompt: text,
        aspect_ratio,
        video: { resolution, duration, hdr, loop: false, exr_export: false },
      })),
      card: {
        rows: [
          { when: { resolution: '720p', hdr: true }, rates: clip('0.6') },
          { when: { resolution: '1080p', hdr: true }, rates: clip('2.4') },
          { when: { resolution: '540p', duration: '5s' }, rates: clip('0.15') },
          { when: { resolution: '540p', duration: '10s' }, rates: clip('0.45') },
          { when: { resolution: '720p', duration: '5s' }, rates: clip('0.3') },
          { when: { resolution: '720p', duration: '10s' }, rates: clip('0.9') },
          { when: { resolution: '1080p', duration: '5s' }, rates: clip('1.2') },
          { when: { resolution: '1080p', duration: '10s' }, rates: clip('3.6') },
        ],
        most: { call: () => 1 },
      },
      source: 'docs.agents.lumalabs.ai/guides/videos/generation, 2026-06',
    },
    {
      name: 'uni-1',
      category: 'image',
      title: 'Luma Uni-1',
      description: 'Pictures from text, 2K.',
      inputs: z.strictObject({
        prompt,
        aspect_ratio: z
          .enum(['3:1', '2:1', '21:9', '16:9', '3:2', '4:3', '1:1', '3:4', '2:3', '9:16', '1:2', '1:3'])
          .default('1:1'),
        style: z.enum(['auto', 'manga']).default('auto'),
        output_format: z.enum(['png', 'jpeg']).default('png'),
      }),
      example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
      shape: shape('image', (inputs) => inputs),
      card: { rows: [{ rates: { call: usd('0.0404') } }], most: { call: () => 1 } },
      source: 'docs.agents.lumalabs.ai/guides/pricing, 2026-11',
    },
  ],
  waiting: [
    { name: 'uni-1-max', why: 'we have not read its price' },
    {
      name: 'ray-3.2 from pictures, edits, reframing',
      why: 'no page says whether they cost as much as films from text',
    },
  ],
}

export const luma = {
  ...noChat,
  id: 'luma',
  name: 'Luma',
  keyVariable: 'LUMA_AGENTS_API_KEY',
  baseUrl: 'https://agents.lumalabs.ai/v1',
  media: lumaMedia,
} satisfies Vendor
