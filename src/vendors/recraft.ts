/** Recraft: sells images but no chat; see recraft-media.ts. */
import { recraftMedia } from './recraft-media.ts'
import type { Vendor } from './vendor.ts'

export const recraft = {
  id: 'recraft',
  name: 'Recraft',
  keyVariable: 'RECRAFT_API_KEY',
  baseUrl: 'https://external.api.recraft.ai',
  surfaces: [],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'drain',
  media: recraftMedia,
} satisfies Vendor
