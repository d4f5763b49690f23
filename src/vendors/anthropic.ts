/** Anthropic: speaks messages. It bills an aborted stream for what it produced. Source: Anthropic API reference, Messages. */
import { anthropicBatches } from './batches/anthropic-form.ts'
import type { Vendor } from './vendor.ts'

export const anthropic = {
  id: 'anthropic',
  name: 'Anthropic',
  keyVariable: 'ANTHROPIC_API_KEY',
  baseUrl: 'https://api.anthropic.com/v1',
  surfaces: ['chat'],
  speaks: 'messages',
  cacheMarks: true,
  compacts: 'anthropic',
  auth: 'x-api-key',
  headers: { 'anthropic-version': '2023-06-01' },
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  catalogue: { prices: 'anthropic', limits: 'anthropic' },
  shortIds: true,
  // Anthropic, "Batch processing": all usage costs half, and that of caching as well.
  batches: { form: anthropicBatches, cachedInput: () => 'half' },
  // "Web search tool", usage and pricing: 10 USD for 1,000 searches, in pico-USD for one. Reading pages and finding tools
  // costs tokens alone.
  hostedRatesOf: () => ({ web_search: 10_000_000_000 }),
} satisfies Vendor
