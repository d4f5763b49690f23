/** Messages, schemas of structured outputs: a part of JSON Schema. Source: Anthropic, "Structured outputs", JSON Schema limitations. */
import { isObject, type Json } from '../../core/json-body.ts'

/** Constraints that the vendor refuses; they become words in the description, which the model reads. */
const refused = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

/** The schema as this vendor takes it: objects are closed, and what the vendor cannot enforce is in descriptions. */
export const closedSchema = (schema: Json): Json => {
  if (!isObject(schema)) return schema
  const unenforced: string[] = []
  const kept: Record<string, Json | undefined> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (value === undefined) continue
    if (refused.has(name) || (name === 'minItems' && value !== 0 && value !== 1))
      unenforced.push(`${name}: ${JSON.stringify(value)}`)
    else kept[name] = inner(name, value)
  }
  if (kept.type === 'object' || isObject(kept.properties)) kept.additionalProperties = false
  if (unenforced.length > 0)
    kept.description = [schema.description, `{${unenforced.join(', ')}}`].filter(Boolean).join(' ')
  return kept
}

const inner = (name: string, value: Json): Json => {
  if (name === 'properties' || name === '$defs' || name === 'definitions') return eachOf(value)
  if (name === 'items') return closedSchema(value)
  return (name === 'anyOf' || name === 'allOf' || name === 'oneOf') && Array.isArray(value)
    ? value.map(closedSchema)
    : value
}

const eachOf = (schemas: Json): Json =>
  isObject(schemas)
    ? Object.fromEntries(
        Object.entries(schemas).map(([name, schema]): [string, Json] => [name, closedSchema(schema ?? {})]),
      )
    : schemas
