/** Together: speaks chat completions at its own address. Source: Together AI API reference, Create chat completion. */

import type { Vendor } from '../vendor.ts'
import { togetherMedia } from './media.ts'

export const together = {
  id: 'together',
  name: 'Together',
  keyVariable: 'TOGETHER_API_KEY',
  baseUrl: 'https://api.together.xyz/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  catalogue: { prices: 'together', limits: 'together' },
  media: togetherMedia,
} satisfies Vendor
