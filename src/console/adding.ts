/** Adding somebody by an e-mail address: somebody new, or the owner of an account that is proved to be theirs. */
import { refuse } from '../core/refusal.ts'
import { takeAttempt } from './attempts.ts'
import type { Here } from './here.ts'
import { LINK_MS } from './links.ts'
import { sendLink } from './mail.ts'
import type { Person } from './new-person.ts'
import { personToAdd } from './proof.ts'
import type { LinkGiven } from './schema/shared.ts'

type Added = { readonly person: Person; readonly isNew: boolean }

/**
 * The person whom an organisation adds. Throws a 403 with reason `not_proved` for an account whose owner has not proved
 * the address; where there is mail, that owner gets a link which does.
 */
export const toBeAdded = async (here: Here, email: string): Promise<Added> => {
  const { store, clock } = here.gateway
  const wanted = { email, name: email.split('@')[0] ?? email, now: clock.now() }
  const found = await personToAdd(store.people, wanted)
  if (found !== undefined) return found
  let fix =
    'The operator of this server gives its owner a link that does: turnpike person reset-link <email>.'
  if (here.settings.smtp !== undefined) {
    await takeAttempt(here, `ask ${email}`)
    await sendLink(here, { email, lifeMs: LINK_MS, subject: 'Prove your address to Turnpike' })
    fix = 'We have mailed a link that does; add the person again once it was used.'
  }
  throw refuse(
    'forbidden',
    `This address has an account whose owner has not proved it, or not for a year. ${fix}`,
    { members: { reason: 'not_proved' } },
  )
}

type Letter = { readonly lifeMs: number; readonly subject: string }

/** A link for somebody new. A person with an account signs in as usual: a link shown here would open all of it. */
export const welcome = async (here: Here, { person, isNew }: Added, letter: Letter): Promise<LinkGiven> =>
  isNew
    ? sendLink(here, { email: person.email, ...letter })
    : { sent: false, link: null, told: 'They have an account already, and sign in as usual.' }
