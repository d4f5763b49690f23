/** Reads requests strictly, as the vendors do: it refuses members by name that are not in their reference. */
import { isObject, type Json, type JsonObject } from '../../../src/core/json-body.ts'
import { need } from './script.ts'

/** The value as an object with no other members than these. */
export const objectWith = (
  value: Json | undefined,
  at: string,
  members: readonly string[],
  refuse: (name: string, at: string) => string,
): JsonObject => {
  need(isObject(value), `${at}: must be an object`)
  for (const name of Object.keys(value)) need(members.includes(name), refuse(name, at))
  return value
}

export const listAt = (value: Json | undefined, at: string): readonly Json[] => {
  need(Array.isArray(value), `${at}: must be a list`)
  return value
}

export const textAt = (value: Json | undefined, at: string): string => {
  need(typeof value === 'string', `${at}: must be a string`)
  return value
}

/** Every object schema inside a schema. */
export const objectSchemas = (schema: Json | undefined): readonly JsonObject[] => {
  if (Array.isArray(schema)) return schema.flatMap((one) => objectSchemas(one))
  if (!isObject(schema)) return []
  const inner = Object.values(schema).flatMap((one) => objectSchemas(one))
  return schema.type === 'object' || isObject(schema.properties) ? [schema, ...inner] : inner
}

/** OpenAI's strict schemas close every object and require all its members. */
export const checkStrict = (schema: Json | undefined, what: string): void => {
  for (const one of objectSchemas(schema)) {
    need(
      one.additionalProperties === false,
      `Invalid schema for ${what}: 'additionalProperties' must be false.`,
    )
    const names = Object.keys(isObject(one.properties) ? one.properties : {})
    const required = Array.isArray(one.required) ? one.required : []
    need(
      names.every((name) => required.includes(name)),
      `Invalid schema for ${what}: 'required' must hold every key.`,
    )
  }
}
