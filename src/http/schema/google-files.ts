/** Files in the shape of Google. Source: Gemini API reference, "Files". */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'

export { nothing } from './calls.ts'

export const googleFile = namedObject('GoogleFile', {
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

export const googleFileList = namedObject('GoogleFileList', {
  files: z.array(googleFile),
  nextPageToken: z.string().optional(),
})

export const googleUpload = namedObject('GoogleUpload', { file: googleFile.optional() })

export const uploadStart = namedLoose('GoogleUploadStart', {
  file: z.looseObject({ displayName: z.string().optional(), mimeType: z.string().optional() }).optional(),
})
