/** Signing in by password (and a code), asking for a link, signing up, signing out; a person's password. */

import { forgetAttempts, takeAttempt } from '../../control/people/attempts.ts'
import { LINK_MS } from '../../control/people/links.ts'
import { sendLink } from '../../control/people/mail.ts'
import { createPerson, normalEmail, personBy } from '../../control/people/new-person.ts'
import { nameOfOrganisation } from '../../control/tenants/statements.ts'
import { refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { newIdOf } from '../../core/time.ts'
import { companiesOf } from '../../settings/companies.ts'
import { otherCells } from '../cells/others.ts'
import { type ConsoleRoute, type Here, personOf, type Reply } from '../here.ts'
import { bodied, route } from '../row.ts'
import { askLinkBody, linkBody, passwordBody, session, signInBody, signUpBody } from '../schema/session.ts'
import { byLink } from './by-link.ts'
import { checkCode, codeRequired } from './codes.ts'
import { setPassword, signInFailed, wrongSignIn } from './credentials.ts'
import { apiOf, cookiesOf, headersOf, recordSignIn, sentBack } from './session-parts.ts'

const byPassword = async (
  here: Here,
  { email, password, code }: { email: string; password: string; code?: string | undefined },
): Promise<Reply> => {
  await takeAttempt(here, email)
  const api = await apiOf(here)
  const signed = await api
    .signInEmail({
      body: { email: normalEmail(email), password },
      headers: headersOf(here.request),
      returnHeaders: true,
    })
    .catch(wrongSignIn)
  let { headers } = signed
  const person = await personBy(here.gateway.store.people, email)
  if ('twoFactorRedirect' in signed.response) {
    if (code === undefined) throw codeRequired()
    if (person === undefined) throw signInFailed()
    headers = await checkCode(here, { personId: person.id, code, cookie: sentBack(headers) })
  }
  await forgetAttempts(here, email)
  if (person !== undefined)
    await recordSignIn(here, person, code === undefined ? 'password' : 'password and code')
  return { value: { done: true }, cookies: cookiesOf(headers) }
}

const mailing = ({ gateway, request: { origin } }: Here) => ({ ...gateway, origin })

/** Sends a link by mail. The answer is the same whether or not such a person exists. */
const askLink = async (here: Here, { email }: { email: string }): Promise<Reply> => {
  await takeAttempt(here, `ask ${email}`)
  if (here.settings.smtp === undefined)
    throw refuse(
      'not_found',
      'This server sends no mail; ask its operator for a link: turnpike person reset-link.',
    )
  const person = await personBy(here.gateway.store.people, email)
  // Not awaited, because the time of the answer must not reveal whether such a person exists.
  if (person !== undefined)
    sendLink(mailing(here), { email: person.email, lifeMs: LINK_MS, subject: 'Sign in to Turnpike' }).catch(
      () => undefined,
    )
  return { value: { done: true } }
}

/**
 * A new organisation with its first owner, if the operator lets anybody sign up. The link proves the e-mail address.
 */
const signUp = async (
  here: Here,
  form: { email: string; name: string; organisation: string },
): Promise<Reply> => {
  const { settings, gateway } = here
  if (settings.signUp !== 'open' || settings.smtp === undefined)
    throw refuse('not_found', 'This server has no open sign-up; ask for an invitation.')
  await takeAttempt(here, `sign up ${form.email}`)
  const { store } = gateway
  const person = await createPerson(store.people, {
    email: form.email,
    name: storable(form.name),
    now: gateway.clock.now(),
  })
  if (person !== undefined) {
    const orgId = newIdOf('org')
    const actor = {
      kind: 'person',
      id: person.id,
      name: person.email,
      address: here.request.address,
    } as const
    await store.wallets.createWallet({ id: newIdOf('wal'), orgId, name: storable(form.organisation) }, actor)
    await store.members.put({ orgId, personId: person.id, role: 'owner' }, actor)
  }
  const letter = { email: normalEmail(form.email), lifeMs: LINK_MS, subject: 'Welcome to Turnpike' }
  sendLink(mailing(here), letter).catch(() => undefined)
  return { value: { done: true } }
}

const signOut = async (here: Here): Promise<Reply> => {
  const api = await apiOf(here)
  const { headers } = await api.signOut({ headers: headersOf(here.request), returnHeaders: true })
  return { value: { done: true }, cookies: cookiesOf(headers) }
}

const changePassword = async (
  here: Here,
  { current, password }: { current?: string | undefined; password: string },
): Promise<Reply> => {
  const { personId, email, token } = personOf(here)
  await takeAttempt(here, email)
  const api = await apiOf(here)
  await api
    .verifyPassword({ body: { password: current ?? '' }, headers: headersOf(here.request) })
    .catch(wrongSignIn)
  await setPassword(here, personId, password, token)
  return { value: { done: true } }
}

const hasPassword = async ({ gateway }: Here, personId: string): Promise<boolean> =>
  (await gateway.store.people.count('person_account', [
    { column: 'user_id', is: '=', value: personId },
    { column: 'provider_id', is: '=', value: 'credential' },
  ])) > 0

const shownSession = async (here: Here): Promise<Reply> => {
  const { session, settings, gateway } = here
  const about = {
    sign_up: settings.signUp,
    mail: settings.smtp !== undefined,
    cell: otherCells(gateway).length === 0 ? null : (gateway.cells?.own ?? null),
    companies: companiesOf(settings).map(({ id, name }) => ({ id, name })),
  }
  if (session === undefined)
    return { value: { ...about, person: null, organisations: [], organisation: null, acts: [] } }
  const { personId, email, name, operator, totp, orgId, role, actsFor, acts } = session
  const members = await gateway.store.members.list({ personId })
  const organisations = await Promise.all(
    members.map(async (member) => ({
      id: member.orgId,
      name: await nameOfOrganisation(gateway, member.orgId),
      role: member.role,
    })),
  )
  return {
    value: {
      ...about,
      person: { id: personId, email, name, operator, totp, has_password: await hasPassword(here, personId) },
      organisations,
      organisation:
        orgId === undefined || role === undefined
          ? null
          : { id: orgId, name: await nameOfOrganisation(gateway, orgId), role, acts_for: actsFor },
      acts,
    },
  }
}

export const signInRoutes: readonly ConsoleRoute[] = [
  route('GET /session', {
    summary: 'Who is signed in, where, and what they may do.',
    audience: 'anybody',
    answer: session,
    handler: shownSession,
  }),
  bodied('POST /session/password', {
    summary: 'Signs in by password, and by a code where the person has TOTP.',
    audience: 'anybody',
    body: signInBody,
    handler: byPassword,
  }),
  bodied('POST /session/link', {
    summary:
      'Signs in by a one-time link, with a code where the person has TOTP; sets a password if one is given.',
    audience: 'anybody',
    body: linkBody,
    handler: byLink,
  }),
  bodied('POST /session/ask-link', {
    summary: 'Mails a one-time link; the answer is the same for unknown addresses.',
    audience: 'anybody',
    body: askLinkBody,
    handler: askLink,
  }),
  bodied('POST /session/sign-up', {
    summary: 'Makes an organisation with its owner, where SIGN_UP is open and mail is set up.',
    audience: 'anybody',
    body: signUpBody,
    handler: signUp,
  }),
  route('DELETE /session', {
    summary: 'Signs out.',
    audience: 'person',
    handler: signOut,
  }),
  bodied('PUT /session/new-password', {
    summary: 'Changes the password; all other sessions end.',
    audience: 'person',
    body: passwordBody,
    handler: changePassword,
  }),
]
