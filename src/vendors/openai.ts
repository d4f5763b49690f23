/** OpenAI: speaks chat completions at its own address. Source: OpenAI API reference, Chat and Embeddings; its messages know no reasoning. */
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
  catalogue: { prices: 'openai', limits: 'openai' },
  shortIds: true,
} satisfies Vendor
