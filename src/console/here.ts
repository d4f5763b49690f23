/** One request of the console: who asks, for which organisation, with which rights. */
import type { z } from 'zod'
import type { Right } from '../control/rights.ts'
import type { JsonObject } from '../core/json-body.ts'
import { refuse } from '../core/refusal.ts'
import type { ConsoleSettings, Gateway } from '../gateway/parts/gateway.ts'
import type { Actor } from '../store/people/event-port.ts'
import type { Role } from '../store/people/people-port.ts'
import type { OwnTeam } from '../store/people/team-port.ts'
import type { TenantLink } from '../store/tenants/tenant-port.ts'
import type { OpenConsole } from './open-console.ts'

export type Session = {
  readonly token: string
  readonly personId: string
  readonly email: string
  readonly name: string
  /** The person operates the server. */
  readonly operator: boolean
  readonly totp: boolean
  readonly createdAt: number
  /** The organisation that the session looks at; undefined for somebody who belongs to none. */
  readonly orgId: string | undefined
  readonly role: Role | undefined
  /** An operator is looking at an organisation that is not theirs. */
  readonly actsFor: boolean
  readonly acts: readonly Right[]
  /** Those of the organisation that the person is in. */
  readonly teams: readonly OwnTeam[]
}

/** The content of a request. */
export type ConsoleRequest = {
  readonly headers: Headers
  readonly params: Readonly<Record<string, string>>
  readonly query: ReadonlyMap<string, string>
  /** The network address, as far as it is known. */
  readonly address: string
  /** The console's address as the browser wrote it. */
  readonly origin: string
}

export type Here = {
  readonly gateway: Gateway
  readonly console: OpenConsole
  readonly settings: ConsoleSettings
  readonly request: ConsoleRequest
  /** Undefined for somebody who is not signed in. */
  readonly session: Session | undefined
  /** The tenant's link, if the request came with one. */
  readonly tenant?: TenantLink
}

/** Somebody who is signed in and looks at an organisation. */
export type Within = Here & { readonly session: Session & { readonly orgId: string; readonly role: Role } }

export type Reply = {
  readonly value?: unknown
  readonly status?: 200 | 201
  /** Where the browser continues, at this origin. */
  readonly redirect?: string
  readonly cookies?: readonly string[]
  /** A file instead of JSON. */
  readonly csv?: { readonly name: string; readonly text: string }
}

/**
 * Who may ask: anybody, anybody who is signed in, an operator, the holder of a tenant's link, or somebody who may do at
 * least one of these acts in the organisation.
 */
type Audience = 'anybody' | 'person' | 'operator' | 'tenant' | readonly Right[]

export type ConsoleRoute = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** After /console/api. */
  readonly path: string
  readonly summary: string
  readonly audience: Audience
  /** It needs a sign-in within the last hour. */
  readonly fresh?: true
  /** Another site sends people here. */
  readonly fromElsewhere?: true
  readonly body?: z.ZodType
  readonly answer: z.ZodType
  readonly csv?: true
  /** Its answer's amounts are written as texts from nano-USD. */
  readonly money?: 'text'
  readonly statuses?: readonly (200 | 201 | 302)[]
  readonly query?: readonly string[]
  readonly handler: (here: Here, body: () => Promise<JsonObject>) => Promise<Reply>
}

/** The person who is signed in. */
export const personOf = ({ session }: Here): Session => {
  if (session === undefined) throw refuse('sign_in_required', 'Sign in first.')
  return session
}

/** Nobody has added them, or somebody has removed them since. */
export const noOrganisation = () =>
  refuse('forbidden', 'You belong to no organisation here; ask an owner or admin for an invitation.', {
    headers: roleHeader(undefined),
  })

/** Tells the page which role the person has now. */
export const roleHeader = (role: Role | undefined): Record<string, string> => ({ 'x-role': role ?? 'none' })

/** The same for an answer, if the page shows the organisation that the session looks at. */
export const roleHeaderFor = ({ session, request }: Here): Record<string, string> =>
  session !== undefined && request.headers.get('x-organisation') === (session.orgId ?? null)
    ? roleHeader(session.role)
    : {}

/** The organisation that the session looks at, never one that the request names. */
export const within = (here: Here): Within => {
  const session = personOf(here)
  const { orgId, role } = session
  if (orgId === undefined || role === undefined) throw noOrganisation()
  return { ...here, session: { ...session, orgId, role } }
}

/** The person who does it, for the record. */
export const actorOf = (here: Here): Actor => {
  const { personId, email, actsFor } = personOf(here)
  return { kind: 'person', id: personId, name: email, address: here.request.address, operator: actsFor }
}

export const may = ({ session }: Here, act: Right): boolean => session?.acts.includes(act) === true
