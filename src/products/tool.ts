/** Products as tools of agents: the same names, schemas and prices as in their descriptors. */
import { isObject, type JsonObject } from '../core/json-body.ts'
import { metaTools } from './meta-tools.ts'
import type { Place } from './place.ts'
import { decimal, priceText, pricingOf } from './price.ts'
import { inputSchemaOf } from './schema.ts'
import type { Item } from './shelf.ts'

export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject & { readonly type: 'object' }
  readonly outputSchema?: JsonObject & { readonly type: 'object' }
  readonly annotations: { readonly readOnlyHint: boolean; readonly openWorldHint: boolean }
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** Tools answer whole; streams are for the other addresses. */
const withoutStream = (schema: JsonObject): JsonObject => {
  if (!isObject(schema.properties)) return schema
  const { stream: _stream, stream_options: _options, ...properties } = schema.properties
  return { ...schema, properties }
}

/** An answer, or what replaces it: clients check errors against the same schema. */
const orError = (answer: JsonObject): JsonObject & { readonly type: 'object' } => ({
  type: 'object',
  anyOf: [answer, { type: 'object', required: ['error'] }],
})

/** `priced` is whether the caller is told prices. */
export const toolOf = (item: Item, place: Place, priced = true): Tool => {
  const { model, tool, name, description } = item
  const pricing = pricingOf(model)
  const costs = `${priceText(pricing)}; the example costs at most ${decimal(pricing.max_usd)} USD.`
  return {
    name: tool,
    title: name,
    description: priced ? `${description} ${costs}` : description,
    inputSchema: { ...withoutStream(inputSchemaOf(model)), type: 'object' },
    // A job that has not ended answers something else than its results.
    ...(model.product?.flow === 'job' ? {} : { outputSchema: orError(place.answers(model.kind)) }),
    annotations: { readOnlyHint: false, openWorldHint: true },
    _meta: { 'turnpike/product': model.id, ...(priced ? { 'turnpike/pricing': pricing } : {}) },
  }
}

export const metaToolList: readonly Tool[] = metaTools.map(
  ({ name, title, description, inputSchema, reads }) => ({
    name,
    title,
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    annotations: { readOnlyHint: reads, openWorldHint: false },
  }),
)
