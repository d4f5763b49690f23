/** Makes inputs from a product's own schema, and inputs near to it, for the laws of records. */
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../src/core/json-body.ts'
import type { MediaModel } from '../src/media/product.ts'

/** The same numbers in each run. */
export const numbersFrom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

type Random = () => number
type Schema = Readonly<Record<string, Json | undefined>>

const schemaOf = (value: Json | undefined): Schema => (isObject(value) ? value : {})
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const pick = <T>(list: readonly T[], random: Random): T => list[Math.floor(random() * list.length)] as T

const numberBy = (schema: Schema, random: Random): number => {
  const least = Number(schema.minimum ?? 0)
  const step = Number(schema.multipleOf ?? (schema.type === 'integer' ? 1 : 0.01))
  const steps = Math.floor((Number(schema.maximum ?? least + 1_000) - least) / step)
  return Number((least + Math.floor(random() * (steps + 1)) * step).toFixed(6))
}

const textBy = (schema: Schema, random: Random): string => {
  const kind = schema['x-media']
  if (typeof kind === 'string') return `https://example.com/${Math.floor(random() * 100)}`
  const letters = Math.min(
    Number(schema.maxLength ?? 100),
    Number(schema.minLength ?? 1) + Math.floor(random() * 200),
  )
  return 'añ狐🦊'.repeat(letters).slice(0, letters)
}

const valueBy = (schema: Schema, example: Json | undefined, random: Random): Json | undefined => {
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return pick(schema.enum, random)
  const choices = listOf(schema.anyOf ?? schema.oneOf)
  if (choices.length > 0) return valueBy(schemaOf(pick(choices, random)), undefined, random)
  // A text that only a pattern describes comes from the example.
  if (typeof schema.pattern === 'string' && example !== undefined) return example
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numberBy(schema, random)
    case 'boolean':
      return random() < 0.5
    case 'array': {
      const count = Number(schema.minItems ?? 0) + Math.floor(random() * 3)
      return Array.from({ length: count }, () => valueBy(schemaOf(schema.items), undefined, random) ?? null)
    }
    case 'object':
      return objectBy(schema, isObject(example) ? example : {}, random)
    default:
      return typeof schema.pattern === 'string' && schema['x-media'] === undefined
        ? undefined
        : textBy(schema, random)
  }
}

/** Of optional members some are left out. */
const objectBy = (schema: Schema, example: JsonObject, random: Random): JsonObject => {
  const required = listOf(schema.required)
  const entries = Object.entries(schemaOf(schema.properties))
  return Object.fromEntries(
    entries.flatMap(([name, of]) => {
      if (!required.includes(name) && random() < 0.5) return []
      const value = valueBy(schemaOf(of), example[name], random)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

type Record_ = Pick<MediaModel, 'inputs' | 'example'>

/** The schema that callers see. */
export const writtenSchema = ({ inputs }: Record_): Schema =>
  z.toJSONSchema(inputs, { io: 'input' }) as unknown as Schema

/** Inputs as the schema describes them. */
export const inputsBy = (record: Record_, random: Random): JsonObject =>
  objectBy(writtenSchema(record), record.example, random)

const WRONG: readonly Json[] = [null, true, -1, 1.5, 1e9, '', 'x', [], {}, ['x'], { x: 1 }]

/** The same with one thing wrong, or at least changed: a member dropped, added, or of another kind, at any depth. */
export const spoilt = (value: Json, random: Random): Json => {
  if (Array.isArray(value) && value.length > 0 && random() < 0.7)
    return value.map((one, index) => (index === 0 ? spoilt(one, random) : one))
  if (!isObject(value)) return pick(WRONG, random)
  const names = Object.keys(value)
  if (names.length === 0 || random() < 0.25) return { ...value, callback_url: 'https://example.com/' }
  const name = pick(names, random)
  const { [name]: one, ...rest } = value
  return random() < 0.3 ? rest : { ...rest, [name]: spoilt(one ?? null, random) }
}
