/** Ideogram: sells images but no chat; see media.ts. */

import type { Vendor } from '../vendor.ts'
import { ideogramMedia } from './media.ts'

export const ideogram = {
  id: 'ideogram',
  name: 'Ideogram',
  keyVariable: 'IDEOGRAM_API_KEY',
  baseUrl: 'https://api.ideogram.ai',
  auth: 'api-key',
  surfaces: [],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'drain',
  media: ideogramMedia,
} satisfies Vendor
