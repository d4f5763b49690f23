/** Makes people as rows, without the sign-in library: for the first start, for commands and for invitations. */
import type { Instant } from '../core/time.ts'
import type { PeopleRow, PeopleRows } from '../store/people/people-port.ts'

export type Person = {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly operator: boolean
}

/** An e-mail address as it is stored and compared. */
export const normalEmail = (email: string): string => email.trim().toLowerCase()

const personOf = (row: PeopleRow): Person => ({
  id: String(row.id),
  name: String(row.name),
  email: String(row.email),
  operator: row.operator === 1,
})

export const personBy = async (people: PeopleRows, email: string): Promise<Person | undefined> => {
  const [row] = await people.find('person', {
    where: [{ column: 'email', is: '=', value: normalEmail(email) }],
    most: 1,
  })
  return row === undefined ? undefined : personOf(row)
}

type NewPerson = { readonly email: string; readonly name: string; readonly now: Instant }

/** Makes a person; undefined if somebody has that address, or another process was faster. */
export const createPerson = async (
  people: PeopleRows,
  { email, name, now }: NewPerson,
): Promise<Person | undefined> => {
  const at = new Date(now).toISOString()
  const row = {
    id: Bun.randomUUIDv7(),
    name,
    email: normalEmail(email),
    email_verified: 0,
    created_at: at,
    updated_at: at,
  }
  try {
    return personOf(await people.create('person', row))
  } catch (error) {
    if ((await personBy(people, email)) === undefined) throw error
    return undefined
  }
}

/** The person with that address, made if there is none. Somebody without a password signs in by a link. */
export const ensurePerson = async (people: PeopleRows, wanted: NewPerson): Promise<Person> => {
  const person =
    (await personBy(people, wanted.email)) ??
    (await createPerson(people, wanted)) ??
    (await personBy(people, wanted.email))
  if (person === undefined) throw new Error('a person was removed while they were made')
  return person
}
