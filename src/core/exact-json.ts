/**
 * JSON whose numbers keep their digits. A number of JSON may have more of them than a double (RFC 8259, section 6):
 * `12345678901234567890` would become `12345678901234567000`. Such a number is kept as its text, which `JSON.stringify`
 * writes as it was (ECMAScript, JSON.rawJSON). Only values that nobody computes with are kept so: arguments of tools,
 * their results and schemas.
 */
import { isObject, type Json, type JsonBody, type JsonObject, parseJson } from './json-body.ts'

type Source = { readonly source?: string }

/** A text without this has no number that a double cannot hold: 16 digits or more, or a large exponent. */
const MAY_LOSE = /(?:^|[[:,])\s*-?(?:\d[\d.]{15}|\d[\d.]*[eE]\+?\d{3})/

const keepNumber = (_name: string, value: unknown, { source = '' }: Source): unknown =>
  typeof value === 'number' && String(value) !== source && MAY_LOSE.test(source)
    ? JSON.rawJSON(source)
    : value

const parseKeeping = (text: string): Json => JSON.parse(text, keepNumber as Parameters<typeof JSON.parse>[1])

/** Parses one JSON text with all its digits; undefined when it is not JSON. */
export const parseExact = (text: string): Json | undefined => {
  const value = parseJson(text)
  return value !== undefined && MAY_LOSE.test(text) ? parseKeeping(text) : value
}

/** Members whose values are a tool's own, in the dialects of callers and vendors. */
const OWN = new Set([
  'args',
  'arguments',
  'format',
  'input',
  'inputSchema',
  'input_schema',
  'json',
  'json_schema',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
  'responseSchema',
  'response_schema',
  'result',
  'schema',
])

/** The value of that text, in which the values of tools keep their digits; everything else stays what it was. */
export const withDigits = (text: string, value: JsonObject): JsonObject =>
  MAY_LOSE.test(text) ? mixed(value, parseKeeping(text)) : value

const decoder = new TextDecoder()

/** The value of a body, in which the values of tools keep their digits. */
export const exactValue = ({ bytes, text, value }: JsonBody): JsonObject =>
  withDigits(text ?? decoder.decode(bytes), value)

const mixed = (value: JsonObject, exact: Json | undefined): JsonObject =>
  isObject(exact)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          OWN.has(name) ? exact[name] : either(member, exact[name]),
        ]),
      )
    : value

const either = (value: Json | undefined, exact: Json | undefined): Json | undefined => {
  if (Array.isArray(value)) {
    const list = Array.isArray(exact) ? exact : []
    return value.map((one, at) => either(one, list[at]) ?? null)
  }
  return isObject(value) ? mixed(value, exact) : value
}
