/** Recraft: sells images but no chat; see media.ts. */

import type { Vendor } from '../vendor.ts'
import { recraftMedia } from './media.ts'

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
