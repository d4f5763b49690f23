/** Users and groups as SCIM has them (RFC 7643): read from what a directory sends, and shown as it reads them. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import type { Resource, ResourceChange, ResourceKind } from '../../store/people/directory-port.ts'
import { isoOf } from '../read.ts'
import { nameIn } from './filter.ts'

export const schemaOf = (kind: ResourceKind): string => `urn:ietf:params:scim:schemas:core:2.0:${kind}`

/** What the server gives, or keeps elsewhere, or never keeps. */
const own = ['id', 'meta', 'groups', 'schemas', 'members', 'password']
const NAME_MAX = 300
const ATTRIBUTES_BYTES_MAX = 32 * 1024

/** The member that names a resource. */
export const namedBy = (kind: ResourceKind): 'userName' | 'displayName' =>
  kind === 'User' ? 'userName' : 'displayName'

const flagOf = (value: Json | undefined): boolean => {
  if (value === undefined || value === null) return true
  if (typeof value === 'boolean') return value
  const word = String(value).toLowerCase()
  if (word !== 'true' && word !== 'false') throw invalid('active', "'active' must be true or false.")
  return word === 'true'
}

const membersOf = (value: Json | undefined): readonly string[] => {
  if (value === undefined || value === null) return []
  const ids = (Array.isArray(value) ? value : [value]).map((one: Json) => (isObject(one) ? one.value : one))
  if (ids.every((id) => typeof id === 'string')) return ids
  throw invalid('members', "'members' must be a list of objects with the 'value' of each: the id of a user.")
}

/** What a resource is to be. Throws the 400 of what is none. */
export const readResource = (kind: ResourceKind, sent: JsonObject): ResourceChange => {
  const by = namedBy(kind)
  const called = sent[nameIn(sent, by) ?? '']
  if (typeof called !== 'string' || called.trim() === '' || called.length > NAME_MAX)
    throw invalid(by, `'${by}' is required, and has at most ${NAME_MAX} characters.`)
  const kept = Object.entries(sent).filter(([name]) => !own.includes(name.toLowerCase()))
  const active = kind === 'User' ? flagOf(sent[nameIn(sent, 'active') ?? '']) : true
  const attributes = Object.fromEntries(
    kind === 'User'
      ? [...kept.filter(([name]) => name.toLowerCase() !== 'active'), ['active', active]]
      : kept,
  )
  if (Buffer.byteLength(JSON.stringify(attributes)) > ATTRIBUTES_BYTES_MAX)
    throw invalid(kind, `A ${kind} may have ${ATTRIBUTES_BYTES_MAX / 1024} KB of attributes at most.`)
  const members = kind === 'Group' ? { members: membersOf(sent[nameIn(sent, 'members') ?? '']) } : {}
  return { name: called.toLowerCase(), active, attributes, ...members }
}

type Around = {
  /** The ids of the groups that a user is in, or of the users in a group. */
  readonly others: readonly string[]
  /** Names of users or groups, by their ids. */
  readonly names: ReadonlyMap<string, string>
  /** The address of SCIM here. */
  readonly base: string
}

/** The resource whole, as it is shown and as filters and changes see it. */
export const shownResource = (resource: Resource, { others, names, base }: Around): JsonObject => {
  const { id, kind, attributes, createdAt, changedAt, version } = resource
  const list = others.map((value) => ({
    value,
    display: names.get(value) ?? '',
    $ref: `${base}/${kind === 'Group' ? 'Users' : 'Groups'}/${value}`,
  }))
  return {
    schemas: [schemaOf(kind), ...Object.keys(attributes).filter((name) => name.startsWith('urn:'))],
    id,
    ...attributes,
    [kind === 'Group' ? 'members' : 'groups']: list,
    meta: {
      resourceType: kind,
      created: isoOf(createdAt),
      lastModified: isoOf(changedAt),
      location: `${base}/${kind}s/${id}`,
      version: `W/"${version}"`,
    },
  }
}

const always = ['schemas', 'id', 'meta']

/** The resource with those of its attributes that are asked for (RFC 7644, section 3.9). */
export const onlyAsked = (
  resource: JsonObject,
  {
    attributes,
    excluded,
  }: { readonly attributes?: string | undefined; readonly excluded?: string | undefined },
): JsonObject => {
  const listed = (text: string) =>
    text.split(',').map((one) =>
      one
        .trim()
        .replace(/^urn:.+:core:2\.0:\w+:/i, '')
        .split('.')[0]
        ?.toLowerCase(),
    )
  const takes = (name: string): boolean => {
    if (always.includes(name)) return true
    if (attributes !== undefined) return listed(attributes).includes(name.toLowerCase())
    return excluded === undefined || !listed(excluded).includes(name.toLowerCase())
  }
  return Object.fromEntries(Object.entries(resource).filter(([name]) => takes(name)))
}
