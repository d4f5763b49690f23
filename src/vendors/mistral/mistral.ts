/** Mistral: speaks chat completions at its own address. Source: Mistral AI API docs, Chat Completion; usage comes with the last event unasked, and unknown members are refused, reasoning_content among them. */

import { mistralBatches } from '../batches/openai-form.ts'
import type { Vendor } from '../vendor.ts'
import { mistralMedia } from './media.ts'

export const mistral = {
  id: 'mistral',
  name: 'Mistral',
  keyVariable: 'MISTRAL_API_KEY',
  baseUrl: 'https://api.mistral.ai/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  reasoningBack: 'refused',
  catalogue: { prices: 'mistral', limits: 'mistral' },
  shortIds: true,
  // Mistral AI, "Batch Inference": half. Nothing is said of cached input.
  batches: { form: mistralBatches, cachedInput: () => 'as input' },
  media: mistralMedia,
} satisfies Vendor
