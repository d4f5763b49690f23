/**
 * Members that may be spelled in camel case or with underscores, as in the JSON of protocol buffers; both mean one
 * member.
 */
import type { Json, JsonObject } from '../../core/json-body.ts'

export const camelCase = (name: string): string =>
  name.includes('_') ? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name

/** The member with that camel-case name, in whichever spelling it is present. */
export const member = (object: JsonObject, name: string): Json | undefined =>
  object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
