/** Alibaba Cloud: speaks chat completions at its own address. Source: Model Studio docs, OpenAI compatible mode (Qwen). No open catalogue lists its prices: models come from the operator's settings. */
import type { Vendor } from './vendor.ts'

export const alibaba = {
  id: 'alibaba',
  name: 'Alibaba Cloud',
  keyVariable: 'DASHSCOPE_API_KEY',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'enable_thinking',
} satisfies Vendor
