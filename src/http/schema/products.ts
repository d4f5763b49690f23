/** What the products' addresses answer, for the API reference and the tests. */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'

const some = z.looseObject({})

const pricing = z.object({
  '@type': z.literal('Offer'),
  currency: z.literal('USD'),
  unit: z.string().describe('token, or the unit that calls are counted in'),
  per_1m_input_usd: z.number().describe('0 where no tokens are billed'),
  per_1m_output_usd: z.number().describe('0 where no tokens are billed'),
  per_unit_usd: z.number(),
  rows: z
    .array(
      z.object({
        when: some
          .optional()
          .describe('Inputs, each with the value that it must have, or a list of such values'),
        above_input_tokens: z.int().optional(),
        rates: z.record(z.string(), z.string()).describe('USD for one of each unit, as exact decimal texts'),
      }),
    )
    .describe('The first one that holds prices a call'),
  max_usd: z.number().describe('What is held for the example: the most it can cost'),
  version: z.string(),
})

const summary = {
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  category: z.string(),
  vendor: z.string(),
  description: z.string(),
  pricing,
  capabilities: z.array(z.string()),
  mcp_tool_name: z.string(),
  human_url: z.string(),
  product_json_url: z.string(),
}

const protocol = { supported: z.boolean(), reason: z.string() }
const other = { ...protocol, preferred: z.boolean(), header: z.string(), example_curl: z.string() }

export const productDescriptor = namedObject('ProductDescriptor', {
  '@context': z.string(),
  '@type': z.literal('Product'),
  spec_version: z.string(),
  ...summary,
  endpoint: z.string(),
  auth: z.object({ type: z.literal('bearer'), header: z.literal('Authorization') }),
  retry_policy: z.object({
    idempotent: z.boolean(),
    safe_to_retry: z.boolean(),
    max_attempts: z.int(),
    header: z.string(),
    reason: z.string(),
  }),
  payment_protocols: z.object({
    service_wallet: z.object({ ...protocol, default: z.boolean(), min_balance_usd: z.number() }),
    x402: z.object({ ...other, quote_response_code: z.literal(402) }),
    mpp: z.object(other),
  }),
  example_curl: z.string().describe('For a POSIX shell, with the key in TURNPIKE_KEY'),
  input_schema: some.describe('JSON Schema of `inputs`'),
  output_schema: some.describe('JSON Schema of the answer'),
  funding_url: z.string(),
  generated_at: z.string().describe('ISO 8601'),
})

export const productList = namedObject('ProductList', {
  '@context': z.string(),
  object: z.literal('list'),
  data: z.array(z.object(summary)),
  total: z.int(),
  next: z.string().nullable(),
  previous: z.string().nullable(),
  categories: z.record(z.string(), z.int()),
  vendors: z.record(z.string(), z.int()),
})

export const productContext = namedLoose('ProductContext', { '@context': some })

export const page = z.string().meta({ id: 'Page', description: 'HTML without script.' })

export const plainText = z.string().meta({ id: 'PlainText' })

export const openApiDocument = namedLoose('OpenApi', { openapi: z.string(), paths: some })
