/** Chat completions, strict schemas: every object is closed and requires all its members. Source: OpenAI, "Structured model outputs". */
import { isObject, type Json } from '../../core/json-body.ts'

/** `strict` as requested, or false if a strict schema of another dialect would be refused here. */
export const strictIfItFits = (strict: boolean | undefined, schema: Json | undefined): boolean | undefined =>
  strict === true && !fits(schema) ? false : strict

const fits = (schema: Json | undefined): boolean => {
  if (Array.isArray(schema)) return schema.every(fits)
  if (!isObject(schema)) return true
  if (isObject(schema.properties) || schema.type === 'object') {
    const names = Object.keys(isObject(schema.properties) ? schema.properties : {})
    const required = Array.isArray(schema.required) ? schema.required : []
    if (schema.additionalProperties !== false || !names.every((name) => required.includes(name))) return false
  }
  return Object.values(schema).every(fits)
}
