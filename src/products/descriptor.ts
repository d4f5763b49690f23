/**
 * The descriptor of a product: everything an agent needs in order to call it, made from the record that validates and
 * prices it.
 */
import type { JsonObject } from '../core/json-body.ts'
import { usdNumber } from '../core/money.ts'
import { WALLET_MINIMUM } from '../ledger/lend.ts'
import { capabilitiesOf } from './capabilities.ts'
import { BEARER, curlOf, endpointOf } from './example.ts'
import type { Place } from './place.ts'
import { pricingOf } from './price.ts'
import { inputSchemaOf } from './schema.ts'
import type { Item, Shelf } from './shelf.ts'

const SPEC_VERSION = '1.0'
const ATTEMPTS = 3

/** A path with each of its segments encoded; the slashes of ids stay. */
const pathOf = (id: string): string => id.split('/').map(encodeURIComponent).join('/')

export const contextUrl = ({ base }: Place): string => `${base}/products/context.jsonld`
export const humanUrl = ({ model }: Item, { base }: Place): string => `${base}/products/${pathOf(model.id)}`
export const descriptorUrl = (item: Item, place: Place): string => `${humanUrl(item, place)}/product.json`

/** A product's entry in a list. */
export const summaryOf = (item: Item, place: Place) => ({
  id: item.model.id,
  slug: item.slug,
  name: item.name,
  category: item.category,
  vendor: item.model.vendor,
  description: item.description,
  pricing: pricingOf(item.model),
  capabilities: capabilitiesOf(item.model),
  mcp_tool_name: item.tool,
  human_url: humanUrl(item, place),
  product_json_url: descriptorUrl(item, place),
})

const protocolsOf = ({ model }: Item, place: Place) => ({
  service_wallet: {
    supported: true,
    default: true,
    min_balance_usd: usdNumber(WALLET_MINIMUM),
    reason: 'The wallet of the key pays: the most a call can cost is held, what it cost is charged.',
  },
  x402: {
    supported: place.x402,
    preferred: false,
    reason: place.x402
      ? `Without a key: the first answer quotes the price, and the call is sent again with its payment. The same answer has challenges of the HTTP scheme Payment (MPP)${place.cardsByCall ? ', by the method stripe too: a card pays at least $0.50, and the rest is change' : ''}.`
      : 'This server takes no payments call by call.',
    header: 'X-Payment-Protocol: x402',
    quote_response_code: 402,
    example_curl: curlOf(model, place, "'X-Payment-Protocol: x402'"),
  },
  mpp: {
    supported: true,
    preferred: false,
    reason:
      'Post-paid: for keys whose account has a credit line; months are billed. It is not the HTTP scheme Payment, which others call MPP too: that needs no key, and is beside x402.',
    header: 'X-Payment-Protocol: mpp',
    example_curl: curlOf(model, place, `${BEARER} -H 'X-Payment-Protocol: mpp'`),
  },
})

/** The whole descriptor. */
export const descriptorOf = ({ madeAt }: Pick<Shelf, 'madeAt'>, item: Item, place: Place) => ({
  '@context': contextUrl(place),
  '@type': 'Product',
  spec_version: SPEC_VERSION,
  ...summaryOf(item, place),
  endpoint: endpointOf(place),
  auth: { type: 'bearer', header: 'Authorization' },
  // True for calls with an Idempotency-Key: however often such a call is sent, it is charged once.
  retry_policy: {
    idempotent: true,
    safe_to_retry: true,
    max_attempts: ATTEMPTS,
    header: 'Idempotency-Key',
    reason: 'Send the same Idempotency-Key with each attempt: the run is charged once.',
  },
  payment_protocols: protocolsOf(item, place),
  example_curl: curlOf(item.model, place, BEARER),
  input_schema: inputSchemaOf(item.model),
  output_schema: place.answers(item.model.kind),
  funding_url: `${place.base}/funding`,
  generated_at: madeAt,
})

const json = (id: string) => ({ '@id': id, '@type': '@json' })
const link = (id: string) => ({ '@id': id, '@type': '@id' })

/** The vocabulary of descriptors: schema.org's word if there is one, else this server's own. */
export const contextOf = (place: Place): JsonObject => ({
  '@context': {
    '@version': 1.1,
    schema: 'https://schema.org/',
    own: `${contextUrl(place)}#`,
    Product: 'schema:Product',
    Offer: 'schema:Offer',
    product_json_url: '@id',
    spec_version: 'own:spec_version',
    id: 'schema:sku',
    slug: 'schema:alternateName',
    name: 'schema:name',
    category: 'schema:category',
    vendor: 'schema:brand',
    description: 'schema:description',
    pricing: {
      '@id': 'schema:offers',
      '@context': {
        currency: 'schema:priceCurrency',
        unit: 'schema:unitText',
        per_unit_usd: 'schema:price',
        per_1m_input_usd: 'own:per_1m_input_usd',
        per_1m_output_usd: 'own:per_1m_output_usd',
        rows: json('own:rows'),
        max_usd: 'own:max_usd',
        version: 'schema:version',
      },
    },
    endpoint: link('own:endpoint'),
    auth: json('own:auth'),
    retry_policy: json('own:retry_policy'),
    capabilities: { '@id': 'schema:keywords', '@container': '@set' },
    payment_protocols: json('own:payment_protocols'),
    example_curl: 'own:example_curl',
    input_schema: json('own:input_schema'),
    output_schema: json('own:output_schema'),
    mcp_tool_name: 'own:mcp_tool_name',
    human_url: link('schema:url'),
    funding_url: link('own:funding_url'),
    generated_at: 'schema:dateModified',
  },
})
