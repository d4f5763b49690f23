/** Members that may be spelled in camel case or with underscores, as in JSON of protocol buffers: both are one member. */
import type { Json, JsonObject } from '../core/json-body.ts'

export const camelCase = (name: string): string =>
  name.includes('_') ? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name

/** The member of that name in camel case, in whichever spelling it is there. */
export const member = (object: JsonObject, name: string): Json | undefined =>
  object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]
