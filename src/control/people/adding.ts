/** Adding somebody by an e-mail address: somebody new, or the owner of an account that is proved to be theirs. */
import type { z } from 'zod'
import { refuse } from '../../core/refusal.ts'
import type { Acting } from '../act.ts'
import { may } from '../who.ts'
import { takeAttempt } from './attempts.ts'
import { INVITATION_MS, LINK_MS } from './links.ts'
import { type linkGiven, sendLink } from './mail.ts'
import type { Person } from './new-person.ts'
import { type Proof, personToAdd } from './proof.ts'

type Added = { readonly person: Person; readonly isNew: boolean }

/** How an account that was made by an address is proved. */
export const PROVED_BY =
  'The operator of this server gives its owner a link that does: turnpike person reset-link <email>.'

/** Those who answer for all people vouch for whom they give a link to. */
const vouched = ({ who }: Acting): Proof | undefined =>
  may(who, 'people') ? { how: 'operator', by: who.actor.name } : undefined

/**
 * The person whom an organisation adds. Throws a 403 with reason `not_proved` for an account whose owner has not proved
 * the address; where there is mail, that owner gets a link which does.
 */
export const toBeAdded = async (acting: Acting, email: string, called?: string): Promise<Added> => {
  const { control, who } = acting
  const wanted = { email, name: called ?? email.split('@')[0] ?? email, now: control.clock.now() }
  const found = await personToAdd(control.store.people, wanted)
  if (found !== undefined) return found
  let fix = PROVED_BY
  if (control.console?.smtp !== undefined) {
    const request = { address: who.actor.address ?? who.actor.id }
    await takeAttempt({ gateway: control, request }, `ask ${email}`)
    await sendLink(control, { email, lifeMs: LINK_MS, subject: 'Prove your address to Turnpike' })
    fix = 'We have mailed a link that does; add the person again once it was used.'
  }
  throw refuse(
    'forbidden',
    `This address has an account whose owner has not proved it, or not for a year. ${fix}`,
    { members: { reason: 'not_proved' } },
  )
}

/** A link for somebody new. A person with an account signs in as usual: a link shown here would open all of it. */
export const welcome = async (
  acting: Acting,
  { person: { email }, isNew }: Added,
  subject: string,
): Promise<z.output<z.ZodObject<typeof linkGiven>>> =>
  isNew
    ? sendLink(acting.control, { email, lifeMs: INVITATION_MS, subject, proves: vouched(acting) })
    : { sent: false, link: null, told: 'They have an account already, and sign in as usual.' }
