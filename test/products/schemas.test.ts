/**
 * The input schema of a descriptor takes and refuses what the server does; a third party's validator checks it both
 * ways.
 */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { bodyOf, isObject, type Json, type JsonObject } from '../../src/core/json-body.ts'
import type { Model } from '../../src/core/model.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { decodeRunInputs } from '../../src/dialects/run-inputs.ts'
import { decodeRun } from '../../src/http/calls/media-calls.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { exampleOf } from '../../src/products/example.ts'
import { inputSchemaOf } from '../../src/products/schema.ts'
import { wrongBy } from './json-schema.ts'
import { catalogueOf, records } from './shop.ts'

const text = (least: number, most: number) =>
  fc.string({ unit: 'binary', minLength: least, maxLength: Math.min(most, least + 40) })

/** Values that a schema takes; texts with a pattern are those of the example. */
const taken = (schema: JsonObject, example: Json | undefined): fc.Arbitrary<Json> => {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options)) return fc.oneof(...options.filter(isObject).map((one) => taken(one, example)))
  switch (schema.type) {
    case 'string':
      return typeof schema.pattern === 'string'
        ? fc.constant(example ?? '')
        : text(Number(schema.minLength ?? 0), Number(schema.maxLength ?? 300)).filter(
            (one) => one.length <= Number(schema.maxLength ?? 300),
          )
    case 'integer': {
      const step = Number(schema.multipleOf ?? 1)
      const [low, high] = [Number(schema.minimum ?? 0), Number(schema.maximum ?? 1_000)]
      return fc.integer({ min: Math.ceil(low / step), max: Math.floor(high / step) }).map((one) => one * step)
    }
    case 'number':
      return fc.double({
        min: Number(schema.minimum ?? 0),
        max: Number(schema.maximum ?? 1_000),
        noNaN: true,
      })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(taken(isObject(schema.items) ? schema.items : {}, undefined), {
        minLength: Number(schema.minItems ?? 0),
        maxLength: Math.min(Number(schema.maxItems ?? 5), Number(schema.minItems ?? 0) + 5),
      })
    case 'object':
      return isObject(schema.properties) ? inputs(schema, {}) : fc.constant({})
    default:
      return fc.constant(example ?? 'x')
  }
}

const inputs = (schema: JsonObject, example: JsonObject): fc.Arbitrary<JsonObject> => {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const members = Object.fromEntries(
    Object.entries(properties)
      // Where a pattern has no text in the example, the member is left out.
      .filter(([name, one]) => isObject(one) && (one.pattern === undefined || example[name] !== undefined))
      .map(([name, one]) => [name, taken(one as JsonObject, example[name])]),
  )
  return fc.record(members, { requiredKeys: Object.keys(members).filter((name) => required.includes(name)) })
}

/** Values that may be anywhere by mistake. */
const anything = fc.constantFrom<Json>(
  true,
  '',
  'no such word',
  -1,
  0,
  1,
  1.5,
  1e12,
  [],
  ['x'],
  [1],
  {},
  { a: 1 },
)

/** Inputs with one member replaced, removed or added. */
const spoilt = (good: fc.Arbitrary<JsonObject>, schema: JsonObject): fc.Arbitrary<JsonObject> => {
  const names = [...Object.keys(isObject(schema.properties) ? schema.properties : {}), 'callback_url']
  return fc
    .tuple(good, fc.constantFrom(...names), fc.option(anything, { nil: undefined }))
    .map(([value, name, one]) => {
      const { [name]: _old, ...rest } = value
      return one === undefined ? rest : { ...rest, [name]: one }
    })
}

/** Whether the refusal is not only about a rule between inputs, which JSON Schema cannot express. */
const fitsFor =
  ({ inputs: checked }: MediaModel) =>
  (given: JsonObject): boolean => {
    const { error } = checked.safeParse(given)
    return error === undefined || error.issues.some(({ code }) => code !== 'custom')
  }

describe.each(records)('$id', ({ id, vendor, record }) => {
  const model = modelOf(vendor, record)
  const schema = inputSchemaOf(model)
  const good = inputs(schema, record.example)
  const agree = (given: JsonObject) => {
    const refused =
      decodeRun(bodyOf({ model: id, inputs: given }), () => model, new Headers()) instanceof Refusal
    expect([given, refused]).toEqual([given, wrongBy(schema, structuredClone(given)).length > 0])
  }

  test('inputs made from the schema, and such with a mistake', () => {
    const fits = fitsFor(record)
    fc.assert(fc.property(good.filter(fits), agree), { numRuns: 60 })
    fc.assert(fc.property(spoilt(good, schema).filter(fits), agree), { numRuns: 120 })
  })

  test('the example', () => agree(record.example))
})

const decoded = (model: Model, given: JsonObject) => decodeRunInputs(given, model)

const one = (id: string): Model => {
  const found = catalogueOf().find(id)
  if (found === undefined) throw new Error(id)
  return found
}

const hello = [{ role: 'user', content: 'hi' }]

describe.each([
  [
    'local/echo-1',
    { messages: hello },
    [
      { temperature: 0 },
      { temperature: 2 },
      { temperature: 2.1 },
      { temperature: -1 },
      { temperature: 'x' },
      { top_p: 1 },
      { top_p: 1.5 },
      { n: 1 },
      { n: 0 },
      { max_tokens: 1 },
      { max_tokens: 0 },
      { max_tokens: 1.5 },
      { stream: true },
      { stream: 'yes' },
      { messages: [] },
      { messages: 'hi' },
      { messages: undefined },
      { messages: [{ role: 'pirate', content: 'hi' }] },
      { messages: [{ content: 'hi' }] },
      { tools: 'x' },
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
      { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
    ],
  ],
  [
    'local/hash-embed-1',
    { input: 'hi' },
    [
      { input: ['a', 'b'] },
      { input: [] },
      { input: undefined },
      { input: 3 },
      { input: '' },
      { dimensions: 0 },
      { dimensions: 8 },
      { encoding_format: 'base64' },
      { encoding_format: 'hex' },
    ],
  ],
] as const)('%s', (id, usual, changes) => {
  const model = one(id)
  test.each(changes.map((change) => [JSON.stringify(change), change]))('%s', (_name, change) => {
    const given = JSON.parse(JSON.stringify({ ...usual, ...(change as object) })) as JsonObject
    const refused = decoded(model, given) instanceof Refusal
    expect(refused).toBe(wrongBy(inputSchemaOf(model), structuredClone(given)).length > 0)
  })
})

test('the example of chat and embeddings models is taken by both', () => {
  const others = catalogueOf()
    .list()
    .filter(({ kind }) => kind !== 'media')
  for (const model of others.filter((_model, at) => at % 40 === 0)) {
    const given = exampleOf(model)
    expect([model.id, wrongBy(inputSchemaOf(model), structuredClone(given))]).toEqual([model.id, []])
    expect(decoded(model, given) instanceof Refusal).toBe(false)
  }
})
