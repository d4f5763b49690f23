/**
 * Google's image models on the Gemini API, charged by tokens. Source: Gemini API reference, generateContent with
 * `imageConfig`; filters show in `promptFeedback.blockReason` and `finishReason` of a 200.
 */
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Usage } from '../../core/usage.ts'
import { NOT_READ } from '../../media/picture-list.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import type { Inputs, OnceShape, Output, VendorAnswer } from '../../media/shape.ts'

const MILLION = 1_000_000

/** Tokens of thoughts and text beside the image; we ask for no more, and a limit enforces it. */
const TEXT_TOKENS = 8_192
/** Tokens that the vendor counts around a prompt, with some margin. */
const FRAME_TOKENS = 100

/** Tokens of one image, by size. */
type PictureTokens = Readonly<Record<string, number>>

const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0

const BLOCKS = /SAFETY|PROHIBITED|BLOCKLIST|RECITATION|SPII/

const tokensOf = (body: JsonObject): Usage | undefined => {
  const usage = body.usageMetadata
  if (!isObject(usage)) return undefined
  const output = count(usage.candidatesTokenCount)
  const details = list(usage.candidatesTokensDetails).filter(isObject)
  const counted = details.find(({ modality }) => modality === 'IMAGE')?.tokenCount
  const image = counted === undefined ? output : Math.min(output, count(counted))
  const thoughts = count(usage.thoughtsTokenCount)
  return {
    input: count(usage.promptTokenCount),
    ...(output > image ? { output: output - image } : {}),
    ...(thoughts > 0 ? { reasoning: thoughts } : {}),
    output_image: image,
  }
}

/** The images of the first candidate, and its parts without their bytes. */
const picturesOf = (candidate: JsonObject): { outputs: Output[]; parts: Json[] } => {
  const outputs: Output[] = []
  const content = isObject(candidate.content) ? candidate.content : {}
  const parts = list(content.parts).map((part, index): Json => {
    const data = isObject(part) && part.thought !== true ? part.inlineData : undefined
    if (!isObject(data) || typeof data.data !== 'string' || data.data === '') return part
    const at = ['candidates', 0, 'content', 'parts', index, 'inlineData', 'url']
    outputs.push({ type: 'image', from: { base64: data.data }, at })
    return { inlineData: { mimeType: data.mimeType ?? null, url: null } }
  })
  return { outputs, parts }
}

const read = ({ status, json }: VendorAnswer): ReturnType<OnceShape['read']> => {
  if (status < 200 || status > 299) return undefined
  if (!isObject(json)) return NOT_READ
  const feedback = isObject(json.promptFeedback) ? json.promptFeedback : {}
  const candidate = list(json.candidates).find(isObject) ?? {}
  const { outputs, parts } = picturesOf(candidate)
  if (outputs.length === 0) {
    const filtered = typeof candidate.finishReason === 'string' && BLOCKS.test(candidate.finishReason)
    return feedback.blockReason !== undefined || filtered ? { verdict: 'blocked' } : NOT_READ
  }
  const content = isObject(candidate.content) ? candidate.content : {}
  const measured = tokensOf(json)
  return {
    verdict: 'done',
    outputs,
    body: { ...json, candidates: [{ ...candidate, content: { ...content, parts } }] },
    ...(measured === undefined ? {} : { measured }),
  }
}

const pictureTokens = (tokens: PictureTokens, { image_size: size }: Inputs): number =>
  tokens[String(size)] ?? 0

const shapeWith = (tokens: PictureTokens): OnceShape => ({
  flow: 'once',
  ask: (inputs, model) =>
    postJson(`/models/${model}:generateContent`, {
      contents: [{ role: 'user', parts: [{ text: inputs.prompt ?? '' }] }],
      generationConfig: {
        responseModalities: ['IMAGE'],
        imageConfig: { aspectRatio: inputs.aspect_ratio ?? null, imageSize: inputs.image_size ?? null },
        maxOutputTokens: pictureTokens(tokens, inputs) + TEXT_TOKENS,
      },
    }),
  read,
})

const encoder = new TextEncoder()

type Tokens = {
  readonly inUsd: string
  readonly textOutUsd: string
  readonly imageOutUsd: string
  readonly picture: PictureTokens
}

const product = (name: string, title: string, description: string, it: Tokens): MediaModel => ({
  name,
  category: 'image',
  title,
  description,
  inputs: z.strictObject({
    prompt: z.string().min(1).max(32_000),
    aspect_ratio: z
      .enum(['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'])
      .default('1:1'),
    image_size: z.enum(['1K', '2K', '4K']).default('1K'),
  }),
  example: { prompt: 'a red fox in snow', aspect_ratio: '16:9' },
  shape: shapeWith(it.picture),
  card: {
    rows: [
      {
        rates: {
          input: usd(it.inUsd, MILLION),
          output: usd(it.textOutUsd, MILLION),
          output_image: usd(it.imageOutUsd, MILLION),
        },
      },
    ],
    most: {
      input: ({ prompt }) => encoder.encode(String(prompt)).length + FRAME_TOKENS,
      output: () => TEXT_TOKENS,
      output_image: (inputs) => pictureTokens(it.picture, inputs),
    },
  },
  source: 'genai-prices-0.1.8, 2026-11',
})

export const googleMedia: VendorMedia = {
  unverified:
    'a finished film with a key, that films keep to the length asked for, what a filter answers to interactions',
  models: [
    product('gemini-3.1-flash-image', 'Gemini 3.1 Flash Image', 'Pictures from text, fast and up to 4K.', {
      inUsd: '0.5',
      textOutUsd: '3',
      imageOutUsd: '60',
      picture: { '1K': 1_120, '2K': 1_680, '4K': 2_520 },
    }),
    product(
      'gemini-3-pro-image',
      'Gemini 3 Pro Image',
      'Pictures from text that is thought over, up to 4K.',
      {
        inUsd: '2',
        textOutUsd: '12',
        imageOutUsd: '120',
        picture: { '1K': 1_120, '2K': 1_120, '4K': 2_000 },
      },
    ),
  ],
  waiting: [
    { name: 'gemini-omni-1.1-flash in 360p, 1080p and 4K', why: 'only 720p has a published price' },
    { name: 'Veo 3.1', why: 'only on Vertex AI and as a preview' },
  ],
}
