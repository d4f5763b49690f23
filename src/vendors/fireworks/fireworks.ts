/** Fireworks: speaks chat completions at its own address. Source: Fireworks AI API reference, Create Chat Completion. */

import type { Vendor } from '../vendor.ts'
import { fireworksMedia } from './media.ts'

export const fireworks = {
  id: 'fireworks',
  name: 'Fireworks',
  keyVariable: 'FIREWORKS_API_KEY',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  catalogue: { prices: 'fireworks', limits: 'fireworks' },
  media: fireworksMedia,
} satisfies Vendor
