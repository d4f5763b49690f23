/** Converts this dialect's own schemas to JSON Schema. Source of the format: Gemini API reference, "Schema". */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'

/** Types are in capitals and `nullable` is a member; everything else has the same name. */
export const jsonSchemaOf = (schema: Json | undefined): Json | undefined => {
  if (!isObject(schema)) return schema
  const { nullable, ...rest } = schema
  const written: Record<string, Json | undefined> = {}
  for (const [name, value] of Object.entries(rest)) written[name] = memberOf(name, value)
  if (nullable === true && typeof written.type === 'string') written.type = [written.type, 'null']
  return written
}

const memberOf = (name: string, value: Json | undefined): Json | undefined => {
  if (name === 'type') return typeof value === 'string' ? value.toLowerCase() : value
  if (name === 'items') return jsonSchemaOf(value)
  if (name === 'properties' && isObject(value)) return mapped(value)
  if (name === 'anyOf' && Array.isArray(value)) return value.map((one) => jsonSchemaOf(one) ?? {})
  // Bounds may come as strings, like all 64-bit integers in this JSON.
  if (/^m(?:in|ax)(?:Items|Length|Properties)$/.test(name) && typeof value === 'string') return Number(value)
  return value
}

const mapped = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, jsonSchemaOf(schema)]))
