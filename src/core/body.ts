/**
 * Request bodies as schemas: parsed once into types and published in the API reference. Wrong members are refused by
 * name.
 */
import { z } from 'zod'
import type { Json, JsonObject } from './json-body.ts'
import { type Nano, nanoFromDecimal, nanoFromNumber } from './money.ts'
import { invalid, Refusal } from './refusal.ts'
import { HARMLESS } from './storable.ts'

type Issue = z.core.$ZodIssue

const kinds: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** What is said where a schema has no message of its own; a schema's message goes before it. */
const inWords = (issue: z.core.$ZodRawIssue): string => {
  if (issue.code === 'unrecognized_keys') return 'is not taken here'
  if (issue.code !== 'invalid_type') return 'has a value that is not taken here'
  return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? 'of another type'}`
}

/**
 * Reads a body. A schema's message follows the name of its member (`must be …`). `otherwise` may return another refusal
 * for the wrong members it is given.
 */
export const readAs = <T, Other = never>(
  schema: z.ZodType<T>,
  body: JsonObject,
  otherwise: (wrong: ReadonlySet<string>) => Other | undefined = () => undefined,
): T | Refusal | Other => {
  const read = schema.safeParse(body, { error: inWords })
  if (read.success) return read.data
  const { issues } = read.error
  return otherwise(new Set(issues.map(({ path }) => String(path[0] ?? '')))) ?? refusalOf(issues)
}

/** An unknown member is reported first: it may be a misspelling of the one that seems to be missing. */
const refusalOf = (issues: readonly Issue[]): Refusal => {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (issue === undefined) return invalid('body', 'The body cannot be read.')
  if (issue.code === 'custom' && issue.params?.refusal instanceof Refusal) return issue.params.refusal
  const stranger = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const param = [...issue.path, ...stranger].join('.')
  return invalid(param, `'${param}' ${issue.message}.`)
}

/** An amount of USD; anything else is refused with the message `what`. */
export const usd = (what: string) =>
  z.number(what).transform((value, context): Nano => {
    const amount = nanoFromNumber(value)
    if (amount !== undefined) return amount
    context.issues.push({ code: 'custom', message: what, input: value })
    return z.NEVER
  })

/** The same, or its decimal text, in which no digit is lost. */
export const amount = (what: string) =>
  z.union([z.number(), z.string()], what).transform((value, context): Nano => {
    const read = typeof value === 'number' ? nanoFromNumber(value) : nanoFromDecimal(value)
    if (read !== undefined) return read
    context.issues.push({ code: 'custom', message: what, input: value })
    return z.NEVER
  })

/** A whole number from `least` to `most`, both included. */
export const whole = (least: number, most: number, what: string) =>
  z.int(what).min(least, what).max(most, what)

/** A text of limited length, counted in characters. */
export const text = (least: number, most: number, what: string) =>
  z.string(what).min(least, what).max(most, what)

/** A text that people read in lists, letters and logs, where it must not pass for something else. */
export const readable = (given: z.ZodString) =>
  given.regex(
    HARMLESS,
    'must be one line of text, without control characters and marks that turn its direction',
  )

/** The same of limited length. */
export const line = (least: number, most: number, what: string) => readable(text(least, most, what))

/** The schema of an object, under its name in the reference; other members are dropped. */
export const namedObject = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id })

/** The same, where other members are kept. */
export const namedLoose = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.looseObject(shape).meta({ id })

/** The same, where other members are refused. */
export const namedStrict = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.strictObject(shape).meta({ id })

/** A value read by a function that has its own refusals; `shown` is its schema in the reference. */
export const readBy = <T>(read: (value: Json) => T | Refusal, shown: object) =>
  z
    .unknown()
    .transform((value, context): T => {
      // It stands in a body, so it is JSON.
      const result = read(value as Json)
      if (!(result instanceof Refusal)) return result
      context.issues.push({
        code: 'custom',
        message: result.message,
        input: value,
        params: { refusal: result },
      })
      return z.NEVER
    })
    .meta({ ...shown })

/** The message about members that a body does not take. */
export const strangers = (what: string) => (issue: { readonly code?: string }) =>
  issue.code === 'unrecognized_keys' ? what : undefined
