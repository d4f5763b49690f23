/**
 * Stability's slower upscalers. Source: Stability AI REST API v2beta: the creative one is a job; polling gives a 202
 * and finally the bytes. Not verified: the path of results of all services, names of errors. A credit is one cent.
 */
import { z } from 'zod'
import { inlinePicture } from '../../media/inline-picture.ts'
import { readPictureBytes } from '../../media/picture-bytes.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { objectOf, textAt } from '../../media/read-answer.ts'
import { BLOCKED, segmentOf } from '../../media/read-job.ts'
import type { JobShape } from '../../media/shape.ts'
import { isBlocked, shape as once, partsOf, STRIPES, source } from './media.ts'

const job: JobShape = {
  flow: 'job',
  ask: (inputs, service) => ({
    method: 'POST',
    path: `/v2beta/stable-image/${service}`,
    headers: { accept: 'application/json' },
    body: { form: partsOf(inputs) },
  }),
  readRef: (answer) => {
    const id = textAt(objectOf(answer), 'id')
    if (id !== undefined) return { ref: { id } }
    return isBlocked(answer) ? BLOCKED : undefined
  },
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
    shape: once,
    card: { rows: [{ rates: { image: usd('0.4') } }], most: { image: () => 1 } },
    source,
  },
]
