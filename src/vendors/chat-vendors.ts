/**
 * Vendors that speak chat completions at their own address and differ in a few members only, as a table. Of those without a
 * catalogue of prices the models come from the operator's settings.
 */
import { usualChat } from './usual-chat.ts'
import type { Vendor } from './vendor.ts'

export const chatVendors: readonly Vendor[] = [
  {
    ...usualChat,
    // Source: DeepSeek API docs, Create Chat Completion; cache hits are in prompt_cache_hit_tokens;
    // "Thinking Mode": reasoning must come back with tool calls, else 400.
    id: 'deepseek',
    name: 'DeepSeek',
    keyVariable: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com/v1',
    reasoningOff: 'thinking',
    reasoningBack: 'needed',
    catalogue: { prices: 'deepseek', limits: 'deepseek' },
    shortIds: true,
  },
  {
    ...usualChat,
    // Source: OpenRouter API reference; cancelling stops billing only with some of its providers, so
    // the stream is read to its usage.
    id: 'openrouter',
    name: 'OpenRouter',
    keyVariable: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    cancel: 'drain',
    reasoningOff: 'none',
    catalogue: { prices: 'openrouter', limits: 'openrouter' },
  },
  {
    ...usualChat,
    // Source: Cerebras Inference API reference, Chat Completions; reasoning_content in a message is a
    // 400.
    id: 'cerebras',
    name: 'Cerebras',
    keyVariable: 'CEREBRAS_API_KEY',
    baseUrl: 'https://api.cerebras.ai/v1',
    outputBound: 'max_completion_tokens',
    reasoningBack: 'refused',
    catalogue: { prices: 'cerebras', limits: 'cerebras' },
  },
  {
    ...usualChat,
    // Source: Moonshot AI platform docs, Chat; streams report usage in the last choice; "Use the Kimi
    // K2 thinking model": reasoning must come back with tool calls.
    id: 'moonshot',
    name: 'Moonshot',
    keyVariable: 'MOONSHOT_API_KEY',
    baseUrl: 'https://api.moonshot.ai/v1',
    reasoningOff: 'thinking',
    reasoningBack: 'needed',
    catalogue: { prices: 'moonshotai', limits: 'moonshot' },
    usageAt: 'choice',
  },
  {
    ...usualChat,
    // Source: Z.ai API docs, Chat Completion (GLM); "Thinking Mode": reasoning should come back with
    // the results of tools.
    id: 'zai',
    name: 'Z.ai',
    keyVariable: 'ZAI_API_KEY',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    reasoningOff: 'thinking',
    reasoningBack: 'taken',
    catalogue: { prices: 'zai', limits: 'zai' },
  },
  {
    ...usualChat,
    // Source: Model Studio docs, OpenAI compatible mode (Qwen).
    id: 'alibaba',
    name: 'Alibaba Cloud',
    keyVariable: 'DASHSCOPE_API_KEY',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    surfaces: ['chat', 'embeddings'],
    reasoningOff: 'enable_thinking',
  },
  {
    ...usualChat,
    // Source: Perplexity API docs; each call also costs a search fee that no token price covers.
    id: 'perplexity',
    name: 'Perplexity',
    keyVariable: 'PERPLEXITY_API_KEY',
    baseUrl: 'https://api.perplexity.ai',
    takesStreamOptions: false,
    cancel: 'drain',
  },
  {
    ...usualChat,
    // Source: NVIDIA NIM API reference; its hosted models have no public price.
    id: 'nvidia',
    name: 'NVIDIA',
    keyVariable: 'NVIDIA_API_KEY',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    surfaces: ['chat', 'embeddings'],
  },
]
