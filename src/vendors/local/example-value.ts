/** The smallest value that fits a JSON schema, for structured output and tool arguments. Source: JSON Schema 2020-12, the usual keywords. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'

const DEPTH_MAX = 16

/** A value for the schema; text members take `text`, so that answers show what they were asked. */
export const exampleValue = (schema: Json | undefined, text: string, depth = 0): Json => {
  if (!isObject(schema) || depth > DEPTH_MAX) return text
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] ?? null
  const choice = [schema.anyOf, schema.oneOf, schema.allOf].find(
    (list) => Array.isArray(list) && list.length > 0,
  )
  if (Array.isArray(choice)) return exampleValue(choice[0], text, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object':
      return exampleObject(schema, text, depth)
    case 'array': {
      const least = typeof schema.minItems === 'number' ? Math.min(schema.minItems, 100) : 1
      return Array.from({ length: least }, () => exampleValue(schema.items, text, depth + 1))
    }
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return isObject(schema.properties) ? exampleObject(schema, text, depth) : text
  }
}

const exampleObject = (schema: JsonObject, text: string, depth: number): Json => {
  if (!isObject(schema.properties)) return {}
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => [name, exampleValue(member, text, depth + 1)]),
  )
}
