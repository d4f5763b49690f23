/**
 * Passkeys: made, listed, removed, and used to sign in. They require the person's finger, face or PIN, so no code is
 * asked for.
 */

import { takeAttempt } from '../../control/people/attempts.ts'
import { refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { actorOf, type ConsoleRoute, type Here, personOf, type Reply } from '../here.ts'
import { bodied, route } from '../row.ts'
import { passkeyBegun, passkeyBody, passkeySignInBody, passkeys } from '../schema/passkeys.ts'
import { wrongSignIn } from './credentials.ts'
import { apiOf, cookiesOf, headersOf, recordSignIn } from './session-parts.ts'

const MOST_PASSKEYS = 20

const rowsOf = (here: Here) =>
  here.gateway.store.people.find('person_passkey', {
    where: [{ column: 'user_id', is: '=', value: personOf(here).personId }],
    by: { column: 'created_at', down: false },
    most: MOST_PASSKEYS,
  })

const list = async (here: Here): Promise<Reply> => ({
  value: {
    data: (await rowsOf(here)).map((row) => ({
      id: String(row.id),
      name: String(row.name ?? ''),
      created_at: String(row.created_at),
      synced: row.backed_up === 1,
    })),
  },
})

const record = (here: Here, what: string, name: string): Promise<void> =>
  here.gateway.store.events.record({
    actor: actorOf(here),
    orgId: 'people',
    what,
    subject: personOf(here).personId,
    after: { name },
  })

const begin = async (here: Here): Promise<Reply> => {
  if ((await rowsOf(here)).length >= MOST_PASSKEYS)
    throw refuse('forbidden', `A person has at most ${MOST_PASSKEYS} passkeys; remove one first.`)
  const api = await apiOf(here)
  const { headers, response } = await api
    .generatePasskeyRegistrationOptions({ headers: headersOf(here.request), returnHeaders: true })
    .catch(wrongSignIn)
  return { value: { options: response }, cookies: cookiesOf(headers) }
}

const add = async (
  here: Here,
  { name, response }: { name: string; response: Record<string, unknown> },
): Promise<Reply> => {
  const api = await apiOf(here)
  const label = storable(name)
  await api
    .verifyPasskeyRegistration({ body: { response, name: label }, headers: headersOf(here.request) })
    .catch(wrongSignIn)
  await record(here, 'person.passkey_added', label)
  return { value: { done: true } }
}

const remove = async (here: Here): Promise<Reply> => {
  const [gone] = await here.gateway.store.people.remove('person_passkey', [
    { column: 'id', is: '=', value: here.request.params.id ?? '' },
    { column: 'user_id', is: '=', value: personOf(here).personId },
  ])
  if (gone === undefined) throw refuse('not_found', 'There is no such passkey of yours.')
  await record(here, 'person.passkey_removed', String(gone.name ?? ''))
  return { value: { done: true } }
}

const beginSignIn = async (here: Here): Promise<Reply> => {
  await takeAttempt(here)
  const api = await apiOf(here)
  const { headers, response } = await api
    .generatePasskeyAuthenticationOptions({ headers: headersOf(here.request, ''), returnHeaders: true })
    .catch(wrongSignIn)
  return {
    value: { options: { ...response, userVerification: 'required' } },
    cookies: cookiesOf(headers),
  }
}

const signIn = async (here: Here, { response }: { response: Record<string, unknown> }): Promise<Reply> => {
  await takeAttempt(here)
  const api = await apiOf(here)
  const signed = await api
    .verifyPasskeyAuthentication({
      // The library reads the device's answer itself, and refuses anything else.
      body: { response: response as never },
      headers: headersOf(here.request),
      returnHeaders: true,
    })
    .catch(wrongSignIn)
  await recordSignIn(here, signed.response.user, 'passkey')
  return { value: { done: true }, cookies: cookiesOf(signed.headers) }
}

export const passkeyRoutes: readonly ConsoleRoute[] = [
  route('GET /session/passkeys', {
    summary: 'The passkeys of the person.',
    audience: 'person',
    answer: passkeys,
    handler: list,
  }),
  route('POST /session/passkeys/begin', {
    summary: 'What the browser needs to make a passkey.',
    audience: 'person',
    fresh: true,
    answer: passkeyBegun,
    handler: begin,
  }),
  bodied('POST /session/passkeys', {
    summary: 'Stores the public key of a new passkey.',
    audience: 'person',
    fresh: true,
    body: passkeyBody,
    handler: add,
  }),
  route('DELETE /session/passkeys/:id', {
    summary: 'Removes a passkey.',
    audience: 'person',
    fresh: true,
    handler: remove,
  }),
  route('POST /session/passkey/begin', {
    summary: 'What the browser needs to sign in by a passkey.',
    audience: 'anybody',
    answer: passkeyBegun,
    handler: beginSignIn,
  }),
  bodied('POST /session/passkey', {
    summary: 'Signs in by a passkey.',
    audience: 'anybody',
    body: passkeySignInBody,
    handler: signIn,
  }),
]
