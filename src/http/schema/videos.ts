/** Films in the shape of OpenAI. Source: OpenAI API reference, "Videos". */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

export const videoRequest = z
  .looseObject({
    model: z.string(),
    prompt: z.string().optional(),
    seconds: z.union([z.string(), z.number()]).optional(),
    size: z.string().describe('<width>x<height>').optional(),
    input_reference: z
      .unknown()
      .describe('The image to begin with: a file of the form, or {image_url} or {file_id}')
      .optional(),
  })
  .meta({ id: 'VideoRequest', description: "Further members are the model's own inputs." })

export const video = z
  .looseObject({
    id: z.string().describe('Also the id of the run: GET /v1/run/{id}'),
    object: z.literal('video'),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z.int(),
    created_at: z.int(),
    completed_at: z.int().nullable(),
    expires_at: z.null(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    prompt: z.null().describe('Not kept'),
    remixed_from_video_id: z.null(),
    seconds: z.string(),
    size: z.string().describe('Not kept: empty'),
  })
  .meta({ id: 'Video', description: 'With the members of a run: cost, poll_url, outputs.' })

export const videoList = namedObject('VideoList', {
  object: z.literal('list'),
  data: z.array(video),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

export const videoDeleted = namedObject('VideoDeleted', {
  id: z.string(),
  object: z.literal('video.deleted'),
  deleted: z.literal(true),
})

export const videoBytes = z.string().meta({ id: 'VideoBytes', format: 'binary', description: 'The bytes.' })
