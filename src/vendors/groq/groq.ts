/** Groq: speaks chat completions at its own address. Source: GroqCloud API reference, Create chat completion; streams report usage in x_groq; reasoning_content in a message is a 400. */

import { groqBatches } from '../batches/openai-form.ts'
import type { Vendor } from '../vendor.ts'
import { groqMedia } from './media.ts'

export const groq = {
  id: 'groq',
  name: 'Groq',
  keyVariable: 'GROQ_API_KEY',
  baseUrl: 'https://api.groq.com/openai/v1',
  surfaces: ['chat'],
  outputBound: 'max_completion_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningBack: 'refused',
  catalogue: { prices: 'groq', limits: 'groq' },
  // GroqCloud, "Batch Processing": half, and nothing less for cached input.
  batches: { form: groqBatches, cachedInput: () => 'as input' },
  usageAt: 'x_groq',
  media: groqMedia,
} satisfies Vendor
