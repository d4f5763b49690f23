/** Bodies and answers of the addresses of products that are not chat. Bodies are read by `media-calls.ts`. */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'

export const assetBytes = z
  .string()
  .meta({ id: 'AssetBytes', format: 'binary', description: 'The bytes, of the type that they are.' })

export const deletedAsset = namedObject('DeletedAsset', {
  id: z.string(),
  object: z.literal('asset'),
  deleted: z.literal(true),
})

/** Units by class, and what Turnpike adds. */
const usage = z.looseObject({
  cost: z.number().describe('USD').optional(),
  cost_details: z
    .record(z.string(), z.number())
    .describe('USD by usage class; `not_charged`, negative, is what a vendor reported beyond the hold')
    .optional(),
})
const balance = {
  _balance_warning: z.boolean().optional(),
  _remaining_credits: z.number().optional(),
}

const asset = z.object({
  type: z.enum(['image', 'video', 'audio', 'file']),
  url: z
    .string()
    .describe('Anybody may read it until `exp` in it (ASSET_URL_HOURS); with the key also after that'),
  media_type: z.string(),
  bytes: z.int(),
  width: z.int().optional(),
  height: z.int().optional(),
  seconds: z.number().optional(),
  expires_at: z.string().describe('Until when the result is kept'),
})

/** Members of the vendor's own body come beside these. */
export const mediaRun = namedLoose('Run', {
  id: z.string(),
  object: z.literal('run'),
  model: z.string(),
  outputs: z.array(
    z.union([
      asset,
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('json'), value: z.unknown() }),
    ]),
  ),
  usage,
  ...balance,
})

/** A job's state; once it has delivered, with its results as in `Run`. */
export const runShown = namedLoose('RunShown', {
  id: z.string(),
  object: z.literal('run'),
  model: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
  created_at: z.string(),
  ended_at: z.string().optional(),
  progress: z.number().describe('From 0 to 1, if its vendor reports it').optional(),
  max_cost_usd: z.number().describe('The amount held until it ends; it is never charged more'),
  poll_url: z.string(),
  cancel_url: z.string().describe('Only where its vendor can stop a job').optional(),
  cancel_cost_usd: z
    .number()
    .describe('The most that cancelling costs; 0 where its vendor does not bill a cancelled job')
    .optional(),
  cancel_requested: z.literal(true).optional(),
  error: z
    .looseObject({ code: z.string(), message: z.string() })
    .describe(
      'Why it delivered nothing; nothing was charged, unless it was cancelled where its vendor bills that: then `cost_usd` says what',
    )
    .optional(),
  outputs: z.array(z.looseObject({ type: z.string() })).optional(),
  usage: usage.optional(),
})

export const runList = namedObject('RunList', {
  object: z.literal('list'),
  data: z.array(runShown),
  has_more: z.boolean(),
})

export const noContent = z.null().meta({ id: 'NoContent' })

export const imageRequest = z
  .looseObject({
    model: z.string(),
    prompt: z.string(),
    size: z.string().describe('<width>x<height>').optional(),
  })
  .meta({ id: 'ImageRequest', description: "Further members are the model's own inputs." })

export const imageAnswer = namedObject('ImageAnswer', {
  image_url: z.string().nullable().describe('Signed; good for ASSET_URL_HOURS'),
  images: z.array(z.string()),
  model: z.string(),
  id: z.string(),
  usage,
  ...balance,
})

const pictureOptions = {
  response_format: z.enum(['url', 'b64_json']).optional(),
  stream: z.boolean().describe('The finished images are the last events').optional(),
  partial_images: z.int().min(0).max(3).describe('For models that send previews').optional(),
}

export const imagesRequest = z
  .looseObject({
    model: z.string(),
    prompt: z.string(),
    n: z.int().optional(),
    size: z.string().optional(),
    ...pictureOptions,
  })
  .meta({ id: 'ImagesRequest', description: "Further members are the model's own inputs." })

export const editsRequest = z
  .looseObject({
    model: z.string(),
    prompt: z.string(),
    image: z
      .union([z.string(), z.array(z.string())])
      .describe('In a form a file, or several as image[]; in JSON data: or https addresses, or file-…'),
    mask: z.string().optional(),
    n: z.int().optional(),
    size: z.string().optional(),
    ...pictureOptions,
  })
  .meta({ id: 'ImageEditsRequest', description: 'Sent as multipart/form-data or as JSON.' })

export const imageEvent = namedLoose('ImageEvent', {
  type: z.enum([
    'image_generation.partial_image',
    'image_generation.completed',
    'image_edit.partial_image',
    'image_edit.completed',
    'error',
  ]),
  b64_json: z.string().optional(),
  partial_image_index: z.int().optional(),
  usage: usage.optional(),
})

export const imagesAnswer = namedObject('ImagesAnswer', {
  created: z.int().describe('Seconds since 1970'),
  data: z.array(z.object({ url: z.string().optional(), b64_json: z.string().optional() })),
  usage,
  ...balance,
})

export const speechRequest = namedLoose('SpeechRequest', {
  model: z.string(),
  input: z.string(),
  voice: z.string().optional(),
  response_format: z.string().optional(),
  speed: z.number().optional(),
  stream_format: z.enum(['audio']).nullish(),
})

export const speechAnswer = z
  .string()
  .meta({ id: 'Speech', format: 'binary', description: 'The sound; its cost is told in X-Cost-Usd.' })

export const transcriptionRequest = z
  .looseObject({
    model: z.string(),
    file: z.string().describe("In a form the file's own part; in JSON a base64 data: address"),
    language: z.string().optional(),
    prompt: z.string().optional(),
    temperature: z.number().optional(),
    response_format: z.enum(['json', 'text', 'srt', 'vtt', 'verbose_json']).optional(),
    timestamp_granularities: z.array(z.enum(['word', 'segment'])).optional(),
  })
  .meta({ id: 'TranscriptionRequest', description: 'Sent as multipart/form-data or as JSON.' })

export const transcriptionAnswer = z
  .looseObject({
    text: z.string(),
    language: z.string().optional(),
    duration: z.number().describe('Seconds').optional(),
    segments: z
      .array(z.looseObject({ id: z.int(), start: z.number(), end: z.number(), text: z.string() }))
      .optional(),
    words: z.array(z.object({ word: z.string(), start: z.number(), end: z.number() })).optional(),
    usage,
    ...balance,
  })
  .meta({
    id: 'Transcription',
    description: 'The formats text, srt and vtt are answered as text; their cost is told in X-Cost-Usd.',
  })

export const rerankRequest = namedLoose('RerankRequest', {
  model: z.string(),
  query: z.string(),
  documents: z.array(z.union([z.string(), z.object({ text: z.string() })])),
  top_n: z.int().optional(),
})

export const rerankAnswer = namedLoose('RerankAnswer', {
  model: z.string(),
  results: z.array(z.looseObject({ index: z.int(), relevance_score: z.number() })),
  usage,
  ...balance,
})

export const moderationRequest = namedLoose('ModerationRequest', {
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.string()), z.array(z.looseObject({ type: z.string() }))]),
})

export const moderationAnswer = namedLoose('ModerationAnswer', {
  id: z.string().optional(),
  model: z.string(),
  results: z.array(z.looseObject({ flagged: z.boolean() })),
  usage,
  ...balance,
})
