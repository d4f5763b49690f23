/** Filters of SCIM (RFC 7644, section 3.4.2.2), read and held against a resource, and the paths of PATCH, which may have one. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'

export type Filter =
  | { readonly is: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly is: 'not'; readonly of: Filter }
  | { readonly is: 'has'; readonly path: readonly string[]; readonly of: Filter }
  | { readonly is: Comparison; readonly path: readonly string[]; readonly value: Json }

const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le', 'pr'] as const
type Comparison = (typeof comparisons)[number]

/** A path such as `emails[type eq "work"].value`: the attribute, which of its values, and what of those. */
export type Path = {
  readonly attribute: readonly string[]
  readonly filter?: Filter
  readonly rest: readonly string[]
}

const LENGTH_MAX = 2_000
const NAMES_MAX = 5
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[()[\]]|[^\s()[\]"]+)/y

const wrong = (param: string, why: string) => invalid(param, `'${param}' ${why}.`)

/** The names of an attribute path; a schema's URN is one name, with the points in it. */
export const namesOf = (path: string): readonly string[] => {
  if (path.length > LENGTH_MAX) throw wrong('path', `may have ${LENGTH_MAX} characters at most`)
  const [, urn, rest = path] = /^(urn:.+:(?:User|Group))(?::(.+))?$/i.exec(path) ?? []
  if (urn !== undefined && rest === path) return [urn]
  if (rest.split('.').length > NAMES_MAX) throw wrong('path', `may have ${NAMES_MAX} names at most`)
  const core = urn === undefined || /:core:2\.0:(?:User|Group)$/i.test(urn)
  return [...(core ? [] : [urn]), ...rest.split('.')]
}

/** Reads tokens in order. Throws the 400 of what is no filter; `param` is where it came from. */
class Reader {
  readonly #tokens: string[] = []
  readonly #param: string
  #at = 0

  constructor(text: string, param: string) {
    this.#param = param
    if (text.length > LENGTH_MAX) throw wrong(param, `may have ${LENGTH_MAX} characters at most`)
    const end = text.trimEnd().length
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
      const token = TOKEN.exec(text)?.[1]
      if (token === undefined) throw this.unreadable()
      this.#tokens.push(token)
    }
  }

  unreadable = () =>
    wrong(this.#param, 'is no filter such as userName eq "ada@example.com" (RFC 7644, 3.4.2.2)')

  /** The next token if it is this word, in any case. */
  takes(word: string): boolean {
    const found = this.#tokens[this.#at]?.toLowerCase() === word
    if (found) this.#at += 1
    return found
  }

  must(word: string): void {
    if (!this.takes(word)) throw this.unreadable()
  }

  next(): string {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw this.unreadable()
    return token
  }

  get ended(): boolean {
    return this.#at === this.#tokens.length
  }

  path(): readonly string[] {
    const token = this.next()
    if (!/^[a-z$][\w$.:-]*$/i.test(token)) throw this.unreadable()
    return namesOf(token)
  }

  or(): Filter {
    let left = this.and()
    while (this.takes('or')) left = { is: 'or', left, right: this.and() }
    return left
  }

  and(): Filter {
    let left = this.one()
    while (this.takes('and')) left = { is: 'and', left, right: this.one() }
    return left
  }

  one(): Filter {
    const not = this.takes('not')
    if (not || this.takes('(')) {
      if (not) this.must('(')
      const of = this.or()
      this.must(')')
      return not ? { is: 'not', of } : of
    }
    const path = this.path()
    if (this.takes('[')) {
      const of = this.or()
      this.must(']')
      return { is: 'has', path, of }
    }
    const word = this.next().toLowerCase()
    const is = comparisons.find((one) => one === word)
    if (is === undefined) throw this.unreadable()
    return { is, path, value: is === 'pr' ? null : this.value() }
  }

  value(): Json {
    const token = this.next()
    try {
      const value: unknown = JSON.parse(/^(?:true|false|null)$/i.test(token) ? token.toLowerCase() : token)
      if (!isObject(value)) return value as Json
    } catch {}
    throw this.unreadable()
  }
}

export const readFilter = (text: string): Filter => {
  const reader = new Reader(text, 'filter')
  const filter = reader.or()
  if (!reader.ended) throw reader.unreadable()
  return filter
}

export const readPath = (text: string): Path => {
  const [, attribute = text, inside, rest = ''] =
    /^([^[\]]+)\[(.*)\](?:\.([\w$.-]+))?$/s.exec(text.trim()) ?? []
  const reader = new Reader(attribute, 'path')
  const names = reader.path()
  if (!reader.ended)
    throw wrong('path', 'is no attribute such as name.givenName or emails[type eq "work"].value')
  if (inside === undefined) return { attribute: names, rest: [] }
  return { attribute: names, filter: readFilter(inside), rest: rest === '' ? [] : rest.split('.') }
}

/** The member of that name in any case: attribute names have none (RFC 7643, section 2.1). */
export const nameIn = (value: JsonObject, name: string): string | undefined =>
  Object.keys(value).find((one) => one.toLowerCase() === name.toLowerCase())

/** All values at a path: those of every element of a list. */
export const valuesAt = (value: Json | undefined, path: readonly string[]): readonly Json[] => {
  if (Array.isArray(value)) return value.flatMap((one: Json) => valuesAt(one, path))
  const [name, ...rest] = path
  if (name === undefined) return value === undefined || value === null ? [] : [value]
  // A list of values is also compared by itself: members eq "id" means members.value.
  if (!isObject(value)) return name === 'value' && rest.length === 0 && value != null ? [value] : []
  return valuesAt(value[nameIn(value, name) ?? ''], rest)
}

const exactly = ['id', 'externalid', 'value']

const compare = (is: Comparison, one: Json, wanted: Json, exact: boolean): boolean => {
  if (typeof one !== typeof wanted) return is === 'ne'
  if (typeof one !== 'string' || typeof wanted !== 'string') {
    if (is === 'eq' || is === 'ne') return (one === wanted) === (is === 'eq')
    const [a, b] = [Number(one), Number(wanted)]
    return (
      (is === 'gt' && a > b) || (is === 'ge' && a >= b) || (is === 'lt' && a < b) || (is === 'le' && a <= b)
    )
  }
  const [a, b] = exact ? [one, wanted] : [one.toLowerCase(), wanted.toLowerCase()]
  switch (is) {
    case 'eq':
      return a === b
    case 'ne':
      return a !== b
    case 'co':
      return a.includes(b)
    case 'sw':
      return a.startsWith(b)
    case 'ew':
      return a.endsWith(b)
    case 'gt':
      return a > b
    case 'ge':
      return a >= b
    case 'lt':
      return a < b
    default:
      return a <= b
  }
}

/** Whether the filter holds of the value: a resource, or an element of a list. */
export const holds = (filter: Filter, value: Json): boolean => {
  switch (filter.is) {
    case 'and':
      return holds(filter.left, value) && holds(filter.right, value)
    case 'or':
      return holds(filter.left, value) || holds(filter.right, value)
    case 'not':
      return !holds(filter.of, value)
    case 'has':
      return valuesAt(value, filter.path).some((one) => holds(filter.of, one))
    case 'pr':
      return valuesAt(value, filter.path).length > 0
    default: {
      const { is, path, value: wanted } = filter
      const found = valuesAt(value, path)
      const [whole] = found
      const values =
        isObject(whole) && typeof wanted === 'string' ? valuesAt(value, [...path, 'value']) : found
      const exact = path.length === 1 && exactly.includes((path[0] ?? '').toLowerCase())
      if (is === 'ne') return values.every((one) => compare('ne', one, wanted, exact))
      return values.some((one) => compare(is, one, wanted, exact))
    }
  }
}
