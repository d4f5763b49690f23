/** NVIDIA: speaks chat completions at its own address. Source: NVIDIA NIM API reference; its hosted models have no public price: models come from the operator's settings. */
import type { Vendor } from './vendor.ts'

export const nvidia = {
  id: 'nvidia',
  name: 'NVIDIA',
  keyVariable: 'NVIDIA_API_KEY',
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
} satisfies Vendor
