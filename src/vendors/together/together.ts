/**
 * Together's image models. Source: Together AI API reference, "Create image"; the price is per megapixel (a million
 * pixels), and fewer steps than the default four cost no less.
 */
import { z } from 'zod'
import { readPictureList } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import type { Inputs, OnceShape } from '../../media/shape.ts'
import { togetherBatches } from '../batches/openai-form.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'

const pixels = ({ width, height }: Inputs): number => Number(width) * Number(height)

const shape: OnceShape = {
  flow: 'once',
  ask: (inputs, model) => postJson('/images/generations', { model, ...inputs, response_format: 'base64' }),
  read: (answer, inputs) => {
    const verdict = readPictureList(answer, { requested: Number(inputs.n) })
    return verdict?.verdict === 'done'
      ? { ...verdict, measured: { pixel: pixels(inputs) * verdict.outputs.length } }
      : verdict
  },
}

const side = z.int().min(256).max(1_440).multipleOf(16)

const togetherMedia: VendorMedia = {
  models: [],
  waiting: [
    {
      name: 'black-forest-labs/FLUX.1-schnell',
      category: 'image',
      title: 'FLUX.1 schnell',
      description: 'Pictures from text in four steps: fast and cheap.',
      inputs: z.strictObject({
        prompt: z.string().min(1).max(8_000),
        n: z.int().min(1).max(4).default(1),
        width: side.default(1_024),
        height: side.default(1_024),
        // More steps than the default cost more.
        steps: z.int().min(1).max(4).default(4),
        seed: z.int().min(0).max(2_147_483_647).optional(),
        output_format: z.enum(['jpeg', 'png']).default('png'),
      }),
      example: { prompt: 'a red fox in snow', width: 1_024, height: 768 },
      shape,
      most: { pixel: (inputs) => pixels(inputs) * Number(inputs.n) },
      source: 'we have not read the vendor’s price; two others quote 0.0027 USD a megapixel, 2026-06',
    },
    { name: 'other image models of Together', why: 'we found no price that two sources agree on' },
  ],
}

/**
 * What batches halve: the only model of chat that all lists name which we read (Together AI docs, "Batch", with models that
 * had left by then; togethercomputer/skills, "Models with 50% Discount", 2026-07-13 and after). Others cost there what they
 * cost here.
 */
const halved: readonly string[] = ['meta-llama/Llama-3.3-70B-Instruct-Turbo']

/** Together: speaks chat completions at its own address. Source: Together AI API reference, Create chat completion. */
export const together = {
  ...usualChat,
  id: 'together',
  name: 'Together',
  keyVariable: 'TOGETHER_API_KEY',
  baseUrl: 'https://api.together.xyz/v1',
  surfaces: ['chat', 'embeddings'],
  catalogue: { prices: 'together', limits: 'together' },
  // Nothing is said of cached input in batches.
  batches: { form: togetherBatches, cachedInput: (name) => (halved.includes(name) ? 'as input' : undefined) },
  media: togetherMedia,
} satisfies Vendor
