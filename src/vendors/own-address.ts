/** A vendor at an address of the operator's own: vLLM, llama-server, Ollama, LM Studio, or anything that speaks chat completions. */
import type { Vendor } from './vendor.ts'

export const ownAddress = (id: string, baseUrl: string): Vendor => ({
  id,
  name: id,
  keyVariable: `${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`,
  baseUrl,
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
})
