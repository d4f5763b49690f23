/**
 * Amazon Bedrock: speaks Converse at a region's address, with signed requests or a Bedrock API key.
 * Source: Amazon Bedrock API reference, "Converse".
 */
import type { Vendor } from './vendor.ts'

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
  catalogue: { prices: 'aws', limits: 'amazon-bedrock' },
} satisfies Vendor
