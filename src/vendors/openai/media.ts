/**
 * OpenAI's image models, charged by tokens. Source: OpenAI API reference, "Create image"; a blocked prompt is a 400 with the
 * code `moderation_blocked`. Tokens of a picture: the price
 * examples of OpenAI's image generation guide as resellers quote them, each rounded up; only holds are made of them.
 */
import { z } from 'zod'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { inlinePicture, pictureBytes } from '../../media/inline-picture.ts'
import { readPictureList } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import type { FormPart, Inputs, OnceShape, Outgoing, VendorAnswer } from '../../media/shape.ts'

const MILLION = 1_000_000

const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0

/** Tokens by class, as the vendor counted them; if it does not split its output, all of it counts as image. */
const tokensOf = ({ json }: VendorAnswer): Usage | undefined => {
  const usage = isObject(json) ? json.usage : undefined
  if (!isObject(usage)) return undefined
  const of = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const made = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const [input, output] = [count(usage.input_tokens), count(usage.output_tokens)]
  const [inputImage, text] = [
    Math.min(input, count(of.image_tokens)),
    Math.min(output, count(made.text_tokens)),
  ]
  return {
    input: input - inputImage,
    ...(inputImage > 0 ? { input_image: inputImage } : {}),
    ...(text > 0 ? { output: text } : {}),
    output_image: output - text,
  }
}

const isBlocked = ({ status, json }: VendorAnswer): boolean =>
  status === 400 &&
  isObject(json) &&
  isObject(json.error) &&
  (json.error.code === 'moderation_blocked' || json.error.code === 'content_policy_violation')

/** The answer of a stream of events: its final event, as if it had come whole. */
const withoutEvents = (answer: VendorAnswer): VendorAnswer => {
  if (!(answer.header('content-type') ?? '').startsWith('text/event-stream')) return answer
  const events = new TextDecoder()
    .decode(answer.bytes)
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith('data:') ? [parseJson(line.slice('data:'.length))] : []))
    .filter(isObject)
  const failed = events.find(({ type }) => type === 'error')
  if (failed !== undefined) return { ...answer, status: 400, json: failed }
  const made = events.filter(({ type }) => typeof type === 'string' && type.endsWith('.completed'))
  const { type: _type, b64_json: _bytes, created_at: _at, ...said } = made.at(-1) ?? {}
  return { ...answer, json: { ...said, data: made.map(({ b64_json }) => ({ b64_json })) } }
}

/** With input images the vendor wants a form, at another address. Partial images come only as events. */
const askFor = (inputs: Inputs, model: string): Outgoing => {
  const { image, mask, partial_images: partial, ...rest } = inputs
  const streams = Number(partial ?? 0) > 0 ? { stream: true, partial_images: partial } : {}
  const said: JsonObject = { model, ...rest, ...streams }
  if (!Array.isArray(image)) return postJson('/images/generations', said)
  const form: FormPart[] = Object.entries(said).map(([name, value]) => ({ name, text: String(value) }))
  for (const one of image) form.push(fileOf('image[]', String(one)))
  if (typeof mask === 'string') form.push(fileOf('mask', mask))
  return { method: 'POST', path: '/images/edits', body: { form } }
}

const fileOf = (name: string, address: string): FormPart => {
  const file = pictureBytes(address)
  return { name, file, filename: `picture.${file.mediaType.slice('image/'.length)}` }
}

const shape: OnceShape = {
  flow: 'once',
  ask: askFor,
  preview: (event) =>
    isObject(event) && typeof event.type === 'string' && event.type.endsWith('.partial_image')
      ? event
      : undefined,
  read: (sent, inputs) => {
    const answer = withoutEvents(sent)
    if (isBlocked(answer)) return { verdict: 'blocked' }
    const verdict = readPictureList(answer, { requested: Number(inputs.n) })
    if (verdict?.verdict !== 'done') return verdict
    const { measured: _pictures, ...done } = verdict
    const measured = tokensOf(answer)
    return measured === undefined ? done : { ...done, measured }
  },
}

const PROMPT_MAX = 32_000
const PICTURES_MAX = 16
/** The tokens that the vendor counts for each partial image. */
const PARTIAL_TOKENS = 100
/** Tokens that the vendor counts around a prompt, with some margin. */
const FRAME_TOKENS = 100

const inputs = z
  .strictObject({
    prompt: z.string().min(1).max(PROMPT_MAX),
    n: z.int().min(1).max(10).default(1),
    size: z.enum(['1024x1024', '1024x1536', '1536x1024']).default('1024x1024'),
    quality: z.enum(['low', 'medium', 'high']).default('medium'),
    background: z.enum(['auto', 'opaque']).default('auto'),
    output_format: z.enum(['png', 'jpeg', 'webp']).default('png'),
    moderation: z.enum(['auto', 'low']).optional(),
    image: z.array(inlinePicture).min(1).max(PICTURES_MAX).optional().describe('Pictures to work on'),
    mask: inlinePicture.optional().describe('Where the first of them is to change'),
    partial_images: z
      .int()
      .min(0)
      .max(3)
      .optional()
      .describe('Shown on /v1/images/generations and /edits with stream, where each is charged; 0 elsewhere'),
  })
  .refine(({ image, mask }) => image !== undefined || mask === undefined, {
    path: ['mask'],
    message: "needs 'image'",
  })
  .refine(({ image, moderation }) => image === undefined || moderation === undefined, {
    path: ['moderation'],
    message: "is not taken with 'image'",
  })

const encoder = new TextEncoder()

/** No tokenizer makes more tokens than bytes, and each image is requested with the whole prompt. */
const inputMost = (inputs: Inputs): number =>
  (encoder.encode(String(inputs.prompt)).length + FRAME_TOKENS * (1 + picturesIn(inputs))) * Number(inputs.n)

/** Images that are sent, including the mask. */
const picturesIn = ({ image, mask }: Inputs): number =>
  (Array.isArray(image) ? image.length : 0) + (mask === undefined ? 0 : 1)

/** Tokens of an image by quality: square, and the other sizes. */
type PictureTokens = Readonly<Record<string, readonly [square: number, other: number]>>

const pictureMost =
  (tokens: PictureTokens) =>
  ({ quality, size, n, partial_images: partial }: Inputs): number => {
    const [square = 0, other = 0] = tokens[String(quality)] ?? []
    return ((size === '1024x1024' ? square : other) + Number(partial ?? 0) * PARTIAL_TOKENS) * Number(n)
  }

type Tokens = {
  readonly inUsd: string
  readonly inImageUsd: string
  readonly textOutUsd: string
  readonly imageOutUsd: string
  readonly picture: PictureTokens
  /** The most tokens that an input image is counted as; each output image pays for all input images. */
  readonly pictureIn: number
  /** Tokens of text that it may write beside an image. */
  readonly text: number
}

const product = (name: string, title: string, description: string, it: Tokens): MediaModel => ({
  name,
  category: 'image',
  title,
  description,
  inputs,
  example: { prompt: 'a red fox in snow', size: '1024x1024', quality: 'low' },
  shape,
  card: {
    rows: [
      {
        rates: {
          input: usd(it.inUsd, MILLION),
          input_image: usd(it.inImageUsd, MILLION),
          output: usd(it.textOutUsd, MILLION),
          output_image: usd(it.imageOutUsd, MILLION),
        },
      },
    ],
    most: {
      input: inputMost,
      input_image: (inputs) => picturesIn(inputs) * it.pictureIn * Number(inputs.n),
      output: ({ n }) => it.text * Number(n),
      output_image: pictureMost(it.picture),
    },
  },
  source: 'genai-prices-0.1.8, 2026-11',
})

export const openaiMedia: VendorMedia = {
  unverified: 'the code of what moderation blocks; how many tokens pictures of newer models take',
  models: [
    product(
      'gpt-image-2',
      'GPT Image 2',
      'Pictures from text, with legible lettering and exact instructions.',
      {
        inUsd: '5',
        inImageUsd: '8',
        textOutUsd: '30',
        imageOutUsd: '30',
        picture: { low: [217, 184], medium: [1_784, 1_384], high: [7_050, 5_517] },
        pictureIn: 4_000,
        text: 100,
      },
    ),
    product('gpt-image-1.5', 'GPT Image 1.5', 'Pictures from text; the generation before GPT Image 2.', {
      inUsd: '5',
      inImageUsd: '8',
      textOutUsd: '10',
      imageOutUsd: '32',
      picture: { low: [297, 422], medium: [1_079, 1_610], high: [4_172, 6_266] },
      pictureIn: 12_000,
      text: 1_000,
    }),
    product(
      'gpt-image-1-mini',
      'GPT Image 1 mini',
      'Pictures from text at the lowest price of this vendor.',
      {
        inUsd: '2',
        inImageUsd: '2.5',
        textOutUsd: '8',
        imageOutUsd: '8',
        // Only the dearest example is known: 0.052 USD an image.
        picture: { low: [6_563, 6_563], medium: [6_563, 6_563], high: [6_563, 6_563] },
        pictureIn: 12_000,
        text: 100,
      },
    ),
  ],
  waiting: [
    { name: 'gpt-image-2.5-sunburst, gpt-image-2.5-flare', why: 'only a reseller publishes prices' },
    { name: 'gpt-image-2 in other sizes', why: 'nobody publishes how many tokens they take' },
  ],
}
