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
import type { FormPart, Inputs, OnceShape, VendorAnswer } from '../../media/shape.ts'

/** A filter's answer. */
export const isBlocked = ({ status, json }: VendorAnswer): boolean =>
  status === 403 && isObject(json) && json.name === 'content_moderation'

/** Inputs as a form; the image as a file. */
export const partsOf = ({ image, ...fields }: Inputs): FormPart[] => {
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, text: String(value) }],
  )
  if (typeof image !== 'string') return texts
  const file = pictureBytes(image)
  return [{ name: 'image', file, filename: `image.${file.mediaType.slice('image/'.length)}` }, ...texts]
}

export const shape: OnceShape = {
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
export const STRIPES =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mP4AAUMo4xRBukMACHk4BB9bzJSAAAAAElFTkSuQmCC'

const card = (image: string): MediaModel['card'] => ({
  rows: [{ rates: { image: usd(image) } }],
  most: { image: () => 1 },
})

export const source = 'stability.ai/api-pricing-update-25, 2025-08'

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
