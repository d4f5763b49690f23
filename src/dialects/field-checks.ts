/** Checks of body members, each answering with the refusal that names the member and what is allowed. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { invalid, type Refusal } from '../core/refusal.ts'

/** A check looks at one present, non-null member. */
export type Check = (value: Json, name: string) => Refusal | undefined

export const numberIn =
  (low: number, high: number): Check =>
  (value, name) =>
    typeof value === 'number' && value >= low && value <= high
      ? undefined
      : invalid(name, `'${name}' must be a number from ${low} to ${high}.`)

export const integerIn =
  (low: number, high: number): Check =>
  (value, name) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= low && value <= high
      ? undefined
      : invalid(
          name,
          high === Number.MAX_SAFE_INTEGER
            ? `'${name}' must be an integer of at least ${low}.`
            : `'${name}' must be an integer from ${low} to ${high}.`,
        )

export const isBoolean: Check = (value, name) =>
  typeof value === 'boolean' ? undefined : invalid(name, `'${name}' must be true or false.`)

export const isText: Check = (value, name) =>
  typeof value === 'string' ? undefined : invalid(name, `'${name}' must be a string.`)

export const isRecord: Check = (value, name) =>
  isObject(value) ? undefined : invalid(name, `'${name}' must be an object.`)

export const oneOf =
  (...allowed: readonly string[]): Check =>
  (value, name) =>
    typeof value === 'string' && allowed.includes(value)
      ? undefined
      : invalid(name, `'${name}' must be one of ${allowed.map((word) => `'${word}'`).join(', ')}.`)

export const listOf =
  (each: Check): Check =>
  (value, name) => {
    if (!Array.isArray(value)) return invalid(name, `'${name}' must be a list.`)
    for (const [index, item] of value.entries()) {
      const refusal = each(item, `${name}[${index}]`)
      if (refusal) return refusal
    }
    return undefined
  }

/** An object whose named member is a non-empty string, such as a tool's function. */
export const named =
  (member: string): Check =>
  (value, name) =>
    isObject(value) && typeof value[member] === 'string' && value[member] !== ''
      ? undefined
      : invalid(`${name}.${member}`, `'${name}' must be an object with a non-empty string '${member}'.`)

/** Names that have no case to fold: nearly all, so that they cost no new texts. */
const FOLDED = /^[a-z0-9_]*$/

/** A name as readers see it that do not look at its case. */
export const foldedName = (name: string): string =>
  FOLDED.test(name) ? name : name.toUpperCase().toLowerCase()

const alwaysRead: readonly string[] = ['model', 'messages']

/** Some vendors' readers do not look at the case of names: `Max_Tokens` would bound there what `max_tokens` bounds here. */
const checkCase = (body: JsonObject, checks: Readonly<Record<string, Check>>): Refusal | undefined => {
  for (const name of Object.keys(body)) {
    const folded = foldedName(name)
    if (folded === name || Object.hasOwn(checks, name)) continue
    if (Object.hasOwn(checks, folded) || alwaysRead.includes(folded))
      return invalid(name, `'${name}' is written '${folded}'.`)
  }
  return undefined
}

/** Runs the checks whose member is present; null counts as absent, as the official clients send it. */
export const checkMembers = (
  body: JsonObject,
  checks: Readonly<Record<string, Check>>,
): Refusal | undefined => {
  const misspelt = checkCase(body, checks)
  if (misspelt) return misspelt
  for (const name in checks) {
    const value = body[name]
    if (value === undefined || value === null) continue
    const refusal = checks[name]?.(value, name)
    if (refusal) return refusal
  }
  return undefined
}

/** The member `model`, required in every dialect that carries it in the body. */
export const modelNameOf = (body: JsonObject): string | Refusal =>
  typeof body.model === 'string' && body.model !== ''
    ? body.model
    : invalid(
        'model',
        "'model' is required: a string such as 'openai/gpt-4o-mini'; GET /v1/models lists them.",
      )
