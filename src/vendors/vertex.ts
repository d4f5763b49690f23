/** Google Vertex AI: speaks generate-content below the operator's own project, with tokens of a service account. Source: Vertex AI API reference. */
import type { Vendor } from './vendor.ts'

export const vertex = {
  id: 'vertex',
  name: 'Google Vertex AI',
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  alsoNeeds: 'VERTEX_PROJECT',
  baseUrl: '',
  surfaces: ['chat', 'embeddings'],
  speaks: 'gemini',
  embeds: 'vertex',
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  catalogue: { prices: 'google', limits: 'google-vertex', names: '^gemini' },
} satisfies Vendor
