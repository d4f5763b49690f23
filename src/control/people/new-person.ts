/** Makes people as rows, without the sign-in library: for the first start, for commands and for invitations. */
import type { Instant } from '../../core/time.ts'
import type { PeopleRow, PeopleRows } from '../../store/people/people-port.ts'

export type Person = {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly operator: boolean
  /** A code of an authenticator app is asked for. */
  readonly totp: boolean
  /** When the person proved to own the address; undefined for never. */
  readonly provedAt: Instant | undefined
  /** By what, as `prove` was told. */
  readonly provedHow: string | undefined
}

/** An e-mail address as it is stored and compared. */
export const normalEmail = (email: string): string => email.trim().toLowerCase()

const personOf = (row: PeopleRow): Person => ({
  id: String(row.id),
  name: String(row.name),
  email: String(row.email),
  operator: row.operator === 1,
  totp: row.two_factor_enabled === 1,
  provedAt: typeof row.proved_at === 'string' ? Date.parse(row.proved_at) : undefined,
  provedHow: typeof row.proved_how === 'string' ? row.proved_how : undefined,
})

const personWhere = async (
  people: PeopleRows,
  column: 'id' | 'email',
  value: string,
): Promise<Person | undefined> => {
  const [row] = await people.find('person', { where: [{ column, is: '=', value }], most: 1 })
  return row === undefined ? undefined : personOf(row)
}

export const personById = (people: PeopleRows, id: string): Promise<Person | undefined> =>
  personWhere(people, 'id', id)

export const personBy = (people: PeopleRows, email: string): Promise<Person | undefined> =>
  personWhere(people, 'email', normalEmail(email))

export type NewPerson = { readonly email: string; readonly name: string; readonly now: Instant }

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
