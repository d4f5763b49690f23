/** Checks each request of the console first: its origin, its session, and what the person may do. */

import { takeAttempt } from '../control/people/attempts.ts'
import { rightsOf } from '../control/rights.ts'
import { hashOfLink } from '../control/tenants/tenants.ts'
import { refuse } from '../core/refusal.ts'
import type { Gateway } from '../gateway/parts/gateway.ts'
import type { Member } from '../store/people/people-port.ts'
import type { TenantLink } from '../store/tenants/tenant-port.ts'
import {
  type ConsoleRequest,
  type ConsoleRoute,
  type Here,
  noOrganisation,
  roleHeader,
  type Session,
} from './here.ts'
import { withPresentCookie } from './old-secret.ts'
import { consoleOf } from './open-console.ts'
import { askAgain } from './sign-in/ask-again.ts'
import { libraryFault } from './sign-in/credentials.ts'

/** How old a company's word on a person may be. */
const ASK_COMPANY_MS = 60 * 60_000
const FRESH_MS = 60 * 60_000

/** A page of another site can send requests with our cookie; browsers say which page did. */
const checkOrigin = ({ method, fromElsewhere }: ConsoleRoute, { headers, origin }: ConsoleRequest): void => {
  if (fromElsewhere === true) return
  const [from, site] = [headers.get('origin'), headers.get('sec-fetch-site')]
  const foreign =
    (site !== null && site !== 'same-origin' && site !== 'none') || (from !== null && from !== origin)
  if (method === 'GET' ? foreign && site === 'cross-site' : from === null || foreign)
    throw refuse('foreign_origin', 'The console takes changes from its own pages only.')
}

type LibrarySession = NonNullable<
  Awaited<
    ReturnType<Awaited<ReturnType<ReturnType<typeof consoleOf>['console']['auth']>>['api']['getSession']>
  >
>

/** The membership that the session looks at: the chosen one, else the first. */
const chosen = (members: readonly Member[], orgId: unknown): Member | undefined =>
  members.find((member) => member.orgId === orgId) ?? members[0]

const sessionOf = async (gateway: Gateway, { session, user }: LibrarySession): Promise<Session> => {
  const members = await gateway.store.members.list({ personId: user.id })
  const operator = user.operator === true
  const wantedOrg = session.orgId ?? undefined
  const actsFor = operator && wantedOrg !== undefined && !members.some((member) => member.orgId === wantedOrg)
  const member = chosen(members, wantedOrg)
  const [orgId, role] = actsFor ? ([wantedOrg, 'owner'] as const) : [member?.orgId, member?.role]
  const teams =
    actsFor || orgId === undefined ? [] : await gateway.store.teams.teamsOf({ orgId, personId: user.id })
  return {
    token: session.token,
    personId: user.id,
    email: user.email,
    name: user.name,
    operator,
    totp: user.twoFactorEnabled === true,
    createdAt: session.createdAt.getTime(),
    orgId,
    role,
    actsFor,
    acts: role === undefined ? [] : rightsOf(role),
    teams,
  }
}

/** Whether it began at another cell and its time is over; then it is removed. */
const hasEnded = async ({ store, clock }: Gateway, { session }: LibrarySession): Promise<boolean> => {
  if (typeof session.endsAt !== 'string' || Date.parse(session.endsAt) > clock.now()) return false
  await store.people.remove('person_session', [{ column: 'token', is: '=', value: session.token }])
  return true
}

const checkAudience = (
  { audience, fresh }: ConsoleRoute,
  session: Session | undefined,
  now: number,
): void => {
  if (audience === 'anybody' || audience === 'tenant') return
  if (session === undefined) throw refuse('sign_in_required', 'Sign in first.')
  if (audience === 'operator' && !session.operator)
    throw refuse('not_found', 'There is nothing at this address, or it is not yours.')
  if (typeof audience === 'object' && !audience.some((act) => session.acts.includes(act)))
    throw session.role === undefined
      ? noOrganisation()
      : refuse('forbidden', `Your role (${session.role}) may not do this; ask an owner or admin.`, {
          headers: roleHeader(session.role),
        })
  if (fresh === true && now - session.createdAt > FRESH_MS)
    throw refuse('forbidden', 'This needs a sign-in of the last hour; sign in again.', {
      members: { reason: 'sign_in_again' },
    })
}

/**
 * A page says which organisation it shows. All tabs of a browser share one session, so another tab may have chosen another
 * one since; then nothing is read or changed there under the name of the first.
 */
const checkShown = (
  { audience }: ConsoleRoute,
  { headers }: ConsoleRequest,
  session: Session | undefined,
): void => {
  const shown = headers.get('x-organisation')
  if (typeof audience !== 'object' || shown === null || shown === session?.orgId) return
  throw refuse(
    'forbidden',
    'Another tab of this browser has chosen another organisation than this page shows; reload the page.',
    { members: { reason: 'other_organisation' } },
  )
}

/** A tenant's link: it shows that tenant's own use to whoever has it. Wrong links are counted by address. */
const tenantLink = async (gateway: Gateway, request: ConsoleRequest): Promise<TenantLink> => {
  const secret = /^Bearer (tl-[\w-]{43})$/.exec(request.headers.get('authorization') ?? '')?.[1]
  const link = secret === undefined ? undefined : await gateway.store.tenants.linkByHash(hashOfLink(secret))
  if (link !== undefined) return link
  await takeAttempt({ gateway, request })
  throw refuse('sign_in_required', 'This link is not valid any more; ask for a new one.')
}

/** Admits a request and says who asks; throws the refusal of what is wrong. */
export const letIn = async (gateway: Gateway, route: ConsoleRoute, from: ConsoleRequest): Promise<Here> => {
  const request = { ...from, headers: withPresentCookie(from.headers, gateway.hash) }
  const { console: opened, settings } = consoleOf(gateway)
  checkOrigin(route, request)
  if (route.audience === 'tenant')
    return {
      gateway,
      console: opened,
      settings,
      request,
      session: undefined,
      tenant: await tenantLink(gateway, request),
    }
  const hasCookie = request.headers.get('cookie')?.includes('turnpike_session=') === true
  let session: Session | undefined
  if (hasCookie) {
    const auth = await opened.auth(request.origin)
    const found = await auth.api.getSession({ headers: request.headers }).catch(libraryFault)
    const asking = { personId: found?.user.id ?? '', origin: request.origin, everyMs: ASK_COMPANY_MS }
    const ended = found !== null && (await hasEnded(gateway, found))
    if (found !== null && !ended && (await askAgain(gateway, asking)) !== 'refused')
      session = await sessionOf(gateway, found)
  }
  checkAudience(route, session, gateway.clock.now())
  checkShown(route, request, session)
  return { gateway, console: opened, settings, request, session }
}
