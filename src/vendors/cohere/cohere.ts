/** Cohere: speaks chat completions at its compatibility address. Source: Cohere docs, "Using Cohere models via the OpenAI SDK". */

import type { Vendor } from '../vendor.ts'
import { cohereMedia } from './media.ts'

export const cohere = {
  id: 'cohere',
  name: 'Cohere',
  keyVariable: 'COHERE_API_KEY',
  baseUrl: 'https://api.cohere.ai/compatibility/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  catalogue: { prices: 'cohere', limits: 'cohere' },
  shortIds: true,
  media: cohereMedia,
} satisfies Vendor
