/**
 * Amazon Bedrock: speaks Converse at a region's address, with signed requests or a Bedrock API key.
 * Source: Amazon Bedrock API reference, "Converse".
 */
import { bedrockBatches } from './batches/bedrock-form.ts'
import type { Vendor } from './vendor.ts'

/** Source: Amazon Bedrock user guide, "Supported Regions and models for batch inference", of the models that cost half there. */
const IN_BATCHES = /^(?:[a-z-]+\.)?(?:anthropic\.claude-|amazon\.nova-(?:micro|lite|pro|premier)-)/

export const bedrock = {
  id: 'bedrock',
  name: 'Amazon Bedrock',
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  alsoNeeds: 'AWS_REGION',
  baseUrl: '',
  surfaces: ['chat', 'embeddings'],
  speaks: 'converse',
  embeds: 'invoke',
  framing: 'aws',
  outputBound: 'max_tokens',
  takesStreamOptions: false,
  cancel: 'stop',
  // Amazon Bedrock pricing, "Batch": half; no document that we could read says that cached input costs less there.
  batches: {
    form: bedrockBatches,
    cachedInput: (name) => (IN_BATCHES.test(name) ? 'as input' : undefined),
    needs: 's3',
  },
  catalogue: { prices: 'aws', limits: 'amazon-bedrock' },
} satisfies Vendor
