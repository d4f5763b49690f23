/** Google's Gemini API: speaks generate-content; thoughts are reported and billed apart from the answer. Source: Gemini API reference. */
import { googleInteractions } from './google-interactions.ts'
import { googleMedia } from './google-media.ts'
import type { Vendor } from './vendor.ts'

export const google = {
  id: 'google',
  name: 'Google Gemini',
  keyVariable: 'GEMINI_API_KEY',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  surfaces: ['chat', 'embeddings'],
  speaks: 'gemini',
  embeds: 'gemini',
  auth: 'x-goog-api-key',
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  catalogue: { prices: 'google', limits: 'google', names: '^gem' },
  shortIds: true,
  media: { ...googleMedia, models: [...googleMedia.models, ...googleInteractions] },
} satisfies Vendor
