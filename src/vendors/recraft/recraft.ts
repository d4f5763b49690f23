/**
 * Recraft's image models. Source: Recraft API reference, "Generate image", models and appendix; `credits` is the vendor's
 * bill, a thousand a dollar. Vector models answer SVG, which is a document and kept as a file.
 */
import { z } from 'zod'
import { isObject } from '../../core/json-body.ts'
import { readPictureList } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import type { OnceShape, VendorAnswer } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const NANO_A_CREDIT = 1_000_000n

const billOf = ({ json }: VendorAnswer): { vendorCost?: bigint } => {
  const credits = isObject(json) ? json.credits : undefined
  return typeof credits === 'number' && Number.isSafeInteger(credits)
    ? { vendorCost: BigInt(credits) * NANO_A_CREDIT }
    : {}
}

const shapeOf = (type: 'image' | 'file'): OnceShape => ({
  flow: 'once',
  ask: (inputs, model) => postJson('/v1/images/generations', { model, ...inputs, response_format: 'url' }),
  read: (answer, inputs) => {
    const verdict = readPictureList(answer, { requested: Number(inputs.n), type })
    if (verdict?.verdict !== 'done') return verdict
    // The vendor's bill is not what the caller pays.
    const { credits: _bill, ...body } = verdict.body
    return { ...verdict, body, ...billOf(answer) }
  },
})

const pixels = shapeOf('image')
const drawing = shapeOf('file')

const v3Sizes = [
  '1024x1024',
  '1365x1024',
  '1024x1365',
  '1536x1024',
  '1024x1536',
  '1820x1024',
  '1024x1820',
] as const

const v4Sizes = [
  '1024x1024',
  '1536x768',
  '768x1536',
  '1280x832',
  '832x1280',
  '1216x896',
  '896x1216',
  '1152x896',
  '896x1152',
  '1344x768',
  '768x1344',
] as const

const proSizes = ['2048x2048', '3072x1536', '1536x3072', '2560x1664', '1664x2560'] as const

type Version = {
  readonly model: string
  readonly sizes: typeof v3Sizes | typeof v4Sizes | typeof proSizes
  readonly letters: number
  readonly image: string
}

const product = (name: string, title: string, it: Version): MediaModel => {
  const isVector = it.model.endsWith('_vector')
  const [size] = it.sizes
  return {
    name,
    upstreamName: it.model,
    category: 'image',
    title,
    description: isVector
      ? 'Drawings from text as editable SVG: logos, icons, illustrations.'
      : 'Pictures from text with a designer’s taste.',
    inputs: z.strictObject({
      prompt: z.string().min(1).max(it.letters),
      n: z.int().min(1).max(6).default(1),
      size: z.enum(it.sizes).default(size),
    }),
    example: { prompt: 'a red fox in snow', size },
    shape: isVector ? drawing : pixels,
    card: { rows: [{ rates: { image: usd(it.image) } }], most: { image: ({ n }) => Number(n) } },
    source: 'recraft.ai/docs/api-reference/pricing and models, 2026-11',
  }
}

const v3 = { sizes: v3Sizes, letters: 1_000 } as const
const v4 = { sizes: v4Sizes, letters: 10_000 } as const

const recraftMedia: VendorMedia = {
  unverified: 'members of answers that give credits, bodies of errors',
  models: [
    product('v3', 'Recraft V3', { ...v3, model: 'recraftv3', image: '0.04' }),
    product('v3-vector', 'Recraft V3 Vector', { ...v3, model: 'recraftv3_vector', image: '0.08' }),
    product('v4', 'Recraft V4', { ...v4, model: 'recraftv4', image: '0.04' }),
    product('v4-vector', 'Recraft V4 Vector', { ...v4, model: 'recraftv4_vector', image: '0.08' }),
    product('v4-pro', 'Recraft V4 Pro', { ...v4, sizes: proSizes, model: 'recraftv4_pro', image: '0.25' }),
    product('v4.1', 'Recraft V4.1', { ...v4, model: 'recraftv4_1', image: '0.035' }),
    product('v4.1-vector', 'Recraft V4.1 Vector', { ...v4, model: 'recraftv4_1_vector', image: '0.08' }),
  ],
}

export const recraft = {
  ...noChat,
  id: 'recraft',
  name: 'Recraft',
  keyVariable: 'RECRAFT_API_KEY',
  baseUrl: 'https://external.api.recraft.ai',
  media: recraftMedia,
} satisfies Vendor
