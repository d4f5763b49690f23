/**
 * Vendors whose prices no open catalogue lists, as a table: their models come from the operator's settings. All speak
 * chat completions at their own address.
 */
import type { Vendor } from './vendor.ts'

const usual = { surfaces: ['chat'], outputBound: 'max_tokens' } satisfies Partial<Vendor>

export const vendorsWithoutPrices: readonly Vendor[] = [
  {
    ...usual,
    // Source: Model Studio docs, OpenAI compatible mode (Qwen).
    id: 'alibaba',
    name: 'Alibaba Cloud',
    keyVariable: 'DASHSCOPE_API_KEY',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    surfaces: ['chat', 'embeddings'],
    takesStreamOptions: true,
    cancel: 'stop',
    reasoningOff: 'enable_thinking',
  },
  {
    ...usual,
    // Source: Perplexity API docs; each call also costs a search fee that no token price covers.
    id: 'perplexity',
    name: 'Perplexity',
    keyVariable: 'PERPLEXITY_API_KEY',
    baseUrl: 'https://api.perplexity.ai',
    takesStreamOptions: false,
    cancel: 'drain',
  },
  {
    ...usual,
    // Source: NVIDIA NIM API reference; its hosted models have no public price.
    id: 'nvidia',
    name: 'NVIDIA',
    keyVariable: 'NVIDIA_API_KEY',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    surfaces: ['chat', 'embeddings'],
    takesStreamOptions: true,
    cancel: 'stop',
  },
]
