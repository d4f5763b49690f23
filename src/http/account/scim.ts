/**
 * Addresses for a company's directory: SCIM 2.0 (RFC 7643, RFC 7644), by the credential of a machine with the right `directory`
 * that reaches one organisation. Errors have SCIM's form.
 */
import { z } from 'zod'
import { type AnyAct, perform } from '../../control/act.ts'
import { namedBy, schemaOf } from '../../control/directory/resource.ts'
import {
  scimCreate,
  scimDelete,
  scimGet,
  scimList,
  scimPatch,
  scimReplace,
} from '../../control/directory/scim.ts'
import { namedObject } from '../../core/body.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { must, Refusal, refuse } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { readWeighed } from '../../gateway/parts/capacity.ts'
import { type ResourceKind, resourceKinds } from '../../store/people/directory-port.ts'
import { readQuery } from '../request/query.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler, Route } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import { asMachine } from './admin.ts'

const ROOT = '/scim/v2'
const TYPE = /^application\/(?:scim\+)?json(?:\s*;\s*charset="?utf-8"?)?\s*$/i
/** A group with some ten thousand people. */
const BYTES_MAX = 1024 * 1024

const encoder = new TextEncoder()

const scim = (value: unknown, status: number, more: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/scim+json', 'cache-control': 'no-store', ...more },
  body: status === 204 ? new Uint8Array() : encoder.encode(JSON.stringify(value)),
})

const scimError = namedObject('ScimError', {
  schemas: z.array(z.string()),
  status: z.string(),
  scimType: z.string().optional(),
  detail: z.string(),
})

/** The word of RFC 7644, section 3.12, for a refusal that has one. */
const wordOf = ({ code, members }: Refusal): string | undefined => {
  if (code === 'already_exists') return 'uniqueness'
  if (code === 'invalid_json') return 'invalidSyntax'
  if (code !== 'invalid_parameter') return undefined
  if (members.param === 'filter') return 'invalidFilter'
  return members.param === 'path' ? 'invalidPath' : 'invalidValue'
}

const refused = (refusal: Refusal): Answer => {
  const { status, message: detail, headers } = refusal
  const scimType = wordOf(refusal)
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  return scim(
    { schemas, status: String(status), ...(scimType === undefined ? {} : { scimType }), detail },
    status,
    headers,
  )
}

const inScim =
  (handler: Handler): Handler =>
  (gateway, call) =>
    handler(gateway, call).catch((thrown: unknown) => {
      if (thrown instanceof Refusal) return refused(thrown)
      throw thrown
    })

const readResource: (...asked: Parameters<Handler>) => Promise<JsonObject> = async (gateway, call) =>
  readWeighed(gateway.capacity, call.trace.taken, await readBody(gateway, call, BYTES_MAX, TYPE)).value

const performing = (act: AnyAct, kind: ResourceKind, query: readonly string[], statuses: Route['statuses']) =>
  inScim(async (gateway, call) => {
    const { who } = await asMachine(gateway, call)
    const given = must(readQuery(call.query, query))
    const base = `${gateway.console?.origin ?? new URL(addressOf(call.request)).origin}${ROOT}`
    const match = call.request.headers.get('if-match')
    const value = await perform(gateway, who, act, async () => ({
      kind,
      base,
      // What is asked of the order is not done (ServiceProviderConfig says so), and no fault.
      ...Object.fromEntries([...given].filter(([name]) => Object.hasOwn(act.input, name))),
      ...call.params,
      ...(Object.hasOwn(act.input, 'if_match') && match !== null ? { if_match: match } : {}),
      ...(Object.hasOwn(act.input, 'resource') ? { resource: await readResource(gateway, call) } : {}),
    }))
    const { meta } = isObject(value) ? value : {}
    const { version, location } = isObject(meta) ? meta : {}
    const [status = 200] = statuses ?? []
    return scim(value, status, {
      ...(typeof version === 'string' ? { etag: version } : {}),
      ...(status === 201 ? { location: String(location) } : {}),
    })
  })

const shows = ['attributes', 'excludedAttributes']
const rows: readonly (Pick<Route, 'method' | 'statuses' | 'headers' | 'query'> & {
  readonly act: AnyAct
  readonly one?: true
})[] = [
  { method: 'GET', act: scimList, query: ['filter', 'startIndex', 'count', 'sortBy', 'sortOrder', ...shows] },
  { method: 'POST', act: scimCreate, statuses: [201] },
  { method: 'GET', one: true, act: scimGet, query: shows },
  { method: 'PUT', one: true, act: scimReplace, headers: ['If-Match'] },
  { method: 'PATCH', one: true, act: scimPatch, headers: ['If-Match'] },
  { method: 'DELETE', one: true, act: scimDelete, statuses: [204] },
]

const ofKind = (kind: ResourceKind): readonly Route[] =>
  rows.map(({ method, act, one, statuses, headers = [], query = [] }) => ({
    method,
    path: `${ROOT}/${kind}s${one === true ? '/:id' : ''}`,
    summary: `${kind}: ${act.summary}`,
    auth: 'machine',
    answer: act.shows,
    answerType: 'application/scim+json',
    instead: scimError,
    query,
    headers,
    ...(statuses === undefined ? {} : { statuses }),
    handler: performing(act, kind, query, statuses),
  }))

const supported = (is: boolean, more: JsonObject = {}) => ({ supported: is, ...more })

const CONFIG = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: supported(true),
  bulk: supported(false, { maxOperations: 0, maxPayloadSize: 0 }),
  filter: supported(true, { maxResults: 500 }),
  changePassword: supported(false),
  sort: supported(false),
  etag: supported(true),
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Credential of a machine',
      description: 'Authorization: Bearer tm-…, of a machine with the right directory and one organisation',
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${ROOT}/ServiceProviderConfig` },
}

const TYPES = resourceKinds.map((kind) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: kind,
  name: kind,
  endpoint: `/${kind}s`,
  schema: schemaOf(kind),
  meta: { resourceType: 'ResourceType', location: `${ROOT}/ResourceTypes/${kind}` },
}))

const attribute = (name: string, type: string, more: JsonObject = {}): JsonObject => ({
  name,
  type,
  multiValued: false,
  description: name,
  required: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...(type === 'string' ? { caseExact: false } : {}),
  ...more,
})

const listed = (name: string, more: JsonObject = {}): JsonObject =>
  attribute(name, 'complex', {
    multiValued: true,
    subAttributes: ['value', 'display', 'type'].map((sub) => attribute(sub, 'string')),
    ...more,
  })

const ATTRIBUTES: Readonly<Record<ResourceKind, readonly JsonObject[]>> = {
  User: [
    attribute('name', 'complex', {
      subAttributes: ['formatted', 'familyName', 'givenName'].map((sub) => attribute(sub, 'string')),
    }),
    attribute('displayName', 'string'),
    attribute('active', 'boolean'),
    listed('emails'),
    listed('groups', { mutability: 'readOnly' }),
  ],
  Group: [listed('members')],
}

const SCHEMAS = resourceKinds.map((kind) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  id: schemaOf(kind),
  name: kind,
  description: kind,
  attributes: [
    attribute(namedBy(kind), 'string', { required: true, uniqueness: 'server' }),
    attribute('externalId', 'string', { caseExact: true }),
    ...ATTRIBUTES[kind],
  ],
  meta: { resourceType: 'Schema', location: `${ROOT}/Schemas/${schemaOf(kind)}` },
}))

const listAnswer = (Resources: readonly unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: Resources.length,
  startIndex: 1,
  itemsPerPage: Resources.length,
  Resources,
})

const told = z.record(z.string(), z.unknown()).meta({ id: 'ScimDescription' })

const telling = (path: string, summary: string, value: (id: string) => unknown): Route => ({
  method: 'GET',
  path: `${ROOT}${path}`,
  summary,
  auth: 'none',
  answer: told,
  answerType: 'application/scim+json',
  instead: scimError,
  handler: inScim(async (_gateway, call) => {
    const found = value(call.params.id ?? '')
    if (found === undefined) throw refuse('not_found', 'There is no such schema or type here.')
    return scim(found, 200)
  }),
})

export const scimRoutes: readonly Route[] = [
  ...resourceKinds.flatMap(ofKind),
  telling('/ServiceProviderConfig', 'What this server can of SCIM.', () => CONFIG),
  telling('/ResourceTypes', 'The types of resources: users and groups.', () => listAnswer(TYPES)),
  telling('/ResourceTypes/:id', 'One type of resources.', (id) => TYPES.find((one) => one.id === id)),
  telling('/Schemas', 'The attributes of users and groups.', () => listAnswer(SCHEMAS)),
  telling('/Schemas/:id', 'The attributes of users or of groups.', (id) =>
    SCHEMAS.find((one) => one.id === id),
  ),
]
