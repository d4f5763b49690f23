/**
 * Ideogram 3.0. Source: Ideogram API reference, "Generate with Ideogram 3.0": a form; addresses of results expire. A
 * filter shows as a 422, or in a 200 as an image that is marked unsafe.
 */
import { z } from 'zod'
import { isObject } from '../../core/json-body.ts'
import { readPictureList } from '../../media/picture-list.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import type { FormPart, Inputs, OnceShape, VendorAnswer } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const isBlocked = ({ status, json }: VendorAnswer): boolean =>
  status === 422 && isObject(json) && typeof json.error === 'string' && /safety/i.test(json.error)

/** The vendor's names and spellings of the inputs. */
const fieldsOf = ({ n, aspect_ratio: ratio, ...rest }: Inputs): FormPart[] =>
  Object.entries({ ...rest, num_images: n, aspect_ratio: String(ratio).replace(':', 'x') }).flatMap(
    ([name, value]) => (value === undefined ? [] : [{ name, text: String(value) }]),
  )

const shape: OnceShape = {
  flow: 'once',
  ask: (inputs, speed) => ({
    method: 'POST',
    path: '/v1/ideogram-v3/generate',
    body: { form: [...fieldsOf(inputs), { name: 'rendering_speed', text: speed }] },
  }),
  read: (answer, inputs) =>
    isBlocked(answer)
      ? { verdict: 'blocked' }
      : readPictureList(answer, {
          requested: Number(inputs.n),
          isBlocked: ({ is_image_safe: safe }) => safe === false,
        }),
}

const inputs = z.strictObject({
  prompt: z.string().min(1).max(10_000),
  n: z.int().min(1).max(8).default(1),
  aspect_ratio: z
    .enum([
      '1:1',
      '1:2',
      '2:1',
      '1:3',
      '3:1',
      '2:3',
      '3:2',
      '3:4',
      '4:3',
      '4:5',
      '5:4',
      '9:16',
      '16:9',
      '10:16',
      '16:10',
    ])
    .default('1:1'),
  magic_prompt: z.enum(['AUTO', 'ON', 'OFF']).default('AUTO'),
  style_type: z.enum(['AUTO', 'GENERAL', 'REALISTIC', 'DESIGN']).default('AUTO'),
  negative_prompt: z.string().max(10_000).optional(),
  seed: z.int().min(0).max(2_147_483_647).optional(),
})

const product = (name: string, speed: string, description: string, image: string): MediaModel => ({
  name,
  upstreamName: speed,
  category: 'image',
  title: `Ideogram 3.0 (${speed.toLowerCase()})`,
  description,
  inputs,
  example: { prompt: 'a poster that says "Red Fox"', aspect_ratio: '16:9' },
  shape,
  card: { rows: [{ rates: { image: usd(image) } }], most: { image: ({ n }) => Number(n) } },
  source: 'ideogram.ai/features/api-pricing, 2026-11',
})

const ideogramMedia: VendorMedia = {
  unverified: 'bodies of errors, the default price',
  models: [
    product('v3-turbo', 'TURBO', 'Pictures from text with good lettering, fast.', '0.03'),
    product('v3-default', 'DEFAULT', 'Pictures from text with good lettering.', '0.06'),
    product('v3-quality', 'QUALITY', 'Pictures from text with good lettering, at their best.', '0.09'),
  ],
}

export const ideogram = {
  ...noChat,
  id: 'ideogram',
  name: 'Ideogram',
  keyVariable: 'IDEOGRAM_API_KEY',
  baseUrl: 'https://api.ideogram.ai',
  auth: 'api-key',
  media: ideogramMedia,
} satisfies Vendor
