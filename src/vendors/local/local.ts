/** The built-in vendor `local/`: always on, so that a fresh server answers without any vendor key. Plainly not an AI. */
import type { Model } from '../../core/model.ts'
import type { Vendor } from '../vendor.ts'

export const local = {
  id: 'local',
  name: 'Built in',
  keyVariable: '',
  baseUrl: 'local:',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
} satisfies Vendor

export const CONTEXT_TOKENS = 131_072
export const OUTPUT_TOKENS = 16_384

/** One cent a million tokens: small enough to play, large enough to see the metering work. */
const rates = { input: 10_000, output: 20_000 }

export const localModels: readonly Model[] = [
  {
    id: 'local/echo-1',
    vendor: 'local',
    upstreamName: 'echo-1',
    kind: 'chat',
    price: { rates, tiers: [], version: 'local-1' },
    contextTokens: CONTEXT_TOKENS,
    maxOutputTokens: OUTPUT_TOKENS,
    capabilities: ['streaming', 'function_calling', 'structured_output'],
    imageTokensMax: 16,
  },
  {
    id: 'local/hash-embed-1',
    vendor: 'local',
    upstreamName: 'hash-embed-1',
    kind: 'embeddings',
    price: { rates: { input: 10_000 }, tiers: [], version: 'local-1' },
    contextTokens: CONTEXT_TOKENS,
    maxOutputTokens: 0,
    capabilities: ['embeddings'],
    imageTokensMax: 0,
  },
]
