/**
 * A vendor at an address of the operator's own: vLLM, llama-server, Ollama, LM Studio, or anything else that speaks one
 * of the dialects.
 */
import type { Vendor } from './vendor.ts'

/** The credential that servers of each dialect expect. */
const auths = {
  chat: 'bearer',
  responses: 'bearer',
  messages: 'x-api-key',
  gemini: 'x-goog-api-key',
  interactions: 'x-goog-api-key',
} as const

export const ownAddress = (id: string, baseUrl: string, speaks: keyof typeof auths = 'chat'): Vendor => ({
  id,
  name: id,
  keyVariable: `${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`,
  baseUrl,
  surfaces: speaks === 'messages' || speaks === 'interactions' ? ['chat'] : ['chat', 'embeddings'],
  speaks,
  ...(speaks === 'gemini' ? { embeds: 'gemini' } : {}),
  auth: auths[speaks],
  ...(speaks === 'messages' ? { headers: { 'anthropic-version': '2023-06-01' } } : {}),
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
})
