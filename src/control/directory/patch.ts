/**
 * PATCH of SCIM (RFC 7644, section 3.5.2): operations in order on a resource, all or none. Forms that Entra ID and Okta send are
 * taken too: operations in any case, names with points where no path is given, a value in the place of a list, and a filter that finds
 * nothing, which then makes what it describes.
 */
import { canonicalJson } from '../../core/canonical.ts'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { type Filter, holds, nameIn, namesOf, type Path, readPath } from './filter.ts'

const OPERATIONS_MAX = 1_000
const BYTES_MAX = 64 * 1024
const NAMES_MAX = 1_000
const verbs = ['add', 'replace', 'remove'] as const
type Verb = (typeof verbs)[number]

type Operation = { readonly op: Verb; readonly path?: Path; readonly value: Json | undefined }

const wrong = (param: string, why: string) => invalid(param, `'${param}' ${why}.`)

/** The operations of a body. Throws the 400 of what is none. */
export const readOperations = (body: JsonObject): readonly Operation[] => {
  const list = body[nameIn(body, 'Operations') ?? '']
  if (!Array.isArray(list) || list.length === 0 || list.length > OPERATIONS_MAX)
    throw wrong('Operations', `must be a list of 1 to ${OPERATIONS_MAX} operations`)
  if (besideMembers(list) > BYTES_MAX)
    throw wrong('Operations', `may have ${BYTES_MAX / 1024} KB beside members at most`)
  return list.map((one: Json, at) => {
    const verb = isObject(one) && typeof one.op === 'string' ? one.op.toLowerCase() : ''
    const op = verbs.find((known) => known === verb)
    if (!isObject(one) || op === undefined)
      throw wrong(`Operations.${at}.op`, 'must be add, replace or remove')
    const { path, value } = one
    if (path !== undefined && typeof path !== 'string') throw wrong(`Operations.${at}.path`, 'must be a text')
    if (op === 'remove' && (path === undefined || path === ''))
      throw wrong(`Operations.${at}.path`, 'is required: what to remove')
    if (op !== 'remove' && value === undefined) throw wrong(`Operations.${at}.value`, 'is required')
    return { op, value, ...(path === undefined || path === '' ? {} : { path: readPath(path) }) }
  })
}

/** What a change brings beside members, of which a group may have many: each operation looks at all of it. */
const besideMembers = (list: readonly Json[]): number => {
  let bytes = 0
  for (const one of list)
    if (isObject(one) && !/^(?:urn:[^[]*:)?members\b/i.test(String(one.path)))
      bytes += JSON.stringify(one, (name, it) => (name.toLowerCase() === 'members' ? [] : it)).length
  return bytes
}

const listOf = (value: Json | undefined): readonly Json[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

/** The same text for elements that are one: by their value and what type it has, else by all that they say. */
const sameness = (one: Json): string =>
  isObject(one) && typeof one.value === 'string' && one.value !== ''
    ? JSON.stringify({ value: one.value, type: one.type ?? null })
    : canonicalJson([one])

/** A list with these added: an element that is there already, by its value, gets what the new one says of it. */
const added = (list: readonly Json[], more: readonly Json[]): readonly Json[] => {
  const all = new Map<string, Json>()
  for (const one of list) {
    const text = sameness(one)
    all.set(all.has(text) ? `${text}${all.size}` : text, one)
  }
  for (const one of more) {
    const text = sameness(one)
    const before = all.get(text)
    all.set(text, isObject(before) && isObject(one) ? { ...before, ...one } : one)
  }
  return [...all.values()]
}

/** The value with that member; absent and null remove it (RFC 7643, section 2.5). */
const withMember = (value: JsonObject, name: string, member: Json | undefined): JsonObject => {
  const known = nameIn(value, name)
  const others = Object.entries(value).filter(([one]) => one !== known)
  if (others.length > NAMES_MAX) throw wrong('Operations', `may make ${NAMES_MAX} attributes at most`)
  return Object.fromEntries(
    member === undefined || member === null ? others : [...others, [known ?? name, member]],
  )
}

/** What an operation makes of the value that is there; a value that is removed names elements of a list (Entra ID does). */
const applied = (op: Verb, before: Json | undefined, value: Json | undefined): Json | undefined => {
  if (op === 'remove') {
    if (!Array.isArray(before) || value === undefined || value === null) return undefined
    const gone = listOf(value)
    const texts = new Set(gone.map((one) => canonicalJson(one)))
    const values = new Set(gone.map((one) => (isObject(one) ? one.value : one)))
    const isGone = (one: Json) =>
      texts.has(canonicalJson(one)) || (isObject(one) && one.value !== undefined && values.has(one.value))
    const left = before.filter((one: Json) => !isGone(one))
    return left.length === 0 ? undefined : left
  }
  if (op === 'add' && Array.isArray(before)) return added(before, listOf(value))
  if (isObject(before) && isObject(value)) return merged(op, before, value)
  return Array.isArray(before) && !Array.isArray(value) && isObject(value) ? [value] : value
}

const merged = (op: Verb, before: JsonObject, more: JsonObject): JsonObject =>
  Object.entries(more).reduce((all, [name, value]) => {
    const names = namesOf(name)
    return at(all, names, (inside) => applied(op, inside, value))
  }, before)

/** The value with what `change` makes of the member at the path. */
const at = (
  value: JsonObject,
  [name = '', ...rest]: readonly string[],
  change: (before: Json | undefined) => Json | undefined,
): JsonObject => {
  const before = value[nameIn(value, name) ?? '']
  if (rest.length === 0) return withMember(value, name, change(before))
  if (Array.isArray(before))
    return withMember(
      value,
      name,
      before.map((one: Json) => (isObject(one) ? at(one, rest, change) : one)),
    )
  const inside = at(isObject(before) ? before : {}, rest, change)
  return withMember(value, name, Object.keys(inside).length === 0 ? undefined : inside)
}

/** The element that a filter describes by what it says is equal. */
const described = (filter: Filter): JsonObject | undefined => {
  if (filter.is === 'and') {
    const [left, right] = [described(filter.left), described(filter.right)]
    return left === undefined || right === undefined ? undefined : { ...left, ...right }
  }
  const [name] = 'path' in filter ? filter.path : []
  return filter.is === 'eq' && name !== undefined && filter.path.length === 1
    ? Object.fromEntries([[name, filter.value]])
    : undefined
}

/** A list in which those elements are changed that the filter finds. */
const where = (list: readonly Json[], filter: Filter, { op, path, value }: Operation): Json | undefined => {
  const rest = path?.rest ?? []
  const changed = (one: Json): Json | undefined => {
    if (rest.length > 0) return isObject(one) ? at(one, rest, (before) => applied(op, before, value)) : one
    return op === 'remove' ? undefined : isObject(one) && isObject(value) ? { ...one, ...value } : value
  }
  let found = false
  const all = list.flatMap((one) => {
    if (!holds(filter, one)) return [one]
    found = true
    const next = changed(one)
    return next === undefined ? [] : [next]
  })
  if (found || op === 'remove') return all.length === 0 ? undefined : all
  const made = described(filter)
  if (made === undefined) throw wrong('path', 'finds nothing to change')
  return [...list, changed(made) ?? made]
}

/** The resource after the operations. Throws the 400 of one that cannot be done. */
export const patched = (resource: JsonObject, operations: readonly Operation[]): JsonObject =>
  operations.reduce((value, operation) => {
    const { op, path, value: given } = operation
    if (path === undefined) {
      if (!isObject(given)) throw wrong('value', "must be an object of attributes where there is no 'path'")
      return merged(op, value, given)
    }
    const { attribute, filter } = path
    return at(value, attribute, (before) =>
      filter === undefined ? applied(op, before, given) : where(listOf(before), filter, operation),
    )
  }, resource)
