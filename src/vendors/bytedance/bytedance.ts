/**
 * Seedance at BytePlus. Sources: npm @ai-sdk/bytedance 1.0.29; docs.byteplus.com, ModelArk 1520757 (tasks) and 1544106
 * (prices). Billed by tokens: width × height × frames / 1024, at 24 frames a second, and only for films that were made. A
 * task that runs cannot be cancelled. Not verified: all codes of errors.
 */
import { z } from 'zod'
import type { Json, JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, begunAt, failed, jobDone, outputAt, segmentOf } from '../../media/read-job.ts'
import type { JobShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import { pictureInput } from '../../media/web-input.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const MILLION = 1_000_000

/** The most pixels of a frame over all aspect ratios, with some margin. */
const FRAME_PIXELS: Readonly<Record<string, number>> = {
  '480p': 440_000,
  '720p': 940_000,
  '1080p': 2_120_000,
}

const mostTokens = ({ resolution, duration }: JsonObject): number =>
  ((FRAME_PIXELS[String(resolution)] ?? 0) * (24 * Number(duration) + 1)) / 1_024

const errorOf = (error: Json | undefined): Verdict => {
  const code = textAt(error, 'code') ?? ''
  if (/Sensitive|RiskDetection|PolicyViolation/i.test(code)) return BLOCKED
  return failed(
    textAt(error, 'message'),
    /^(?:InvalidParameter|MissingParameter)/.test(code) ? 'inputs' : 'vendor',
  )
}

/** The meaning of a refusal's code; other codes are left to the usual reading. */
const refusedOf = ({ status, json }: VendorAnswer): Verdict | undefined => {
  const error = status === 400 ? member(json, 'error') : undefined
  const verdict = textAt(error, 'code') === undefined ? undefined : errorOf(error ?? null)
  return verdict?.verdict === 'failed' && verdict.fault === 'vendor' ? undefined : verdict
}

const shape: JobShape = {
  flow: 'job',
  ask: ({ prompt, image, ...inputs }, model) =>
    postJson('/contents/generations/tasks', {
      model,
      content: [
        { type: 'text', text: prompt ?? '' },
        ...(typeof image === 'string'
          ? [{ type: 'image_url', image_url: { url: image }, role: 'first_frame' }]
          : []),
      ],
      ...inputs,
      watermark: false,
    }),
  readRef: (answer) => begunAt(objectOf(answer)) ?? refusedOf(answer),
  poll: (ref) => ({ method: 'GET', path: `/contents/generations/tasks/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'queued':
      case 'running':
        return { pending: true }
      case 'succeeded': {
        const url = addressAt(member(body, 'content'), 'video_url')
        if (body === undefined || url === undefined) return failed('the result has no address')
        const output = countAt(member(body, 'usage'), 'completion_tokens')
        const outputs = [outputAt('video', url, ['content', 'video_url'])]
        return jobDone(outputs, body, output === undefined ? undefined : { output })
      }
      case 'failed':
        return errorOf(member(body, 'error'))
      case 'expired':
        return failed('the job expired at the vendor')
      case 'cancelled':
        return { verdict: 'cancelled' }
      default:
        return undefined
    }
  },
  cancel: (ref) => ({ method: 'DELETE', path: `/contents/generations/tasks/${segmentOf(ref, 'id')}` }),
  // Only a waiting task can be cancelled, and only a finished one is billed.
  onCancel: 'free',
  everyMs: 5_000,
  deadlineMs: 3_600_000,
}

type Film = {
  readonly name: string
  readonly upstreamName: string
  readonly title: string
  readonly seconds: readonly [least: number, most: number]
  readonly resolutions: readonly [string, ...string[]]
  readonly sound: boolean
  /** USD a million tokens. */
  readonly rows: MediaModel['card']['rows']
}

const tokens = (price: string) => ({ output: usd(price, MILLION) })

const film = ({ name, upstreamName, title, seconds, resolutions, sound, rows }: Film): MediaModel => ({
  name,
  upstreamName,
  category: 'video',
  title,
  description: `Films of ${seconds[0]} to ${seconds[1]} seconds from text, or from a first picture and a text${sound ? ', with sound if wanted' : ', without sound'}.`,
  inputs: z.strictObject({
    prompt: z.string().min(1).max(4_000),
    image: pictureInput.optional(),
    resolution: z.enum(resolutions).default('720p'),
    ratio: z.enum(['21:9', '16:9', '4:3', '1:1', '3:4', '9:16']).default('16:9'),
    duration: z.int().min(seconds[0]).max(seconds[1]).default(5),
    ...(sound ? { generate_audio: z.boolean().default(true) } : {}),
  }),
  example: { prompt: 'a red fox runs through snow', resolution: '480p', duration: 5 },
  shape,
  card: { rows, most: { output: mostTokens } },
  source: 'docs.byteplus.com/en/docs/ModelArk/1544106 as two others quote it, 2026-10',
})

const upTo720: Film['resolutions'] = ['480p', '720p']
const upTo1080: Film['resolutions'] = ['480p', '720p', '1080p']

const bytedanceMedia: VendorMedia = {
  unverified: 'all codes of errors; how many pixels films of each aspect ratio have',
  models: [
    film({
      name: 'seedance-2.0',
      upstreamName: 'dreamina-seedance-2-0-260128',
      title: 'Seedance 2.0',
      seconds: [4, 15],
      resolutions: upTo1080,
      sound: true,
      rows: [{ when: { resolution: '1080p' }, rates: tokens('7.7') }, { rates: tokens('7') }],
    }),
    film({
      name: 'seedance-2.0-fast',
      upstreamName: 'dreamina-seedance-2-0-fast-260128',
      title: 'Seedance 2.0 Fast',
      seconds: [4, 15],
      resolutions: upTo720,
      sound: true,
      rows: [{ rates: tokens('5.6') }],
    }),
    film({
      name: 'seedance-2.0-mini',
      upstreamName: 'dreamina-seedance-2-0-mini-260615',
      title: 'Seedance 2.0 Mini',
      seconds: [4, 15],
      resolutions: upTo720,
      sound: true,
      rows: [{ rates: tokens('3.5') }],
    }),
    film({
      name: 'seedance-1.5-pro',
      upstreamName: 'seedance-1-5-pro-251215',
      title: 'Seedance 1.5 Pro',
      seconds: [4, 12],
      resolutions: upTo1080,
      sound: true,
      rows: [{ when: { generate_audio: true }, rates: tokens('2.4') }, { rates: tokens('1.2') }],
    }),
    film({
      name: 'seedance-1.0-pro',
      upstreamName: 'seedance-1-0-pro-250528',
      title: 'Seedance 1.0 Pro',
      seconds: [2, 12],
      resolutions: upTo1080,
      sound: false,
      rows: [{ rates: tokens('2.5') }],
    }),
    film({
      name: 'seedance-1.0-pro-fast',
      upstreamName: 'seedance-1-0-pro-fast-251015',
      title: 'Seedance 1.0 Pro Fast',
      seconds: [2, 12],
      resolutions: upTo1080,
      sound: false,
      rows: [{ rates: tokens('1') }],
    }),
  ],
  waiting: [
    { name: 'seedance-2.5', why: 'we have not worked out which sizes it makes in 4K and with references' },
    { name: 'seedream (pictures)', why: 'we have not read the price of a picture' },
  ],
}

/** ByteDance at BytePlus ModelArk: sells Seedance films here. */
export const bytedance = {
  ...noChat,
  id: 'bytedance',
  name: 'ByteDance (BytePlus)',
  keyVariable: 'ARK_API_KEY',
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  media: bytedanceMedia,
} satisfies Vendor
