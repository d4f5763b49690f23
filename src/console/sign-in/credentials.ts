/** Passwords, and the one answer to anything that is wrong with a sign-in. */

import { messageOf } from '../../core/message-of.ts'
import { refuse } from '../../core/refusal.ts'
import { StoreFault } from '../../store/faults.ts'
import { type Here, personOf } from '../here.ts'
import { hashOfPassword } from './password-hash.ts'
import { recordOwn } from './session-parts.ts'

const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined

/** The sign-in library turns a failing store into an error of its own; this gives the original fault back. */
export const libraryFault = (error: unknown): never => {
  const status = statusOf(error)
  if (status === undefined || status < 500) throw error
  throw new StoreFault(`the sign-in library could not ask the store: ${messageOf(error)}`, { cause: error })
}

/** The same answer whatever is wrong. */
export const signInFailed = () =>
  refuse(
    'sign_in_failed',
    'That did not work: the e-mail address, password, code or link is wrong, or was used before.',
  )

/** The refusal of a sign-in, whatever was wrong; faults of ours pass through. */
export const wrongSignIn = (error: unknown): never => {
  const status = statusOf(error)
  if (status !== undefined && status < 500) throw signInFailed()
  return libraryFault(error)
}

/** Sets a person's password and ends all their other sessions. */
export const setPassword = async (here: Here, personId: string, password: string, keep: string) => {
  const { people } = here.gateway.store
  const hash = await hashOfPassword(password)
  const at = new Date(here.gateway.clock.now()).toISOString()
  const own = [
    { column: 'user_id', is: '=', value: personId },
    { column: 'provider_id', is: '=', value: 'credential' },
  ] as const
  const changed = await people.update('person_account', own, { password: hash, updated_at: at })
  if (changed.length === 0)
    await people.create('person_account', {
      id: Bun.randomUUIDv7(),
      account_id: personId,
      provider_id: 'credential',
      user_id: personId,
      password: hash,
      created_at: at,
      updated_at: at,
    })
  await people.remove('person_session', [
    { column: 'user_id', is: '=', value: personId },
    { column: 'token', is: '<>', value: keep },
  ])
  const email = here.session === undefined ? personId : personOf(here).email
  await recordOwn(here, { id: personId, email }, 'person.password_set')
}
