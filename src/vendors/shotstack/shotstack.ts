/**
 * Shotstack's renders. Source: Shotstack API reference, "Render"; prices by api-evangelist/shotstack. A timeline is
 * checked at every depth: only members named here pass, all addresses are public, and clips have lengths, so that the
 * end of the last clip bounds the price. Generated assets cost more and are not offered. Not verified: the texts of
 * errors.
 */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { listAt, member, msOf, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { Inputs, JobShape } from '../../media/shape.ts'
import { webAddress } from '../../media/web-input.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const SECONDS_MAX = 3_600

/** Where the last clip ends, in milliseconds. */
const endMs = ({ timeline }: Inputs): number => {
  const clips = (listAt(timeline, 'tracks') ?? []).flatMap((track) => listAt(track, 'clips') ?? [])
  const ends = clips.map((clip) => (numberAt(clip, 'start') ?? 0) + (numberAt(clip, 'length') ?? 0))
  return msOf(Math.max(0, ...ends))
}

const isUnder = (status: string): boolean => ['queued', 'fetching', 'rendering', 'saving'].includes(status)

const shape: JobShape = {
  flow: 'job',
  ask: (inputs, _model, { wakeAt }) =>
    postJson('/render', { ...inputs, ...(wakeAt === undefined ? {} : { callback: wakeAt }) }),
  readRef: (answer, { inputs }) => {
    const id = textAt(member(objectOf(answer), 'response'), 'id')
    if (id !== undefined) return { ref: { id, ms: endMs(inputs) } }
    if (answer.status !== 400) return undefined
    return failed(textAt(member(answer.json, 'response'), 'error') ?? 'the edit was refused', 'inputs')
  },
  poll: (ref) => ({ method: 'GET', path: `/render/${segmentOf(ref, 'id')}` }),
  readPoll: (answer, { ref }) => {
    const body = objectOf(answer)
    const response = member(body, 'response')
    const status = textAt(response, 'status') ?? ''
    if (isUnder(status)) return { pending: true }
    if (status === 'failed') return failed(textAt(response, 'error'))
    if (body === undefined || status !== 'done') return undefined
    const url = addressAt(response, 'url')
    if (url === undefined) return failed('the result has no address')
    const seconds = numberAt(response, 'duration')
    const video_ms = seconds === undefined ? (numberAt(ref, 'ms') ?? 0) : msOf(seconds)
    return jobDone([outputAt('video', url, ['response', 'url'])], body, { video_ms })
  },
  onCancel: 'billed',
  everyMs: 3_000,
  deadlineMs: 3_600_000,
}

const colour = z.string().regex(/^#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?$/)
const volume = z.number().min(0).max(1)

const asset = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('video'),
    src: webAddress('video/*'),
    trim: z.number().min(0).max(SECONDS_MAX).optional(),
    volume: volume.optional(),
  }),
  z.strictObject({ type: z.literal('image'), src: webAddress('image/*') }),
  z.strictObject({
    type: z.literal('audio'),
    src: webAddress('audio/*'),
    trim: z.number().min(0).max(SECONDS_MAX).optional(),
    volume: volume.optional(),
  }),
  z.strictObject({
    type: z.literal('title'),
    text: z.string().min(1).max(500),
    style: z
      .enum(['minimal', 'blockbuster', 'vogue', 'sketchy', 'skinny', 'chunk', 'future', 'subtitle'])
      .optional(),
    color: colour.optional(),
    size: z.enum(['xx-small', 'x-small', 'small', 'medium', 'large', 'x-large', 'xx-large']).optional(),
  }),
])

const transition = z.enum(['fade', 'reveal', 'wipeLeft', 'wipeRight', 'slideLeft', 'slideRight', 'zoom'])

const clip = z.strictObject({
  asset,
  start: z.number().min(0).max(SECONDS_MAX),
  length: z.number().min(0.1).max(SECONDS_MAX),
  fit: z.enum(['cover', 'contain', 'crop', 'none']).optional(),
  position: z
    .enum(['top', 'topRight', 'right', 'bottomRight', 'bottom', 'bottomLeft', 'left', 'topLeft', 'center'])
    .optional(),
  opacity: volume.optional(),
  effect: z.enum(['zoomIn', 'zoomOut', 'slideLeft', 'slideRight', 'slideUp', 'slideDown']).optional(),
  transition: z.strictObject({ in: transition.optional(), out: transition.optional() }).optional(),
})

const shotstackMedia: VendorMedia = {
  unverified: 'bodies of errors, how long results are kept, all names of effects and styles',
  models: [
    {
      name: 'render',
      category: 'video_editing',
      title: 'Shotstack Render',
      description: 'Cuts films, pictures, sounds and titles into one film; billed by its length.',
      inputs: z.strictObject({
        timeline: z.strictObject({
          background: colour.optional(),
          soundtrack: z
            .strictObject({
              src: webAddress('audio/*'),
              effect: z.enum(['fadeIn', 'fadeOut', 'fadeInFadeOut']).optional(),
              volume: volume.optional(),
            })
            .optional(),
          tracks: z
            .array(z.strictObject({ clips: z.array(clip).min(1).max(500) }))
            .min(1)
            .max(50),
        }),
        output: z
          .strictObject({
            format: z.enum(['mp4']).default('mp4'),
            resolution: z.enum(['preview', 'mobile', 'sd', 'hd', '1080']).default('hd'),
            aspectRatio: z.enum(['16:9', '9:16', '1:1', '4:5', '4:3']).default('16:9'),
            fps: z.literal([12, 15, 24, 25, 30]).default(25),
          })
          .prefault({}),
      }),
      example: {
        timeline: {
          tracks: [
            { clips: [{ asset: { type: 'title', text: 'Hello', style: 'minimal' }, start: 0, length: 3 }] },
          ],
        },
        output: { resolution: 'sd' },
      },
      shape,
      card: {
        rows: [{ rates: { video_ms: usd('0.3', 60_000) } }],
        most: { video_ms: endMs },
      },
      source: 'shotstack.io/pricing, pay as you go, by api-evangelist/shotstack, 2026-06',
    },
  ],
  waiting: [
    { name: 'generated assets', why: 'their price follows other vendors’, and only a quote shows it' },
  ],
}

export const shotstack = {
  ...noChat,
  id: 'shotstack',
  name: 'Shotstack',
  keyVariable: 'SHOTSTACK_API_KEY',
  baseUrl: 'https://api.shotstack.io/edit/v1',
  auth: 'x-api-key',
  media: shotstackMedia,
} satisfies Vendor
