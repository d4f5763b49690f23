/** xAI's image model. Source: xAI API reference, image generations; `cost_in_usd_ticks` is the vendor's bill, 1e10 a dollar. */
import { z } from 'zod'
import { isObject } from '../../core/json-body.ts'
import { readPictureList } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import type { OnceShape, VendorAnswer } from '../../media/shape.ts'

const TICKS_A_NANO = 10n

/** The vendor's own bill for an answer. */
export const billOf = ({ json }: VendorAnswer): { vendorCost?: bigint } => {
  const usage = isObject(json) && isObject(json.usage) ? json.usage : {}
  const ticks = usage.cost_in_usd_ticks
  return typeof ticks === 'number' && Number.isSafeInteger(ticks)
    ? { vendorCost: BigInt(ticks) / TICKS_A_NANO }
    : {}
}

const shape: OnceShape = {
  flow: 'once',
  ask: (inputs, model) => postJson('/images/generations', { model, ...inputs, response_format: 'b64_json' }),
  read: (answer, inputs) => {
    const verdict = readPictureList(answer, {
      requested: Number(inputs.n),
      isBlocked: ({ respect_moderation: respected }) => respected === false,
    })
    if (verdict?.verdict !== 'done') return verdict
    // The vendor's bill is not what the caller pays.
    const { usage: _bill, ...body } = verdict.body
    return { ...verdict, body, ...billOf(answer) }
  },
}

export const xaiMedia: VendorMedia = {
  unverified: 'hosts of results, that blocked films are billed',
  models: [
    {
      name: 'grok-imagine-image',
      category: 'image',
      title: 'Grok Imagine',
      description: 'Pictures from text, 1K.',
      inputs: z.strictObject({
        prompt: z.string().min(1).max(8_000),
        n: z.int().min(1).max(10).default(1),
        aspect_ratio: z.enum(['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3']).default('1:1'),
        resolution: z.enum(['1k']).default('1k'),
      }),
      example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
      shape,
      card: { rows: [{ rates: { image: usd('0.02') } }], most: { image: ({ n }) => Number(n) } },
      source: 'a reseller, and the example of docs.x.ai/developers/cost-tracking, 2026-11',
    },
  ],
  waiting: [
    { name: 'grok-imagine-image-quality', why: 'only a reseller publishes its price' },
    { name: 'grok-imagine-image at 2k', why: 'we found no price' },
    { name: 'grok-imagine-video-1.5-lite', why: 'resellers publish different prices' },
  ],
}
