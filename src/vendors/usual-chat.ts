/** What most vendors that speak chat completions have in common. */
import type { Vendor } from './vendor.ts'

export const usualChat = {
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
} satisfies Partial<Vendor>
