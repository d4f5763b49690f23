/** Replicate's official models as records; prices by replicate.com/pricing. */
import { z } from 'zod'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { replicateShape } from './media.ts'

const prompt = z.string().min(1).max(5_000)
const seed = z.int().min(0).max(2_147_483_647).optional()
const aspect_ratio = z
  .enum(['1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21'])
  .default('1:1')
const output_format = z.enum(['webp', 'jpg', 'png']).default('png')
const output_quality = z.int().min(0).max(100).default(80)
const num_outputs = z.int().min(1).max(4).default(1)

const example = { prompt: 'a red fox in snow', aspect_ratio: '16:9' }
const source = 'replicate.com/pricing, by api-evangelist/replicate, 2026-10'

const flux1 = (name: string, title: string, price: readonly [usd: string, per: number]): MediaModel => ({
  name: `black-forest-labs/${name}`,
  category: 'image',
  title,
  description: 'Pictures from text; one price a picture.',
  inputs: z.strictObject({
    prompt,
    aspect_ratio,
    num_outputs,
    seed,
    output_format,
    output_quality,
    megapixels: z.enum(['1', '0.25']).default('1'),
    disable_safety_checker: z.literal(false).default(false),
  }),
  example,
  shape: replicateShape,
  card: {
    rows: [{ rates: { image: usd(...price) } }],
    most: { image: ({ num_outputs: count }) => Number(count) },
  },
  source,
})

export const replicateModels: readonly MediaModel[] = [
  flux1('flux-schnell', 'FLUX.1 [schnell] at Replicate', ['3', 1_000]),
  flux1('flux-dev', 'FLUX.1 [dev] at Replicate', ['0.025', 1]),
  {
    name: 'black-forest-labs/flux-1.1-pro',
    category: 'image',
    title: 'FLUX1.1 [pro] at Replicate',
    description: 'Pictures from text; one price a picture.',
    inputs: z.strictObject({
      prompt,
      aspect_ratio,
      seed,
      output_format,
      output_quality,
      safety_tolerance: z.int().min(1).max(6).default(2),
      prompt_upsampling: z.boolean().default(false),
    }),
    example,
    shape: replicateShape,
    card: { rows: [{ rates: { image: usd('0.04') } }], most: { image: () => 1 } },
    source,
  },
  {
    name: 'ideogram-ai/ideogram-v3-quality',
    category: 'image',
    title: 'Ideogram 3.0 Quality at Replicate',
    description: 'Pictures from text, good at letters; one price a picture.',
    inputs: z.strictObject({
      prompt,
      aspect_ratio: z
        .enum(['1:1', '16:9', '9:16', '3:2', '2:3', '4:3', '3:4', '4:5', '5:4', '2:1', '1:2', '3:1', '1:3'])
        .default('1:1'),
      magic_prompt_option: z.enum(['Auto', 'On', 'Off']).default('Auto'),
      seed,
    }),
    example,
    shape: replicateShape,
    card: { rows: [{ rates: { image: usd('0.09') } }], most: { image: () => 1 } },
    source,
  },
]
