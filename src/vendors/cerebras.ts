/** Cerebras: speaks chat completions at its own address. Source: Cerebras Inference API reference, Chat Completions; reasoning_content in a message is a 400. */
import type { Vendor } from './vendor.ts'

export const cerebras = {
  id: 'cerebras',
  name: 'Cerebras',
  keyVariable: 'CEREBRAS_API_KEY',
  baseUrl: 'https://api.cerebras.ai/v1',
  surfaces: ['chat'],
  outputBound: 'max_completion_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningBack: 'refused',
  catalogue: { prices: 'cerebras', limits: 'cerebras' },
} satisfies Vendor
