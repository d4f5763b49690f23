/**
 * OpenAI: speaks chat completions and responses at its own address. Its chat completions take no reasoning in messages.
 * Source: OpenAI API reference, Chat, Responses and Embeddings.
 */

import { openaiMedia } from './openai-media.ts'
import { openaiRequestStyle } from './openai-models.ts'
import { openaiSound } from './openai-sound.ts'
import type { Vendor } from './vendor.ts'

export const openai = {
  id: 'openai',
  name: 'OpenAI',
  keyVariable: 'OPENAI_API_KEY',
  baseUrl: 'https://api.openai.com/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_completion_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'openai',
  reasoningBack: 'refused',
  requestStyleOf: openaiRequestStyle,
  catalogue: { prices: 'openai', limits: 'openai' },
  shortIds: true,
  media: { ...openaiMedia, models: [...openaiMedia.models, ...openaiSound] },
} satisfies Vendor
