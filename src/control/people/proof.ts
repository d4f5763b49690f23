/**
 * Proof that who uses an account owns its e-mail address. It is a stored fact: when it was proved, how, and by what.
 * Whoever saw a link that was shown may be somebody else, so nothing is given to an account by its address before that.
 */
import type { Instant } from '../../core/time.ts'
import type { PeopleRows } from '../../store/people/people-port.ts'
import type { Control } from '../act.ts'
import { endLoginsOf } from './logins.ts'
import { createPerson, type NewPerson, type Person, personBy } from './new-person.ts'

/** How an address is proved: by its mailbox, by a company's provider, or by the word of an operator; and which. */
export const hows = ['mail', 'company', 'operator'] as const
export type Proof = { readonly how: (typeof hows)[number]; readonly by: string }

/** An address may go to somebody else, so a proof that nothing has renewed for a year does not count. */
export const PROOF_MS = 366 * 86_400_000

/** Whether the address was proved, and lately enough. */
export const isProved = ({ provedAt }: Person, now: Instant): boolean =>
  provedAt !== undefined && now - provedAt < PROOF_MS

/**
 * Who is to be added by an address: somebody new, or the owner of an account that is proved. Undefined for an account
 * that is not, which may be somebody else's.
 */
export const personToAdd = async (
  people: PeopleRows,
  wanted: NewPerson,
): Promise<{ readonly person: Person; readonly isNew: boolean } | undefined> => {
  const before = await personBy(people, wanted.email)
  const made = before === undefined ? await createPerson(people, wanted) : undefined
  if (made !== undefined) return { person: made, isNew: true }
  // If another process was faster, that one gave its link to somebody.
  const person = before ?? (await personBy(people, wanted.email))
  return person !== undefined && isProved(person, wanted.now) ? { person, isNew: false } : undefined
}

type Ending = { readonly id: string; readonly email: string; readonly keep?: string | undefined }

/** Ends everything that signs the person in, except links to a company's provider and the session to keep. */
export const endCredentials = async (people: PeopleRows, { id, email, keep }: Ending): Promise<void> => {
  const own = [{ column: 'user_id', is: '=', value: id }] as const
  await people.remove('person_account', [...own, { column: 'provider_id', is: '=', value: 'credential' }])
  await people.remove('person_passkey', own)
  await people.remove('person_totp', own)
  await people.update('person', [{ column: 'id', is: '=', value: id }], { two_factor_enabled: 0 })
  await people.remove('person_verification', [
    { column: 'identifier', is: 'begins', value: 'magic-link:' },
    { column: 'value', is: 'contains', value: `"email":${JSON.stringify(email)}` },
  ])
  await people.remove('person_session', [
    ...own,
    ...(keep === undefined ? [] : [{ column: 'token', is: '<>', value: keep } as const]),
  ])
}

type Proving = Proof & {
  readonly person: Person
  readonly now: Instant
  /** The session that brought the proof. */
  readonly keep: string
  /** The network address that it came from. */
  readonly address: string
}

/**
 * Stores a proof, or renews it. The first one ends everything else that signs the person in, because somebody else may
 * have set it.
 */
export const prove = async (
  control: Pick<Control, 'store' | 'book'>,
  { person, how, by, now, keep, address }: Proving,
): Promise<void> => {
  const { people, events } = control.store
  const actor = { kind: 'person', id: person.id, name: person.email, address } as const
  const first = person.provedAt === undefined
  if (first) {
    await endCredentials(people, { ...person, keep })
    await endLoginsOf(control, person.id, actor)
  }
  await people.update('person', [{ column: 'id', is: '=', value: person.id }], {
    proved_at: new Date(now).toISOString(),
    proved_how: how,
    proved_by: by,
  })
  if (first)
    await events.record({
      actor,
      orgId: 'people',
      what: 'person.proved',
      subject: person.id,
      after: { how, by },
    })
}
