/** Perplexity: speaks chat completions at its own address. Source: Perplexity API docs; each call also costs a search fee that no token price covers: models come from the operator's settings. */
import type { Vendor } from './vendor.ts'

export const perplexity = {
  id: 'perplexity',
  name: 'Perplexity',
  keyVariable: 'PERPLEXITY_API_KEY',
  baseUrl: 'https://api.perplexity.ai',
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'drain',
} satisfies Vendor
