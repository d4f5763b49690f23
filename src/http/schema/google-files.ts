/** Files in the shape of Google. Source: Gemini API reference, "Files". */
import { z } from 'zod'

export { nothing } from './calls.ts'

export const googleFile = z
  .object({
    name: z.string().describe('files/file-…'),
    displayName: z.string(),
    mimeType: z.string(),
    sizeBytes: z.string(),
    createTime: z.string(),
    updateTime: z.string(),
    expirationTime: z.string(),
    sha256Hash: z.string(),
    uri: z.string().describe('What `fileData.fileUri` of generateContent names'),
    state: z.literal('ACTIVE'),
    source: z.literal('UPLOADED'),
  })
  .meta({ id: 'GoogleFile' })

export const googleFileList = z
  .object({ files: z.array(googleFile), nextPageToken: z.string().optional() })
  .meta({ id: 'GoogleFileList' })

export const googleUpload = z.object({ file: googleFile.optional() }).meta({ id: 'GoogleUpload' })

export const uploadStart = z
  .looseObject({
    file: z.looseObject({ displayName: z.string().optional(), mimeType: z.string().optional() }).optional(),
  })
  .meta({ id: 'GoogleUploadStart' })
