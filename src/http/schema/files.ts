/** Files that callers upload, in the shape of OpenAI or Anthropic. Sources: both API references, "Files". */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

export const openaiFile = z.object({
  id: z.string().describe('What inputs of products name: file-…'),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int().describe('Seconds since 1970'),
  expires_at: z.int().describe('Seconds since 1970'),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal('processed'),
})

const messagesFile = z
  .object({
    id: z.string(),
    type: z.literal('file'),
    filename: z.string(),
    mime_type: z.string(),
    size_bytes: z.int(),
    created_at: z.string().meta({ format: 'date-time' }),
    expires_at: z.string().meta({ format: 'date-time' }),
    downloadable: z.boolean(),
  })
  .describe('For clients that send `anthropic-version`')

const anyFile = z.union([openaiFile, messagesFile])

export const fileAnswer = anyFile.meta({ id: 'File' })

export const fileUpload = z
  .object({
    file: z.string().meta({ format: 'binary' }),
    purpose: z.string().optional(),
    'expires_after[anchor]': z.literal('created_at').optional(),
    'expires_after[seconds]': z.int().optional(),
  })
  .meta({
    id: 'FileUpload',
    description:
      'Sent as multipart/form-data; or the bytes themselves with their own Content-Type, and ?filename= and ?purpose= in the address.',
  })

export const fileList = namedObject('FileList', {
  object: z.literal('list'),
  data: z.array(anyFile),
  next_page: z.string().nullable().optional(),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})

export const fileBytes = z.string().meta({ id: 'FileBytes', format: 'binary', description: 'The bytes.' })

export const fileDeleted = z
  .union([
    z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) }),
    z.object({ id: z.string(), type: z.literal('file_deleted') }),
  ])
  .meta({ id: 'FileDeleted' })
