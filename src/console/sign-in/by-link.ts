/** Signing in by a one-time link: what it asks for beside the link, what its use proves, and a new password. */

import { takeAttempt } from '../../control/people/attempts.ts'
import { emailOfLink, findLink, proofOf, putLinkBack } from '../../control/people/links.ts'
import { type Person, personBy } from '../../control/people/new-person.ts'
import { prove } from '../../control/people/proof.ts'
import { storable } from '../../core/storable.ts'
import { StoreFault } from '../../store/faults.ts'
import type { PeopleRow } from '../../store/people/people-port.ts'
import type { Here, Reply } from '../here.ts'
import { checkCode, codeRequired } from './codes.ts'
import { setPassword, signInFailed, wrongSignIn } from './credentials.ts'
import { apiOf, cookiesOf, headersOf, recordSignIn, sentBack } from './session-parts.ts'

type ByLink = {
  token: string
  password?: string | undefined
  name?: string | undefined
  code?: string | undefined
}

/** The library uses a link up before it makes the session, so after a fault of the store the link is put back. */
export const byLink = async (here: Here, answer: ByLink): Promise<Reply> => {
  await takeAttempt(here, `link ${answer.token}`)
  const { people } = here.gateway.store
  const link = await findLink(people, answer.token)
  const person = link === undefined ? undefined : await personBy(people, emailOfLink(link))
  if (link === undefined || person === undefined) throw signInFailed()
  try {
    return await enter(here, { link, person, answer })
  } catch (thrown) {
    // If the store still fails, only a new link helps.
    if (thrown instanceof StoreFault) await putLinkBack(people, link).catch(() => undefined)
    throw thrown
  }
}

type Entering = { readonly link: PeopleRow; readonly person: Person; readonly answer: ByLink }

const enter = async (here: Here, entering: Entering): Promise<Reply> => {
  const { person, link, answer } = entering
  const { people } = here.gateway.store
  // A mailbox is one factor, so whoever has set up a second one needs it here too.
  const code = person.totp ? answer.code : undefined
  if (person.totp) {
    if (code === undefined) throw codeRequired()
    await takeAttempt(here, person.email)
  }
  const api = await apiOf(here)
  const { headers, response } = await api
    .magicLinkVerify({
      query: { token: answer.token },
      headers: headersOf(here.request),
      returnHeaders: true,
    })
    .catch(wrongSignIn)
  if (code !== undefined)
    await checkCode(here, { personId: person.id, code, cookie: sentBack(headers) }).catch(async (wrong) => {
      await people.remove('person_session', [{ column: 'token', is: '=', value: response.token }])
      await putLinkBack(people, link)
      throw wrong
    })
  await settle(here, entering, response.token)
  return { value: { done: true }, cookies: cookiesOf(headers) }
}

/** What else the use of a link changes, once it is certain who came. */
const settle = async (here: Here, { link, person, answer }: Entering, token: string): Promise<void> => {
  const { store, clock } = here.gateway
  const proof = proofOf(link)
  if (proof !== undefined)
    await prove(here.gateway, {
      person,
      ...proof,
      now: clock.now(),
      keep: token,
      address: here.request.address,
    })
  if (answer.name !== undefined)
    await store.people.update('person', [{ column: 'id', is: '=', value: person.id }], {
      name: storable(answer.name),
    })
  if (answer.password !== undefined) await setPassword(here, person.id, answer.password, token)
  await recordSignIn(here, person, answer.code === undefined ? 'link' : 'link and code')
}
