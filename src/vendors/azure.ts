/**
 * Azure OpenAI: speaks chat completions and responses below the operator's own resource, whose address must be set
 * (`AZURE_BASE_URL=https://<resource>.openai.azure.com/openai/v1`); models are named by deployment. Its chat
 * completions take no reasoning in messages. Source: Azure OpenAI in Microsoft Foundry Models, "v1 API".
 */
import { azureBatches } from './batches/openai-form.ts'
import { openaiRequestStyle } from './openai/models.ts'
import type { Vendor } from './vendor.ts'

export const azure = {
  id: 'azure',
  name: 'Azure OpenAI',
  keyVariable: 'AZURE_API_KEY',
  alsoNeeds: 'AZURE_BASE_URL',
  baseUrl: '',
  surfaces: ['chat', 'embeddings'],
  auth: 'api-key',
  outputBound: 'max_completion_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
  reasoningOff: 'openai',
  reasoningBack: 'refused',
  // Without it the deployment's settings choose, and may choose priority ("Priority processing").
  standardTier: 'default',
  requestStyleOf: openaiRequestStyle,
  // Azure OpenAI, "batch deployments" (2026-08-14): half of global standard, by deployments of their own type. Of cached
  // input no document that we could read says more.
  batches: { form: azureBatches, cachedInput: () => 'as input', needs: 'names' },
  // Azure OpenAI, "Use the Responses API in WebSocket mode"; the minutes are OpenAI's.
  socket: { minutes: 60 },
  catalogue: { prices: 'azure', limits: 'azure' },
} satisfies Vendor
