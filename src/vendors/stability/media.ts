/**
 * Stability's image services. Source: Stability AI REST API v2beta: a form in, one image's bytes out. A filter shows as
 * a 403 named `content_moderation`, or in a 200 as `finish-reason`. A credit is one cent.
 */
import { z } from 'zod'
import { isObject } from '../../core/json-body.ts'
import { inlinePicture, pictureBytes } from '../../media/inline-picture.ts'
import { readPictureBytes } from '../../media/picture-bytes.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { objectOf, soundOf, textAt } from '../../media/read-answer.ts'
import { BLOCKED, begunAt, segmentOf } from '../../media/read-job.ts'
import type { FormPart, Inputs, JobShape, OnceShape, VendorAnswer } from '../../media/shape.ts'

/** A filter's answer. */
const isBlocked = ({ status, json }: VendorAnswer): boolean =>
  status === 403 && isObject(json) && json.name === 'content_moderation'

/** Inputs as a form; the image as a file. */
const partsOf = ({ image, ...fields }: Inputs): FormPart[] => {
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, text: String(value) }],
  )
  if (typeof image !== 'string') return texts
  const file = pictureBytes(image)
  return [{ name: 'image', file, filename: `image.${file.mediaType.slice('image/'.length)}` }, ...texts]
}

const shape: OnceShape = {
  flow: 'once',
  ask: (inputs, service) => ({
    method: 'POST',
    path: `/v2beta/stable-image/${service}`,
    headers: { accept: 'image/*' },
    body: { form: partsOf(inputs) },
  }),
  read: (answer) => (isBlocked(answer) ? { verdict: 'blocked' } : readPictureBytes(answer)),
}

const prompted = z.strictObject({
  prompt: z.string().min(1).max(10_000),
  negative_prompt: z.string().max(10_000).optional(),
  aspect_ratio: z.enum(['1:1', '21:9', '16:9', '3:2', '5:4', '4:5', '2:3', '9:16', '9:21']).default('1:1'),
  seed: z.int().min(0).max(4_294_967_294).default(0),
  output_format: z.enum(['png', 'jpeg', 'webp']).default('png'),
})

/** The smallest accepted image: stripes of 64 by 64 pixels. */
const STRIPES =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mP4AAUMo4xRBukMACHk4BB9bzJSAAAAAElFTkSuQmCC'

const card = (image: string): MediaModel['card'] => ({
  rows: [{ rates: { image: usd(image) } }],
  most: { image: () => 1 },
})

const source = 'stability.ai/api-pricing-update-25, 2025-08'

export const stabilityMedia: VendorMedia = {
  unverified: 'names of errors, the path of results of jobs',
  models: [
    {
      name: 'upscale',
      upstreamName: 'upscale/fast',
      category: 'image',
      title: 'Stable Image Fast Upscaler',
      description: 'A picture at four times its resolution, in a second.',
      inputs: z.strictObject({
        image: inlinePicture,
        output_format: z.enum(['png', 'jpeg', 'webp']).default('png'),
      }),
      example: { image: STRIPES },
      shape,
      card: card('0.02'),
      source,
    },
    {
      name: 'remove-background',
      upstreamName: 'edit/remove-background',
      category: 'image',
      title: 'Stable Image Remove Background',
      description: 'A picture without its background.',
      inputs: z.strictObject({
        image: inlinePicture,
        output_format: z.enum(['png', 'webp']).default('png'),
      }),
      example: { image: STRIPES },
      shape,
      card: card('0.05'),
      source,
    },
  ],
  waiting: [
    {
      name: 'core',
      upstreamName: 'generate/core',
      category: 'image',
      title: 'Stable Image Core',
      description: 'Pictures from text, fast and cheap.',
      inputs: prompted,
      example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
      shape,
      most: { image: () => 1 },
      source: 'we have not read the vendor’s price; two others quote 0.03 USD a picture, 2026-06',
    },
    {
      name: 'ultra',
      upstreamName: 'generate/ultra',
      category: 'image',
      title: 'Stable Image Ultra',
      description: 'Pictures from text at this vendor’s best.',
      inputs: prompted,
      example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
      shape,
      most: { image: () => 1 },
      source: 'we have not read the vendor’s price; two others quote 0.08 USD a picture, 2026-06',
    },
  ],
}

export const stabilitySound: readonly MediaModel[] = [
  {
    name: 'stable-audio-2.5',
    category: 'music',
    title: 'Stable Audio 2.5',
    description:
      'Makes a piece of music or a sound of up to 190 seconds from a description; one price a piece.',
    inputs: z.strictObject({
      prompt: z.string().min(1).max(10_000),
      duration: z.int().min(1).max(190).default(30),
      output_format: z.enum(['mp3', 'wav']).default('mp3'),
      seed: z.int().min(0).max(4_294_967_294).optional(),
    }),
    example: { prompt: 'calm piano', duration: 30 },
    shape: {
      flow: 'once',
      ask: (inputs, model) => ({
        method: 'POST',
        path: '/v2beta/audio/stable-audio-2/text-to-audio',
        headers: { accept: 'audio/*' },
        body: {
          form: [
            { name: 'model', text: model },
            ...Object.entries(inputs).map(([name, value]): FormPart => ({ name, text: String(value) })),
          ],
        },
      }),
      read: (answer) =>
        (answer.status === 403 && textAt(answer.json, 'name') === 'content_moderation') ||
        answer.header('finish-reason') === 'CONTENT_FILTERED'
          ? { verdict: 'blocked' }
          : soundOf(answer, { song: 1 }),
    },
    card: { rows: [{ rates: { song: usd('0.2') } }], most: { song: () => 1 } },
    source:
      'stability.ai/api-pricing-update-25, 2025-08 (20 credits); the same in 2026-05, by api-evangelist/stability-audio',
  },
]

const job: JobShape = {
  flow: 'job',
  ask: (inputs, service) => ({
    method: 'POST',
    path: `/v2beta/stable-image/${service}`,
    headers: { accept: 'application/json' },
    body: { form: partsOf(inputs) },
  }),
  readRef: (answer) => begunAt(objectOf(answer)) ?? (isBlocked(answer) ? BLOCKED : undefined),
  poll: (ref) => ({
    method: 'GET',
    path: `/v2beta/results/${segmentOf(ref, 'id')}`,
    headers: { accept: 'image/*' },
  }),
  readPoll: (answer) => {
    if (answer.status === 202) return { pending: true }
    return isBlocked(answer) ? BLOCKED : readPictureBytes(answer)
  },
  onCancel: 'billed',
  everyMs: 10_000,
  deadlineMs: 900_000,
}

const inputs = {
  image: inlinePicture,
  prompt: z.string().min(1).max(10_000),
  negative_prompt: z.string().max(10_000).optional(),
  seed: z.int().min(0).max(4_294_967_294).default(0),
  output_format: z.enum(['png', 'jpeg', 'webp']).default('png'),
}

export const stabilityUpscale: readonly MediaModel[] = [
  {
    name: 'upscale-creative',
    upstreamName: 'upscale/creative',
    category: 'image',
    title: 'Stable Image Creative Upscaler',
    description: 'A picture at 4K with details made up anew.',
    inputs: z.strictObject({ ...inputs, creativity: z.number().min(0.1).max(0.5).default(0.3) }),
    example: { image: STRIPES, prompt: 'stripes of cloth' },
    shape: job,
    card: { rows: [{ rates: { image: usd('0.6') } }], most: { image: () => 1 } },
    source,
  },
  {
    name: 'upscale-conservative',
    upstreamName: 'upscale/conservative',
    category: 'image',
    title: 'Stable Image Conservative Upscaler',
    description: 'A picture at 4K that stays as it is.',
    inputs: z.strictObject({ ...inputs, creativity: z.number().min(0.2).max(0.5).default(0.35) }),
    example: { image: STRIPES, prompt: 'stripes of cloth' },
    shape,
    card: { rows: [{ rates: { image: usd('0.4') } }], most: { image: () => 1 } },
    source,
  },
]
