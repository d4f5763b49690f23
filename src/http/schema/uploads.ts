/** Uploads in parts, in the shape of OpenAI. Source: OpenAI API reference, "Uploads". */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'
import { openaiFile } from './files.ts'

const BYTES = 'must be the number of bytes of the whole file'

export const uploadCreate = namedLoose('UploadCreate', {
  filename: z.string('must be the name of the file').min(1).max(255, 'may have at most 255 characters'),
  purpose: z
    .string('must be a word such as vision or user_data')
    .regex(/^[a-z][a-z_-]{0,39}$/, 'must be a word such as vision or user_data'),
  bytes: z.int(BYTES).min(1, BYTES),
  mime_type: z.string('must be a text').optional(),
})

const PARTS = 'must be a list of the ids of parts, in their order'

export const uploadComplete = namedLoose('UploadComplete', {
  part_ids: z.array(z.string(PARTS), PARTS).min(1, PARTS).max(10_000, PARTS),
  md5: z.string('must be a text').optional(),
})

export const upload = namedObject('Upload', {
  id: z.string(),
  object: z.literal('upload'),
  bytes: z.int(),
  created_at: z.int().describe('Of this answer: an upload is not kept, only its parts'),
  expires_at: z.int(),
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(['pending', 'completed', 'cancelled']),
  file: openaiFile.optional(),
})

export const uploadPart = namedObject('UploadPart', {
  id: z.string(),
  object: z.literal('upload.part'),
  created_at: z.int(),
  upload_id: z.string(),
})
