/** Anthropic: speaks messages. It bills an aborted stream for what it produced. Source: Anthropic API reference, Messages. */
import type { Vendor } from './vendor.ts'

export const anthropic = {
  id: 'anthropic',
  name: 'Anthropic',
  keyVariable: 'ANTHROPIC_API_KEY',
  baseUrl: 'https://api.anthropic.com/v1',
  surfaces: ['chat'],
  speaks: 'messages',
  cacheMarks: true,
  auth: 'x-api-key',
  headers: { 'anthropic-version': '2023-06-01' },
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  catalogue: { prices: 'anthropic', limits: 'anthropic' },
  shortIds: true,
} satisfies Vendor
