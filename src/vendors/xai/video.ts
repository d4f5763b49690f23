/**
 * xAI's films. Source: npm @ai-sdk/xai; docs.x.ai/developers/cost-tracking. An unfinished film is a 202, with or
 * without a body; a withheld one has `respect_moderation: false`. Not verified: the hosts of results. Cancelling is not
 * documented.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, member, msOf, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape } from '../../media/shape.ts'
import { pictureInput } from '../../media/web-input.ts'
import { billOf } from './media.ts'

const shape: JobShape = {
  flow: 'job',
  ask: ({ image, ...inputs }, model) =>
    postJson('/videos/generations', {
      model,
      ...inputs,
      ...(typeof image === 'string' ? { image: { url: image } } : {}),
    }),
  readRef: (answer, { inputs }) => {
    const id = textAt(objectOf(answer), 'request_id')
    if (id === undefined) return undefined
    return { ref: { id, seconds: Number(inputs.duration), pictures: inputs.image === undefined ? 0 : 1 } }
  },
  poll: (ref) => ({ method: 'GET', path: `/videos/${segmentOf(ref, 'id')}` }),
  readPoll: (answer, { ref }) => {
    const body = objectOf(answer)
    const status = textAt(body, 'status')
    if (answer.status === 202 || status === 'pending') {
      const progress = numberAt(body, 'progress')
      return { pending: true, ...(progress === undefined ? {} : { progress: Math.min(1, progress / 100) }) }
    }
    if (status === 'failed') return failed(textAt(member(body, 'error'), 'message'))
    if (status === 'expired') return failed('the job expired at the vendor')
    const video = member(body, 'video')
    if (body === undefined || status !== 'done' || video === undefined) return undefined
    if (member(video, 'respect_moderation') === false) return BLOCKED
    const url = addressAt(video, 'url')
    if (url === undefined) return failed('the result has no address')
    const seconds = numberAt(video, 'duration') ?? numberAt(ref, 'seconds') ?? 0
    const pictures = countAt(ref, 'pictures') ?? 0
    // The vendor's bill is not what the caller pays.
    const { usage: _bill, ...rest } = body
    const done = jobDone([outputAt('video', url, ['video', 'url'])], rest, {
      video_ms: msOf(seconds),
      ...(pictures === 0 ? {} : { image: pictures }),
    })
    return { ...done, ...billOf(answer) }
  },
  onCancel: 'billed',
  everyMs: 3_000,
  deadlineMs: 1_800_000,
}

type Film = {
  readonly name: string
  readonly title: string
  /** USD per second by resolution. */
  readonly seconds: readonly (readonly [resolution: string, price: string])[]
  /** USD for the image that it begins with. */
  readonly picture: string
}

const film = ({ name, title, seconds, picture }: Film): MediaModel => {
  const [first = ['480p', '0'], ...rest] = seconds
  const row = ([resolution, price]: readonly [string, string]) => ({
    when: { resolution },
    rates: { video_ms: usd(price, 1_000), image: usd(picture) },
  })
  return {
    name,
    category: 'video',
    title,
    description: 'Films of 1 to 15 seconds with sound, from text, or from a picture and a text.',
    inputs: z.strictObject({
      prompt: z.string().min(1).max(4_000),
      image: pictureInput.optional(),
      duration: z.int().min(1).max(15).default(5),
      resolution: z.enum(seconds.map(([resolution]) => resolution)).default(first[0]),
      aspect_ratio: z.enum(['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3']).default('16:9'),
    }),
    example: { prompt: 'a red fox runs through snow', duration: 5 },
    shape,
    card: {
      rows: [row(first), ...rest.map(row)],
      most: {
        video_ms: ({ duration }: JsonObject) => Number(duration) * 1_000,
        image: ({ image }: JsonObject) => (image === undefined ? 0 : 1),
      },
    },
    source: 'docs.x.ai prices as docs.apiyi.com, inference.sh and venice.ai agree on them, 2026-11',
  }
}

export const xaiVideo: readonly MediaModel[] = [
  film({
    name: 'grok-imagine-video',
    title: 'Grok Imagine Video',
    seconds: [
      ['480p', '0.05'],
      ['720p', '0.07'],
    ],
    picture: '0.002',
  }),
  film({
    name: 'grok-imagine-video-1.5',
    title: 'Grok Imagine Video 1.5',
    seconds: [
      ['480p', '0.08'],
      ['720p', '0.14'],
      ['1080p', '0.25'],
    ],
    picture: '0.01',
  }),
]
