/**
 * Creatomate's renders. Source: api-evangelist/creatomate openapi (2026-06). The submission's answer is a list whose
 * addresses do not work yet. Credits follow the pixels of all frames; the price of a credit depends on the plan.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { listAt, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import { webAddress } from '../../media/web-input.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

/** Pixels of all frames. */
const pixels = ({ width, height, frame_rate: frames, duration }: JsonObject): number =>
  Number(width) * Number(height) * Math.ceil(Number(frames) * Number(duration))

const refusedOf = ({ status, json }: VendorAnswer): Verdict | undefined =>
  status === 400
    ? failed(textAt(json, 'hint') ?? textAt(json, 'message') ?? 'the edit was refused', 'inputs')
    : undefined

const measuredOf = (body: JsonObject, ref: JsonObject): number | undefined => {
  const [width, height, duration] = ['width', 'height', 'duration'].map((name) => numberAt(body, name))
  return width === undefined || height === undefined || duration === undefined
    ? undefined
    : pixels({ width, height, duration, frame_rate: numberAt(ref, 'frames') ?? 25 })
}

const shape: JobShape = {
  flow: 'job',
  ask: (inputs, _model, { wakeAt }) =>
    postJson('/renders', {
      source: { output_format: 'mp4', ...inputs },
      ...(wakeAt === undefined ? {} : { webhook_url: wakeAt }),
    }),
  readRef: (answer, { inputs }) => {
    const isOk = answer.status >= 200 && answer.status < 300
    const first = isOk ? (listAt({ list: answer.json }, 'list')?.[0] ?? answer.json ?? null) : null
    const id = textAt(first, 'id')
    return id === undefined ? refusedOf(answer) : { ref: { id, frames: Number(inputs.frame_rate) } }
  },
  poll: (ref) => ({ method: 'GET', path: `/renders/${segmentOf(ref, 'id')}` }),
  readPoll: (answer, { ref }) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'planned':
      case 'waiting':
      case 'transcribing':
      case 'rendering':
        return { pending: true }
      case 'succeeded': {
        const url = addressAt(body, 'url')
        if (body === undefined || url === undefined) return failed('the result has no address')
        const pixel = measuredOf(body, ref)
        const { source: _asked, ...rest } = body
        return jobDone([outputAt('video', url, ['url'])], rest, pixel === undefined ? undefined : { pixel })
      }
      case 'failed':
        return failed(textAt(body, 'error_message'))
      default:
        return undefined
    }
  },
  onCancel: 'billed',
  everyMs: 2_000,
  deadlineMs: 3_600_000,
}

const seconds = z.number().min(0.1).max(600)
const element = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('text'),
    text: z.string().min(1).max(2_000),
    time: z.number().min(0).max(600).optional(),
    duration: seconds.optional(),
    fill_color: z.string().max(40).optional(),
  }),
  z.strictObject({
    type: z.literal('image'),
    source: webAddress('image/*'),
    time: z.number().min(0).max(600).optional(),
    duration: seconds.optional(),
  }),
  z.strictObject({
    type: z.literal('video'),
    source: webAddress('video/*'),
    time: z.number().min(0).max(600).optional(),
    duration: seconds.optional(),
  }),
  z.strictObject({
    type: z.literal('audio'),
    source: webAddress('audio/*'),
    time: z.number().min(0).max(600).optional(),
    duration: seconds.optional(),
  }),
])

const creatomateMedia: VendorMedia = {
  unverified: 'the price of a credit, and that it follows pixels exactly',
  models: [],
  waiting: [
    {
      name: 'render',
      category: 'video_editing',
      title: 'Creatomate Render',
      description: 'Makes a film of texts, pictures, films and sounds; billed by the pixels of its frames.',
      inputs: z.strictObject({
        width: z.int().min(16).max(1_920).default(1_280),
        height: z.int().min(16).max(1_920).default(720),
        frame_rate: z.int().min(1).max(30).default(25),
        duration: seconds.default(5),
        elements: z.array(element).min(1).max(200),
      }),
      example: { duration: 3, elements: [{ type: 'text', text: 'Hello' }] },
      shape,
      most: { pixel: pixels },
      source: 'a credit costs what the plan makes it',
    },
  ],
}

export const creatomate = {
  ...noChat,
  id: 'creatomate',
  name: 'Creatomate',
  keyVariable: 'CREATOMATE_API_KEY',
  baseUrl: 'https://api.creatomate.com/v1',
  media: creatomateMedia,
} satisfies Vendor
