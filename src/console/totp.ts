/** A second factor: codes of an authenticator app, by the sign-in library. */
import { takeCode } from './attempts.ts'
import { signInFailed, wrongSignIn } from './credentials.ts'
import { type ConsoleRoute, type Here, personOf, type Reply } from './here.ts'
import { bodied } from './read.ts'
import { totpCodeBody, totpStartBody, totpStarted } from './schema/session.ts'
import { done } from './schema/shared.ts'

const apiOf = async (here: Here) => (await here.console.auth(here.request.origin)).api

const start = async (here: Here, { password }: { password: string }): Promise<Reply> => {
  const api = await apiOf(here)
  const made = await api
    .enableTwoFactor({ body: { password }, headers: here.request.headers })
    .catch(wrongSignIn)
  if (!('totpURI' in made)) throw new Error('the sign-in library did not begin TOTP')
  return { value: { uri: made.totpURI, backup_codes: made.backupCodes ?? [] } }
}

const record = (here: Here, what: string): Promise<void> => {
  const { personId, email } = personOf(here)
  return here.gateway.store.events.record({
    actor: { kind: 'person', id: personId, name: email, address: here.request.address },
    orgId: 'people',
    what,
    subject: personId,
  })
}

const confirm = async (here: Here, { code }: { code: string }): Promise<Reply> => {
  if (!(await takeCode(here, personOf(here).personId, code))) throw signInFailed()
  const api = await apiOf(here)
  const { headers } = await api
    .verifyTOTP({ body: { code }, headers: here.request.headers, returnHeaders: true })
    .catch(wrongSignIn)
  await record(here, 'person.totp_on')
  return { value: { done: true }, cookies: headers.getSetCookie() }
}

const end = async (here: Here, { password }: { password: string }): Promise<Reply> => {
  const api = await apiOf(here)
  const { headers } = await api
    .disableTwoFactor({ body: { password }, headers: here.request.headers, returnHeaders: true })
    .catch(wrongSignIn)
  await record(here, 'person.totp_off')
  return { value: { done: true }, cookies: headers.getSetCookie() }
}

export const totpRoutes: readonly ConsoleRoute[] = [
  bodied({
    method: 'POST',
    path: '/session/totp',
    summary: 'Begins TOTP: the secret for the app, and backup codes, shown once.',
    audience: 'person',
    fresh: true,
    body: totpStartBody,
    answer: totpStarted,
    handler: start,
  }),
  bodied({
    method: 'PUT',
    path: '/session/totp',
    summary: 'Turns TOTP on, by a first code.',
    audience: 'person',
    fresh: true,
    body: totpCodeBody,
    answer: done,
    handler: confirm,
  }),
  bodied({
    method: 'POST',
    path: '/session/totp/off',
    summary: 'Turns TOTP off.',
    audience: 'person',
    fresh: true,
    body: totpStartBody,
    answer: done,
    handler: end,
  }),
]
