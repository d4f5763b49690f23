/**
 * What a value of a request may be: the smallest shapes, from which the description of a request is built (request.ts).
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import type { Findings } from './findings.ts'

/** A sentence of a refusal about a value; `name` is its place in the request, such as `messages[0].role`. */
export type Sentence = (name: string) => string

/** What is wrong with a value. Its place is built on the way up, so that valid requests build no texts. */
export class Wrong {
  #place = ''
  #alone: string | undefined
  readonly #say: Sentence
  readonly #member: string

  /** `member` is what the refusal names, below the place in the sentence. */
  constructor(say: Sentence, member = '') {
    this.#say = say
    this.#member = member
  }

  /** The same, from the object or list that contains the value. */
  under(name: string): this {
    this.#place =
      this.#place === '' || this.#place.startsWith('[') ? name + this.#place : `${name}.${this.#place}`
    return this
  }

  /** The same, but its refusal names only this, wherever it is. */
  alone(name: string): this {
    this.#alone = name
    return this
  }

  refusal(): Refusal {
    return invalid(this.#alone ?? this.#place + this.#member, this.#say(this.#place))
  }
}

/** Names of ignored members, by their place. */
export type IgnoredNames = Map<string, Set<string>>

/** What a value may be. A shape without a check accepts anything. */
export type Shape<T = unknown> = {
  /** Checks a value that is present and not null. */
  readonly check?: (value: Json, found: Findings) => Wrong | undefined
  /** Its JSON Schema; absent for a member that we do not offer. */
  readonly schema?: JsonObject
  /** Adds the members inside the value that are ignored for other dialects. */
  readonly addIgnored?: (value: Json, names: IgnoredNames) => void
  /** Never present: it carries the type of values that passed the check. */
  readonly of?: T
}

/** A shape from a test, and the sentence for values that fail it. */
export const such = <T>(fits: (value: Json) => boolean, say: Sentence, schema: JsonObject): Shape<T> => ({
  check: (value) => (fits(value) ? undefined : new Wrong(say)),
  schema,
})

/** Anything: its reader checks it, and a vendor refuses what it does not take. */
export const any: Shape<Json> = { schema: {} }

/** The same; `type` is its type in the API reference. */
export const meant = (type: string): Shape<Json> => ({ schema: { type } })

export const number = (low: number, high: number): Shape<number> =>
  such(
    (value) => typeof value === 'number' && value >= low && value <= high,
    (name) => `'${name}' must be a number from ${low} to ${high}.`,
    { type: 'number', minimum: low, ...(high === Number.MAX_SAFE_INTEGER ? {} : { maximum: high }) },
  )

/** An integer; without `high` as large as integers can be. */
export const integer = (low: number, high?: number): Shape<number> => {
  const most = high ?? Number.MAX_SAFE_INTEGER
  return such(
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= low && value <= most,
    (name) =>
      high === undefined
        ? `'${name}' must be an integer of at least ${low}.`
        : `'${name}' must be an integer from ${low} to ${high}.`,
    { type: 'integer', minimum: low, ...(high === undefined ? {} : { maximum: high }) },
  )
}

/** A bound on the tokens of an answer: vendors read it into 32 bits. */
export const tokenBound = integer(1, 2_147_483_647)

/** How some clients write that a number is not set (`@langchain/anthropic` before 1.0 sends `top_k: -1` by itself). */
export const UNSET = -1

/** A number that may also be written as not set. */
export const orUnset = ({ check, schema }: Shape<number>): Shape<number> => ({
  check: (value, found) => (value === UNSET ? undefined : check?.(value, found)),
  schema: { anyOf: [schema ?? {}, { const: UNSET }] },
})

export const flag: Shape<boolean> = such(
  (value) => typeof value === 'boolean',
  (name) => `'${name}' must be true or false.`,
  { type: 'boolean' },
)

export const text: Shape<string> = such(
  (value) => typeof value === 'string',
  (name) => `'${name}' must be a string.`,
  { type: 'string' },
)

/** One of these words; `say` replaces the usual sentence. */
export const word = <const Word extends string>(words: readonly Word[], say?: Sentence): Shape<Word> =>
  such(
    (value) => words.some((one) => one === value),
    say ?? ((name) => `'${name}' must be one of ${words.map((one) => `'${one}'`).join(', ')}.`),
    { enum: words },
  )

/** A text, or what may replace it. */
export const textOr = <T>({ check, addIgnored, schema }: Shape<T>): Shape<string | T> => ({
  ...(check === undefined
    ? {}
    : { check: (value, found) => (typeof value === 'string' ? undefined : check(value, found)) }),
  ...(addIgnored === undefined ? {} : { addIgnored }),
  schema: { anyOf: [{ type: 'string' }, schema ?? {}] },
})

type ListRules = {
  /** The sentence for a value that is not a list. */
  readonly say?: Sentence
  /** The sentence for an empty list; empty lists are allowed when absent. */
  readonly empty?: Sentence
}

export const list = <T>(each: Shape<T>, { say, empty }: ListRules = {}): Shape<readonly T[]> => ({
  ...addIgnoredInEach(each),
  check: (value, found) => {
    if (!Array.isArray(value)) return new Wrong(say ?? ((name) => `'${name}' must be a list.`))
    if (empty !== undefined && value.length === 0) return new Wrong(empty)
    if (each.check === undefined) return undefined
    for (let index = 0; index < value.length; index++) {
      const wrong = each.check(value[index], found)
      if (wrong !== undefined) return wrong.under(`[${index}]`)
    }
    return undefined
  },
  schema: { type: 'array', items: each.schema ?? {}, ...(empty === undefined ? {} : { minItems: 1 }) },
})

/** The objects of a list; whether anything else is allowed is for the vendor to say. */
export const objects = <T>(each: Shape<T>): Shape<Json> => ({
  ...addIgnoredInEach(each),
  check: (value, found) => {
    if (each.check === undefined || !Array.isArray(value)) return undefined
    for (let index = 0; index < value.length; index++) {
      const wrong = isObject(value[index]) ? each.check(value[index], found) : undefined
      if (wrong !== undefined) return wrong.under(`[${index}]`)
    }
    return undefined
  },
  schema: { type: 'array', items: each.schema ?? {} },
})

const addIgnoredInEach = ({ addIgnored }: Shape): Pick<Shape, 'addIgnored'> =>
  addIgnored === undefined
    ? {}
    : {
        addIgnored: (value, names) => {
          if (Array.isArray(value)) for (const one of value) addIgnored(one, names)
        },
      }

/** A list, or its only item without the list; `place` is the place of that item. */
export const oneOrMore = <T>(each: Shape<T>, many: Shape<unknown>, place = ''): Shape<Json> => ({
  check: (value, found) => {
    if (!isObject(value)) return many.check?.(value, found)
    const wrong = each.check?.(value, found)
    return place === '' ? wrong : wrong?.under(place)
  },
  ...(many.addIgnored === undefined
    ? {}
    : { addIgnored: (value, names) => many.addIgnored?.(isObject(value) ? [value] : value, names) }),
  ...(many.schema === undefined ? {} : { schema: many.schema }),
})
