/** OpenRouter: speaks chat completions at its own address. Source: OpenRouter API reference; cancelling stops billing only with some of its providers, so the stream is read to its usage. */
import type { Vendor } from './vendor.ts'

export const openrouter = {
  id: 'openrouter',
  name: 'OpenRouter',
  keyVariable: 'OPENROUTER_API_KEY',
  baseUrl: 'https://openrouter.ai/api/v1',
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'drain',
  reasoningOff: 'none',
  catalogue: { prices: 'openrouter', limits: 'openrouter' },
} satisfies Vendor
