/** Z.ai: speaks chat completions at its own address. Source: Z.ai API docs, Chat Completion (GLM); "Thinking Mode": reasoning should come back with the results of tools. */
import type { Vendor } from './vendor.ts'

export const zai = {
  id: 'zai',
  name: 'Z.ai',
  keyVariable: 'ZAI_API_KEY',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'thinking',
  reasoningBack: 'taken',
  catalogue: { prices: 'zai', limits: 'zai' },
} satisfies Vendor
