/** fal's models as records: what each takes, and its price on its own page. */
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { webAddress } from '../../media/web-input.ts'
import { falShape } from './media.ts'

const MEGAPIXEL = 1_000_000

const prompt = z.string().min(1).max(2_500)
const seed = z.int().min(0).max(2_147_483_647).optional()
const output_format = z.enum(['png', 'jpeg']).default('png')
const enable_safety_checker = z.literal(true).default(true)
const num_images = z.int().min(1).max(4).default(1)
const side = z.int().min(256).max(2_048).multipleOf(16)
const image_size = z.strictObject({ width: side, height: side }).default({ width: 1_024, height: 1_024 })

const pixels = ({ image_size: size, num_images: count }: JsonObject): number => {
  const { width, height } = size as { width: number; height: number }
  return width * height * Number(count)
}

const seconds = ({ duration }: JsonObject): number => Number.parseInt(String(duration), 10) * 1_000

const byPixels = falShape({ makes: 'image', unit: 'pixel', each: MEGAPIXEL })
const byImages = falShape({ makes: 'image', unit: 'image', each: 1 })
const bySeconds = falShape({ makes: 'video', unit: 'video_ms', each: 1_000 })

const second = (price: string) => ({ video_ms: usd(price, 1_000) })
const page = (model: string) => `fal.ai/models/${model}/llms.txt, 2026-09`

const still = { prompt: 'a red fox in snow' }
const moving = { prompt: 'a red fox runs through snow' }

export const falModels: readonly MediaModel[] = [
  {
    name: 'fal-ai/flux-1/schnell',
    category: 'image',
    title: 'FLUX.1 [schnell] at fal',
    description: 'Pictures from text in four steps, billed by their pixels.',
    inputs: z.strictObject({
      prompt,
      image_size,
      num_images,
      num_inference_steps: z.int().min(1).max(12).default(4),
      seed,
      output_format,
      enable_safety_checker,
    }),
    example: still,
    shape: byPixels,
    card: { rows: [{ rates: { pixel: usd('0.003', MEGAPIXEL) } }], most: { pixel: pixels } },
    source: page('fal-ai/flux-1/schnell'),
  },
  {
    name: 'fal-ai/qwen-image',
    category: 'image',
    title: 'Qwen Image at fal',
    description: 'Pictures from text, good at letters, billed by their pixels.',
    inputs: z.strictObject({
      prompt,
      negative_prompt: z.string().max(2_500).optional(),
      image_size,
      num_images,
      seed,
      output_format,
      enable_safety_checker,
    }),
    example: still,
    shape: byPixels,
    card: { rows: [{ rates: { pixel: usd('0.02', MEGAPIXEL) } }], most: { pixel: pixels } },
    source: 'fal.ai/pricing, by api-evangelist/fal-ai, 2026-09',
  },
  {
    name: 'fal-ai/bytedance/seedream/v4/text-to-image',
    category: 'image',
    title: 'Seedream 4 at fal',
    description: 'Pictures from text; one price a picture.',
    inputs: z.strictObject({
      prompt,
      image_size: z
        .strictObject({
          width: z.int().min(1_024).max(4_096),
          height: z.int().min(1_024).max(4_096),
        })
        .default({ width: 2_048, height: 2_048 }),
      num_images,
      // More than one would produce several images for each requested one.
      max_images: z.literal(1).default(1),
      seed,
      enable_safety_checker,
    }),
    example: still,
    shape: byImages,
    card: {
      rows: [{ rates: { image: usd('0.03') } }],
      most: { image: ({ num_images: count }) => Number(count) },
    },
    source: 'fal.ai/pricing, by api-evangelist/fal-ai, 2026-09',
  },
  {
    name: 'fal-ai/flux-pro/kontext',
    category: 'image',
    title: 'FLUX.1 Kontext [pro] at fal',
    description: 'Changes a picture as a text says; one price a picture.',
    inputs: z.strictObject({
      prompt,
      image_url: webAddress('image/*'),
      num_images,
      seed,
      guidance_scale: z.number().min(1).max(20).default(3.5),
      safety_tolerance: z.enum(['1', '2', '3', '4', '5', '6']).default('2'),
      output_format,
    }),
    example: { prompt: 'make it winter', image_url: 'https://example.com/fox.png' },
    shape: byImages,
    card: {
      rows: [{ rates: { image: usd('0.04') } }],
      most: { image: ({ num_images: count }) => Number(count) },
    },
    source: 'fal.ai/pricing, by api-evangelist/fal-ai, 2026-09',
  },
  {
    name: 'fal-ai/kling-video/v3/standard/text-to-video',
    category: 'video',
    title: 'Kling 3.0 Standard at fal',
    description: 'Films of 3 to 15 seconds from text, with or without sound.',
    inputs: z.strictObject({
      prompt,
      duration: z.enum(['3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '14', '15']).default('5'),
      aspect_ratio: z.enum(['16:9', '9:16', '1:1']).default('16:9'),
      generate_audio: z.boolean().default(false),
      negative_prompt: z.string().max(2_500).optional(),
      cfg_scale: z.number().min(0).max(1).default(0.5),
    }),
    example: { ...moving, duration: '5' },
    shape: bySeconds,
    card: {
      rows: [{ when: { generate_audio: true }, rates: second('0.126') }, { rates: second('0.084') }],
      most: { video_ms: seconds },
    },
    source: page('fal-ai/kling-video/v3/standard/text-to-video'),
  },
  {
    name: 'fal-ai/veo3/fast',
    category: 'video',
    title: 'Veo 3 Fast at fal',
    description: 'Films of 4, 6 or 8 seconds from text, with or without sound.',
    inputs: z.strictObject({
      prompt,
      duration: z.enum(['4s', '6s', '8s']).default('8s'),
      aspect_ratio: z.enum(['16:9', '9:16']).default('16:9'),
      generate_audio: z.boolean().default(true),
      negative_prompt: z.string().max(2_500).optional(),
      seed,
    }),
    example: { ...moving, duration: '4s' },
    shape: bySeconds,
    card: {
      rows: [{ when: { generate_audio: true }, rates: second('0.15') }, { rates: second('0.1') }],
      most: { video_ms: seconds },
    },
    source: page('fal-ai/veo3/fast'),
  },
]

export const falWaiting: NonNullable<VendorMedia['waiting']> = [
  { name: 'Wan 2.5', why: 'fal’s own page gives the price of one resolution only' },
  { name: 'Kling 3.0 Turbo Pro, Kling 2.5 Turbo Pro', why: 'we have not read which inputs they take' },
  { name: 'gemini-omni-flash', why: 'billed by tokens, and no page says what bounds them' },
  { name: 'Nano Banana', why: 'we have not read which inputs it takes' },
]
