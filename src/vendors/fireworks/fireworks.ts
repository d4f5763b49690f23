/**
 * Fireworks' image models. Source: Fireworks AI API reference, "Generate a new image from a text prompt": bytes, with
 * `finish-reason` in a header. The price is by step, so the steps are fixed at the default.
 */
import { z } from 'zod'
import { readPictureBytes } from '../../media/picture-bytes.ts'
import type { UnpricedModel, VendorMedia } from '../../media/product.ts'
import type { OnceShape } from '../../media/shape.ts'
import { fireworksBatches } from '../batches/dataset-form.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'
import { fireworksName } from './wire-name.ts'

const shapeWith = (steps: number): OnceShape => ({
  flow: 'once',
  ask: (inputs, model) => ({
    method: 'POST',
    path: `/workflows/accounts/fireworks/models/${model}/text_to_image`,
    headers: { accept: 'image/png' },
    body: { json: { ...inputs, num_inference_steps: steps } },
  }),
  read: readPictureBytes,
})

type Steps = { readonly steps: number; readonly image: string }

const product = (name: string, title: string, description: string, it: Steps): UnpricedModel => ({
  name,
  category: 'image',
  title,
  description,
  inputs: z.strictObject({
    prompt: z.string().min(1).max(8_000),
    aspect_ratio: z
      .enum(['1:1', '21:9', '16:9', '3:2', '5:4', '4:5', '2:3', '9:16', '9:21', '4:3', '3:4'])
      .default('1:1'),
    guidance_scale: z.number().min(0).max(20).default(3.5),
    seed: z.int().min(0).max(2_147_483_647).optional(),
  }),
  example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
  shape: shapeWith(it.steps),
  most: { image: () => 1 },
  source: `we have not read the vendor’s price; others quote ${it.image} USD a picture, 2026-11`,
})

const fireworksMedia: VendorMedia = {
  models: [],
  waiting: [
    product('flux-1-schnell-fp8', 'FLUX.1 schnell FP8', 'Pictures from text in four steps: the cheapest.', {
      steps: 4,
      image: '0.0014',
    }),
    product('flux-1-dev-fp8', 'FLUX.1 dev FP8', 'Pictures from text in 28 steps.', {
      steps: 28,
      image: '0.014',
    }),
  ],
}

/** Fireworks: speaks chat completions at its own address. Source: Fireworks AI API reference, Create Chat Completion. */
export const fireworks = {
  ...usualChat,
  id: 'fireworks',
  name: 'Fireworks',
  keyVariable: 'FIREWORKS_API_KEY',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  surfaces: ['chat', 'embeddings'],
  catalogue: { prices: 'fireworks', limits: 'fireworks' },
  wireName: fireworksName,
  // Fireworks docs, "Batch API" (2026-11): half, and half of that for cached input. Which models are taken each model's own
  // record says (`batch_inference_supported`), so the operator names those, with the account that runs them.
  batches: {
    form: fireworksBatches,
    cachedInput: () => 'half of input',
    needs: 'names',
    at: 'https://api.fireworks.ai/v1',
  },
  media: fireworksMedia,
} satisfies Vendor
