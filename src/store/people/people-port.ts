/** The store's port for people: the rows of the sign-in library, memberships of organisations, attempts to sign in. */
import type { Instant } from '../../core/time.ts'
import type { Actor } from './event-port.ts'

export const roles = ['owner', 'admin', 'billing', 'developer', 'viewer'] as const
export type Role = (typeof roles)[number]

/** A value in a row of the library: dates are ISO texts, and booleans are 0 or 1. */
export type PeopleValue = string | number | null

export type PeopleRow = Readonly<Record<string, PeopleValue>>

export type PeopleTable =
  | 'person'
  | 'person_session'
  | 'person_account'
  | 'person_verification'
  | 'person_totp'
  | 'person_passkey'

export type PeopleTest = {
  readonly column: string
  readonly is: '=' | '<>' | '<' | '<=' | '>' | '>=' | 'in' | 'not in' | 'begins' | 'contains' | 'ends'
  readonly value: PeopleValue | readonly PeopleValue[]
  /** How it is joined to the conditions before it. */
  readonly or?: boolean
}

export type PeopleQuery = {
  readonly where: readonly PeopleTest[]
  readonly most?: number
  readonly skip?: number
  readonly by?: { readonly column: string; readonly down: boolean }
}

/** Rows by the names of the library's columns; names that are not columns throw. */
export type PeopleRows = {
  create(table: PeopleTable, row: PeopleRow): Promise<PeopleRow>
  find(table: PeopleTable, query: PeopleQuery): Promise<readonly PeopleRow[]>
  /** The rows after the update. */
  update(table: PeopleTable, where: readonly PeopleTest[], set: PeopleRow): Promise<readonly PeopleRow[]>
  /** The rows as they were; if two delete one row at once, only one gets it. */
  remove(table: PeopleTable, where: readonly PeopleTest[]): Promise<readonly PeopleRow[]>
  count(table: PeopleTable, where: readonly PeopleTest[]): Promise<number>
}

export type Member = {
  readonly orgId: string
  readonly personId: string
  readonly role: Role
  readonly name: string
  readonly email: string
  readonly operator: boolean
  readonly createdAt: Instant
}

export type MemberStore = {
  /** Members of an organisation, or all of them, by e-mail. */
  list(of: { readonly orgId?: string; readonly personId?: string }): Promise<readonly Member[]>
  /** Makes somebody a member or changes the role; `last_owner` if no owner would be left. */
  put(member: { orgId: string; personId: string; role: Role }, by: Actor): Promise<'done' | 'last_owner'>
  remove(member: { orgId: string; personId: string }, by: Actor): Promise<'done' | 'unknown' | 'last_owner'>
  setOperator(personId: string, operator: boolean, by: Actor): Promise<void>
  /** Which organisation the session looks at from now on. */
  chooseOrg(session: string, orgId: string): Promise<void>
  /** Counts an attempt and returns how many there were in the present window of this many milliseconds. */
  attempt(what: string, windowMs: number): Promise<number>
  /** Counts how often something was presented, and returns the count; remembered for at least a day. */
  brought(what: string): Promise<number>
  /** Forgets the attempts, after a successful one. */
  forgetAttempts(what: string): Promise<void>
}
