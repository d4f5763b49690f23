/** Google Vertex AI: speaks generate-content below the operator's own project, with tokens of a service account. Source: Vertex AI API reference. */
import { vertexBatches } from './batches/vertex-form.ts'
import { inGoogleBatches } from './google/google.ts'
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
  // Vertex AI, "Batch inference with Gemini": half; where input was cached, the price of that counts and not the batch's.
  batches: { form: vertexBatches, cachedInput: inGoogleBatches, needs: 'gs' },
  catalogue: { prices: 'google', limits: 'google-vertex', names: '^gemini' },
} satisfies Vendor
