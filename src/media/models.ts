/** Turns the records of a vendor's products into models for the catalogue. */
import { z } from 'zod'
import { isObject, type JsonObject } from '../core/json-body.ts'
import type { MediaInput, Model, Price, UnitPrices } from '../core/model.ts'
import { Refusal } from '../core/refusal.ts'
import { readInputs } from './inputs.ts'
import type { MediaModel } from './product.ts'
import { askedUnits, mostUnits, ratesFor, ratesOf } from './rate-card.ts'

/** The model of a record, at the vendor's own prices; `price` is that of the example. */
export const modelOf = (vendor: string, record: MediaModel): Model => {
  const { card, category, description, ends, name, source, title } = record
  const at = (rates: UnitPrices): Price => ({ rates, tiers: [], version: source })
  const price = (inputs: MediaModel['example']) => at(ratesFor(card, inputs))
  const example = record.inputs.parse(record.example)
  return {
    id: `${vendor}/${name}`,
    vendor,
    upstreamName: record.upstreamName ?? name,
    kind: 'media',
    price: price(example as MediaModel['example']),
    contextTokens: 0,
    maxOutputTokens: 0,
    capabilities: [],
    imageTokensMax: 0,
    ...(ends === undefined ? {} : { endsAt: Date.parse(ends) }),
    product: {
      category,
      title,
      description,
      inputs: Object.keys(record.inputs.shape),
      media: mediaInputs(record.inputs),
      schema: () => schemaOf(record.inputs),
      example: record.example,
      rows: card.rows.map((row) => ({ when: row.when ?? {}, price: at(ratesOf(row)) })),
      flow: record.shape.flow,
      price: (given) => {
        const inputs = readInputs(record, given)
        if (inputs instanceof Refusal) return inputs
        const asked = askedUnits(card, inputs)
        const priced = { inputs, price: price(inputs), most: mostUnits(card, inputs) }
        return asked === undefined ? priced : { ...priced, asked }
      },
    },
  }
}

/** What callers may send: inputs with defaults may be left out. */
const schemaOf = (inputs: MediaModel['inputs']): JsonObject => {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(inputs, { io: 'input' })
  return schema as JsonObject
}

/** The inputs that are marked `x-media`, on themselves or on the items of their list. */
const mediaInputs = (inputs: MediaModel['inputs']): readonly MediaInput[] => {
  const { properties } = schemaOf(inputs)
  return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, of]): MediaInput[] => {
    const each = isObject(of) && isObject(of.items) ? of.items : undefined
    const marked = each ?? of
    const schema = inputs.shape[name]
    const types = isObject(marked) ? marked['x-media'] : undefined
    if (schema === undefined || typeof types !== 'string') return []
    const takes = (address: string) => z.safeParse(schema, each === undefined ? address : [address]).success
    return [{ name, types, list: each !== undefined, takes }]
  })
}
