/** Acts of a company's directory (SCIM 2.0, RFC 7644): users and groups made, read, found, changed and deleted. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { must, type Refusal, refuse } from '../../core/refusal.ts'
import { newIdOf } from '../../core/time.ts'
import { type Resource, type ResourceChange, resourceKinds } from '../../store/people/directory-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { name } from '../read.ts'
import { done } from '../shown-key.ts'
import { type Filter, holds, readFilter } from './filter.ts'
import { patched, readOperations } from './patch.ts'
import { namedBy, onlyAsked, readResource, shownResource } from './resource.ts'
import { checkLeaves } from './rule.ts'
import { settleUser } from './users.ts'

const PAGE_USUAL = 100
const PAGE_MOST = 500
/** How often a change is tried again that others were faster than. */
const TRIES = 20

const kind = z.enum(resourceKinds)
const some = { organisation: name.optional(), kind, base: z.string() }
const one = { ...some, id: name }
const asked = { attributes: z.string().optional(), excludedAttributes: z.string().optional() }
const ifMatch = z.string().optional()
const resource = z
  .record(z.string(), z.unknown())
  .meta({ id: 'ScimResource', description: 'A resource of RFC 7643' })
const body = z.custom<JsonObject>(isObject, 'must be an object')
/** `startIndex` and `count` that are too small are taken for the least (RFC 7644, section 3.4.2.4). */
const number = z
  .string()
  .regex(/^-?\d{1,9}$/, 'must be a whole number')
  .transform(Number)
  .optional()

type Kind = z.output<typeof kind>
type Place = { readonly organisation?: string | undefined; readonly kind: Kind; readonly base: string }

const noSuch = (id: string): Refusal => refuse('not_found', `There is no such resource: '${id}'.`)
const taken = (of: Kind): Refusal =>
  refuse('already_exists', `Another ${of} has this '${namedBy(of)}'.`, { members: { param: namedBy(of) } })

const directoryOf = ({ control: { store } }: Acting) => store.directory

const found = async (acting: Acting, orgId: string, of: Kind, id: string): Promise<Resource> =>
  must((await directoryOf(acting).resources({ orgId, kind: of, id }))[0] ?? noSuch(id))

/** Resources as they are shown, with the names of those that they are in or have in them. */
const shownAll = async (
  acting: Acting,
  orgId: string,
  { kind: of, base }: Place,
  all: readonly Resource[],
) => {
  if (all.length === 0) return []
  const directory = directoryOf(acting)
  const [only] = all
  const [members, others] = await Promise.all([
    directory.groupMembers(orgId, all.length === 1 ? only?.id : undefined),
    directory.resources({ orgId, kind: of === 'User' ? 'Group' : 'User' }),
  ])
  const named = namedBy(of === 'User' ? 'Group' : 'User')
  const names = new Map(others.map(({ id, attributes }) => [id, String(attributes[named] ?? '')]))
  const [mine, theirs] = of === 'Group' ? (['groupId', 'userId'] as const) : (['userId', 'groupId'] as const)
  const related = Map.groupBy(members, (member) => member[mine])
  return all.map((it) => {
    const ids = (related.get(it.id) ?? []).map((member) => member[theirs])
    return shownResource(it, { others: ids, names, base })
  })
}

const shown = async (acting: Acting, orgId: string, place: Place, id: string): Promise<JsonObject> => {
  const [it] = await shownAll(acting, orgId, place, [await found(acting, orgId, place.kind, id)])
  return must(it ?? noSuch(id))
}

/** The name that a filter asks for, by which the store finds the resource. */
const nameAsked = (of: Kind, filter: Filter | undefined): string | undefined => {
  if (filter?.is === 'and') return nameAsked(of, filter.left) ?? nameAsked(of, filter.right)
  const isName =
    filter?.is === 'eq' &&
    filter.path.length === 1 &&
    filter.path[0]?.toLowerCase() === namedBy(of).toLowerCase()
  return isName && typeof filter.value === 'string' ? filter.value.toLowerCase() : undefined
}

export const scimList = act({
  name: 'scim.list',
  summary: 'Users or groups of the directory, all or those of a filter, in pages.',
  reads: ['directory'],
  input: { ...some, ...asked, filter: z.string().optional(), startIndex: number, count: number },
  shows: namedObject('ScimList', {
    schemas: z.array(z.string()),
    totalResults: z.int(),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(resource),
  }),
  does: async (acting, { organisation, filter: text, startIndex = 1, count = PAGE_USUAL, ...place }) => {
    const orgId = orgOf(acting, organisation)
    const filter = text === undefined ? undefined : readFilter(text)
    const called = nameAsked(place.kind, filter)
    const near = { orgId, kind: place.kind, ...(called === undefined ? {} : { name: called }) }
    const all = await shownAll(acting, orgId, place, await directoryOf(acting).resources(near))
    const those = filter === undefined ? all : all.filter((it) => holds(filter, it))
    const start = Math.max(startIndex, 1)
    const page = those.slice(start - 1, start - 1 + Math.min(Math.max(count, 0), PAGE_MOST))
    const only = { attributes: place.attributes, excluded: place.excludedAttributes }
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: those.length,
      startIndex: start,
      itemsPerPage: page.length,
      Resources: page.map((it) => onlyAsked(it, only)),
    }
  },
})

export const scimGet = act({
  name: 'scim.get',
  summary: 'One user or group of the directory.',
  reads: ['directory'],
  input: { ...one, ...asked },
  shows: resource,
  does: async (acting, { organisation, id, ...place }) =>
    onlyAsked(await shown(acting, orgOf(acting, organisation), place, id), {
      attributes: place.attributes,
      excluded: place.excludedAttributes,
    }),
})

export const scimCreate = act({
  name: 'scim.create',
  summary: 'Makes a user, who joins the organisation while they are active, or a group.',
  changes: ['directory'],
  input: { ...some, resource: body },
  shows: resource,
  does: async (acting, { organisation, resource: sent, ...place }) => {
    const directory = directoryOf(acting)
    const orgId = orgOf(acting, organisation)
    const id = newIdOf('dir')
    const made = await directory.createResource(
      { orgId, id, kind: place.kind, ...readResource(place.kind, sent) },
      acting.who.actor,
    )
    if (made === undefined) throw taken(place.kind)
    try {
      await settle(acting, orgId, id, { name: '', users: [], asked: '' })
    } catch (thrown) {
      // Nobody hears of a user who could not be made.
      await directory.deleteResource({ orgId, id }, acting.who.actor)
      throw thrown
    }
    return shown(acting, orgId, place, id)
  },
})

/** What a change of a group began with: its name, who was in it, and the text of the request. */
type Before = { readonly name: string; readonly users: readonly string[]; readonly asked: string }

/**
 * Makes what a user is; of a group what those are who came or went, or all if its name is another. Those whom the request names
 * too: the same request may have died half-way before.
 */
const settle = async (acting: Acting, orgId: string, id: string, before: Before): Promise<void> => {
  const directory = directoryOf(acting)
  const [it] = await directory.resources({ orgId, id })
  if (it?.kind === 'User') return settleUser(acting, orgId, id, it)
  const users = new Set(before.users)
  const now = new Set((await directory.groupMembers(orgId, id)).map(({ userId }) => userId))
  const named = new Set(before.asked.match(/\bdir_[0-9a-z]+\b/g))
  const moved = it?.name === before.name ? now.symmetricDifference(users) : now.union(users)
  for (const user of moved.union(named)) await settleUser(acting, orgId, user)
}

type Changing = Place & { readonly id: string; readonly if_match?: string | undefined }

/** Changes a resource as it is now, whoever else changes it. With `If-Match` only the version that the caller read. */
const change = async (
  acting: Acting,
  { organisation, id, if_match: match, ...place }: Changing,
  next: (now: JsonObject) => ResourceChange,
  sent: JsonObject = {},
): Promise<JsonObject> => {
  const directory = directoryOf(acting)
  const orgId = orgOf(acting, organisation)
  for (let tries = 0; tries < TRIES; tries++) {
    const before = await found(acting, orgId, place.kind, id)
    if (match !== undefined && match !== '*' && match.replace(/^W\//, '') !== `"${before.version}"`)
      throw refuse('precondition_failed', 'The resource was changed since you read it; read it again.')
    const [now] = await shownAll(acting, orgId, place, [before])
    const users = (await directory.groupMembers(orgId, id)).map(({ userId }) => userId)
    const wanted = next(now ?? {})
    if (!wanted.active && before.personId !== undefined)
      await checkLeaves(acting, { orgId, personId: before.personId })
    const changed = await directory.changeResource({ orgId, id }, before.version, wanted, acting.who.actor)
    if (changed === 'taken') throw taken(place.kind)
    if (changed === undefined) continue
    await settle(acting, orgId, id, { name: before.name, users, asked: JSON.stringify(sent) })
    return shown(acting, orgId, place, id)
  }
  throw refuse('service_unavailable', 'Others change this resource all the time; try again.')
}

export const scimReplace = act({
  name: 'scim.replace',
  summary: 'Replaces all attributes of a user or a group.',
  changes: ['directory'],
  input: { ...one, resource: body, if_match: ifMatch },
  shows: resource,
  does: (acting, { resource: sent, ...place }) =>
    change(acting, place, () => readResource(place.kind, sent), sent),
})

export const scimPatch = act({
  name: 'scim.patch',
  summary:
    'Changes a user or a group by operations (RFC 7644, section 3.5.2); `active` false ends what they have here.',
  changes: ['directory'],
  input: { ...one, resource: body, if_match: ifMatch },
  shows: resource,
  does: (acting, { resource: sent, ...place }) => {
    const operations = readOperations(sent)
    return change(acting, place, (now) => readResource(place.kind, patched(now, operations)), sent)
  },
})

export const scimDelete = act({
  name: 'scim.delete',
  summary: 'Deletes a user, who leaves the organisation, or a group.',
  changes: ['directory'],
  input: one,
  shows: done,
  does: async (acting, { organisation, id, ...place }) => {
    const directory = directoryOf(acting)
    const orgId = orgOf(acting, organisation)
    // What it gives ends first, so that a delete that fails half-way can be asked for again.
    await change(acting, { organisation, id, ...place }, (now) =>
      readResource(place.kind, { ...now, active: false, members: [] }),
    )
    const gone = await directory.deleteResource({ orgId, id }, acting.who.actor)
    if (gone === undefined) throw noSuch(id)
    // Somebody may have given it back meanwhile.
    if (gone.kind === 'User') await settleUser(acting, orgId, id, gone)
    return { done: true as const }
  },
})
