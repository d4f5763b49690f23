/** A second factor: codes of an authenticator app, by the sign-in library. */

import { forgetAttempts, takeAttempt, takeCode } from '../../control/people/attempts.ts'
import { type ConsoleRoute, type Here, personOf, type Reply } from '../here.ts'
import { bodied } from '../row.ts'
import { totpCodeBody, totpEndBody, totpStartBody, totpStarted } from '../schema/session.ts'
import { checkCode } from './codes.ts'
import { signInFailed, wrongSignIn } from './credentials.ts'
import { apiOf, recordOwn } from './session-parts.ts'

const start = async (here: Here, { password }: { password: string }): Promise<Reply> => {
  await takeAttempt(here, personOf(here).email)
  const api = await apiOf(here)
  const made = await api
    .enableTwoFactor({ body: { password }, headers: here.request.headers })
    .catch(wrongSignIn)
  if (!('totpURI' in made)) throw new Error('the sign-in library did not begin TOTP')
  return { value: { uri: made.totpURI, backup_codes: made.backupCodes ?? [] } }
}

const confirm = async (here: Here, { code }: { code: string }): Promise<Reply> => {
  const { personId, email } = personOf(here)
  await takeAttempt(here, email)
  if (!(await takeCode(here, personId, code))) throw signInFailed()
  const api = await apiOf(here)
  const { headers } = await api
    .verifyTOTP({ body: { code }, headers: here.request.headers, returnHeaders: true })
    .catch(wrongSignIn)
  await forgetAttempts(here, email)
  await recordOwn(here, { id: personId, email }, 'person.totp_on')
  return { value: { done: true }, cookies: headers.getSetCookie() }
}

/** Takes the code as well as the password: whoever has found the password must not get rid of the code by it. */
const end = async (here: Here, { password, code }: { password: string; code: string }): Promise<Reply> => {
  const { personId, email } = personOf(here)
  await takeAttempt(here, email)
  await checkCode(here, { personId, code, cookie: here.request.headers.get('cookie') ?? '' })
  const api = await apiOf(here)
  const { headers } = await api
    .disableTwoFactor({ body: { password }, headers: here.request.headers, returnHeaders: true })
    .catch(wrongSignIn)
  await forgetAttempts(here, email)
  await recordOwn(here, { id: personId, email }, 'person.totp_off')
  return { value: { done: true }, cookies: headers.getSetCookie() }
}

export const totpRoutes: readonly ConsoleRoute[] = [
  bodied('POST /session/totp', {
    summary: 'Begins TOTP: the secret for the app, and backup codes, shown once.',
    audience: 'person',
    fresh: true,
    body: totpStartBody,
    answer: totpStarted,
    handler: start,
  }),
  bodied('PUT /session/totp', {
    summary: 'Turns TOTP on, by a first code.',
    audience: 'person',
    fresh: true,
    body: totpCodeBody,
    handler: confirm,
  }),
  bodied('POST /session/totp/off', {
    summary: 'Turns TOTP off, by the password and a code.',
    audience: 'person',
    fresh: true,
    body: totpEndBody,
    handler: end,
  }),
]
