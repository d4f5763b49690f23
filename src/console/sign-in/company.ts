/** Signing in by a company's own identity provider (OpenID Connect): the way there and the way back. */

import { takeAttempt } from '../../control/people/attempts.ts'
import { personById } from '../../control/people/new-person.ts'
import { prove } from '../../control/people/proof.ts'
import { refuse } from '../../core/refusal.ts'
import { type Company, companiesOf } from '../../settings/companies.ts'
import { theHouse } from '../../store/people/event-port.ts'
import type { ConsoleRoute, Here, Reply } from '../here.ts'
import { route } from '../row.ts'
import { companyBegun } from '../schema/session.ts'
import { regroup, told } from './claims.ts'
import type { NotAdmitted } from './company-auth.ts'
import { wrongSignIn } from './credentials.ts'
import { cookiesOf, headersOf, recordSignIn, sentBack } from './session-parts.ts'

/** The page says why; `by` is whose provider it was. */
const outside = ({ id }: Company, why: string): string => `/console/sign-in?company=${why}&by=${id}`
const FAILED = 'failed'

/** Where somebody goes whom the provider knows, but who is not let in, and what the log says. */
const refusals: Readonly<Partial<Record<NotAdmitted, { to: string; why: string; setting?: string }>>> = {
  email_not_verified: {
    to: 'unverified',
    why: 'the provider does not say that the e-mail address is verified',
    setting: 'OIDC_TRUST_EMAIL',
  },
  foreign_address: {
    to: 'foreign',
    why: 'the provider may not speak for the e-mail address',
    setting: 'domains',
  },
  operator_by_address: {
    to: 'operator',
    why: 'an operator is not found by an e-mail address; they sign in another way first, and then by the company',
  },
}

/** Where somebody goes who is not let in; the page there says why. */
const refusedFor = ({ gateway, request }: Here, location: string | null): string => {
  if (!URL.canParse(location ?? '', request.origin)) return FAILED
  const error = new URL(location ?? '', request.origin).searchParams.get('error')
  const refused = Object.entries(refusals).find(([one]) => one === error)?.[1]
  if (refused === undefined) return FAILED
  const { to, why, ...about } = refused
  gateway.log.warn(`a company sign-in was refused: ${why}`, about)
  return to
}

const companyOf = ({ settings, request }: Here): Company => {
  const all = companiesOf(settings)
  const company = all.find(({ id }) => id === request.params.company)
  if (company === undefined)
    throw refuse(
      'not_found',
      all.length === 0
        ? 'This server has no company sign-in (OIDC_ISSUER).'
        : 'This server has no sign-in of that company.',
    )
  return company
}

const begin = async (here: Here): Promise<Reply> => {
  const company = companyOf(here)
  const { api } = await here.console.company(company, here.request.origin)
  await takeAttempt(here)
  const { headers, response } = await api
    .signInSocial({
      body: {
        provider: company.id,
        callbackURL: '/console',
        errorCallbackURL: outside(company, FAILED),
        disableRedirect: true,
      },
      headers: headersOf(here.request, ''),
      returnHeaders: true,
    })
    .catch(wrongSignIn)
  return { value: { url: response.url ?? '' }, cookies: cookiesOf(headers) }
}

/**
 * A person whom the provider knows and nobody here has added joins the company's organisation, if there is one. Whoever was
 * removed from it stays out until somebody adds them.
 */
const join = async (
  { gateway, request }: Here,
  { org: orgId, role }: Company,
  person: { id: string; email: string },
) => {
  const { members, events } = gateway.store
  if (orgId === undefined || (await members.list({ personId: person.id })).length > 0) return
  const about = { what: 'member.removed', subject: person.id }
  const [removed] = await events.list({ orgId, about, most: 1 })
  // Whom groups left out, groups let in again.
  if (removed !== undefined && removed.actor.kind !== theHouse.kind) return
  const actor = { kind: 'person', id: person.id, name: person.email, address: request.address } as const
  await members.put({ orgId, personId: person.id, role }, actor)
}

/** The provider's word renews the proof of the address at each sign-in. */
const proved = async (
  { gateway, request }: Here,
  { id, issuer }: Company,
  { user, session }: { readonly user: { readonly id: string }; readonly session: { readonly token: string } },
): Promise<void> => {
  const { store, clock } = gateway
  const person = await personById(store.people, user.id)
  if (person === undefined) return
  const [how, by] = ['company', issuer] as const
  const now = clock.now()
  await prove(gateway, { person, how, by, now, keep: session.token, address: request.address })
  const linked = [
    { column: 'user_id', is: '=', value: user.id },
    { column: 'provider_id', is: '=', value: id },
  ] as const
  await store.people.update('person_account', linked, { asked_at: now, answered_at: now })
}

const back = async (here: Here): Promise<Reply> => {
  // This answer is a page for a person, so a provider that is away must not be an error in JSON.
  const { query } = here.request
  const company = companyOf(here)
  const auth = await here.console.company(company, here.request.origin).catch(() => undefined)
  if (auth === undefined) return { redirect: outside(company, FAILED) }
  const { api } = auth
  const given = (name: string) => {
    const value = query.get(name)
    return value === undefined ? {} : { [name]: value }
  }
  const said: Parameters<typeof told.run>[0] = {}
  const request = {
    method: 'GET',
    params: { id: company.id },
    query: { ...given('code'), ...given('state'), ...given('error'), ...given('iss') },
    headers: headersOf(here.request),
    asResponse: true,
  } as const
  const response = await told.run(said, () => api.callbackOAuth(request))
  const cookies = cookiesOf(response.headers)
  const found = await api.getSession({ headers: headersOf(here.request, sentBack(response.headers)) })
  const location = response.headers.get('location')
  if (location !== '/console' || found === null)
    return { redirect: outside(company, refusedFor(here, location)), cookies }
  await proved(here, company, found)
  await join(here, company, found.user)
  await regroup(here.gateway, company, found.user.id, said.claims)
  await recordSignIn(here, found.user, 'company')
  return { redirect: '/console', cookies }
}

export const companyRoutes: readonly ConsoleRoute[] = [
  route('POST /session/companies/:company', {
    summary: 'Begins a sign-in by a company’s identity provider; returns the address to go to.',
    audience: 'anybody',
    answer: companyBegun,
    handler: begin,
  }),
  route('GET /session/callback/:company', {
    summary: 'Where the identity provider sends people back to; redirects to the console.',
    audience: 'anybody',
    fromElsewhere: true,
    query: ['code', 'state', 'error', 'error_description', 'iss', 'session_state', 'scope'],
    statuses: [302],
    handler: back,
  }),
]
