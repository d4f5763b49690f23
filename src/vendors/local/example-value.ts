/** The smallest value that fits a JSON schema, for structured output and tool arguments. Source: JSON Schema 2020-12, the usual keywords. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'

const DEPTH_MAX = 16
const ITEMS_MAX = 100
/** How many letters of the caller's text an example contains. */
const TEXT_MAX = 1_000
/** How many texts as long as each would use up what is left of their half. */
const TEXTS = 8
/** Letters in all examples of a call: a small schema can ask for more values than memory holds. */
const LETTERS_MAX = 16_384

/** The letters still available to the examples of one call, and the field that asks for them. */
type Allowance = { readonly field: string; letters: number }

export const newAllowance = (field: string): Allowance => ({ field, letters: LETTERS_MAX })

/**
 * A value for the schema; text members take `text`, so that answers show their question. Throws the Refusal of a schema
 * that asks for too much.
 */
export const exampleValue = (schema: Json | undefined, text: string, left: Allowance): Json =>
  exampleOf(schema, { text: text.slice(0, TEXT_MAX), left, depth: 0 })

type At = { readonly text: string; readonly left: Allowance; readonly depth: number }

const exampleOf = (schema: Json | undefined, at: At): Json => {
  const { text, left } = at
  if (!isObject(schema) || at.depth > DEPTH_MAX) return takeText(left, text)
  if (schema.const !== undefined) return take(left, schema.const)
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return take(left, schema.enum[0] ?? null)
  const choice = [schema.anyOf, schema.oneOf, schema.allOf].find(
    (list) => Array.isArray(list) && list.length > 0,
  )
  const below = { ...at, depth: at.depth + 1 }
  if (Array.isArray(choice)) return exampleOf(choice[0], below)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object':
      return exampleObject(schema, below)
    case 'array': {
      spend(left, 2)
      const least = typeof schema.minItems === 'number' ? Math.min(schema.minItems, ITEMS_MAX) : 1
      return Array.from({ length: least }, () => exampleOf(schema.items, below))
    }
    case 'integer':
    case 'number':
      return take(left, typeof schema.minimum === 'number' ? schema.minimum : 1)
    case 'boolean':
      return take(left, true)
    case 'null':
      return take(left, null)
    default:
      return isObject(schema.properties) ? exampleObject(schema, below) : takeText(left, text)
  }
}

const exampleObject = (schema: JsonObject, below: At): Json => {
  spend(below.left, 2)
  if (!isObject(schema.properties)) return {}
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => {
      spend(below.left, name.length)
      return [name, exampleOf(member, below)]
    }),
  )
}

/** The value, if there is room for it. */
const take = (left: Allowance, value: Json): Json => {
  spend(left, typeof value === 'string' ? value.length + 2 : JSON.stringify(value).length)
  return value
}

/** Texts become shorter where many are asked for: agents send tools with hundreds of members. */
const takeText = (left: Allowance, text: string): Json =>
  take(left, text.slice(0, Math.max(0, Math.trunc((left.letters - LETTERS_MAX / 2) / TEXTS))))

const spend = (left: Allowance, letters: number): void => {
  left.letters -= letters
  if (left.letters < 0)
    throw invalid(
      left.field,
      `'${left.field}' asks for a value of over ${LETTERS_MAX} letters; the built-in model takes smaller schemas.`,
    )
}
