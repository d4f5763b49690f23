/** DeepSeek: speaks chat completions at its own address. Source: DeepSeek API docs, Create Chat Completion; cache hits are in prompt_cache_hit_tokens; "Thinking Mode": reasoning must come back with tool calls, else 400. */
import type { Vendor } from './vendor.ts'

export const deepseek = {
  id: 'deepseek',
  name: 'DeepSeek',
  keyVariable: 'DEEPSEEK_API_KEY',
  baseUrl: 'https://api.deepseek.com/v1',
  surfaces: ['chat'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'thinking',
  reasoningBack: 'needed',
  catalogue: { prices: 'deepseek', limits: 'deepseek' },
  shortIds: true,
} satisfies Vendor
