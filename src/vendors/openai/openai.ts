/**
 * OpenAI: speaks chat completions and responses at its own address. Its chat completions take no reasoning in messages.
 * Source: OpenAI API reference, Chat, Responses and Embeddings.
 */

import { openaiBatches } from '../batches/openai-form.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'
import { openaiMedia } from './media.ts'
import { openaiBatchCached, openaiHostedRates, openaiRequestStyle } from './models.ts'
import { openaiSound } from './sound.ts'

export const openai = {
  ...usualChat,
  id: 'openai',
  name: 'OpenAI',
  keyVariable: 'OPENAI_API_KEY',
  baseUrl: 'https://api.openai.com/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_completion_tokens',
  reasoningOff: 'openai',
  reasoningBack: 'refused',
  compacts: 'openai',
  // Without it the project's settings choose, and may choose priority.
  standardTier: 'default',
  requestStyleOf: openaiRequestStyle,
  hostedRatesOf: openaiHostedRates,
  batches: { form: openaiBatches, cachedInput: openaiBatchCached },
  // OpenAI guide, "WebSocket Mode".
  socket: { minutes: 60 },
  catalogue: { prices: 'openai', limits: 'openai' },
  shortIds: true,
  media: { ...openaiMedia, models: [...openaiMedia.models, ...openaiSound] },
} satisfies Vendor
