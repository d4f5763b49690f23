/**
 * One-time links: each contains a secret that signs one person in, once. They are stored in the form that the sign-in
 * library expects, but without loading it, so that a start and a command can make one. Only the secret's hash is
 * stored.
 */
import { randomBytes } from 'node:crypto'
import { isObject, parseJson } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import type { PeopleRow, PeopleRows } from '../../store/people/people-port.ts'
import { hashOfLink } from '../tenants/tenants.ts'
import type { Proof } from './proof.ts'

/** Signs in the person who is asking for it now. */
export const LINK_MS = 15 * 60_000
/** Goes to somebody who did not ask for it. */
export const INVITATION_MS = 7 * 86_400_000

const identifierOf = (secret: string): string => `magic-link:${hashOfLink(secret)}`

/** The stored link, if it was not used yet. */
export const findLink = async (people: PeopleRows, secret: string): Promise<PeopleRow | undefined> => {
  const where = [{ column: 'identifier', is: '=', value: identifierOf(secret) }] as const
  return (await people.find('person_verification', { where, most: 1 }))[0]
}

/** Stores a link again that was used up by a sign-in which then failed, so that its owner can try it again. */
export const putLinkBack = async (people: PeopleRows, link: PeopleRow): Promise<void> => {
  const where = [{ column: 'id', is: '=', value: link.id ?? null }] as const
  if ((await people.count('person_verification', where)) === 0)
    await people.create('person_verification', link)
}

type NewLink = {
  readonly email: string
  readonly now: Instant
  readonly lifeMs: number
  /** What its use proves; undefined for a link that somebody else than the owner of the address may see. */
  readonly proves?: Proof | undefined
}

/** The address that a stored link was made for. */
export const emailOfLink = ({ value }: PeopleRow): string => {
  const stored = parseJson(String(value))
  return isObject(stored) ? String(stored.email) : ''
}

/** What the use of a stored link proves. */
export const proofOf = ({ proves_how: how, proves_by: by }: PeopleRow): Proof | undefined =>
  how === 'mail' || how === 'operator' ? { how, by: String(by) } : undefined

/** Makes the secret of a link for the owner of the e-mail address; the caller has made sure that this person exists. */
export const mintLink = async (
  people: PeopleRows,
  { email, now, lifeMs, proves }: NewLink,
): Promise<string> => {
  const secret = randomBytes(32).toString('base64url')
  const at = new Date(now).toISOString()
  await people.create('person_verification', {
    id: Bun.randomUUIDv7(),
    identifier: identifierOf(secret),
    value: JSON.stringify({ type: 'magic-link', email }),
    expires_at: new Date(now + lifeMs).toISOString(),
    created_at: at,
    updated_at: at,
    ...(proves === undefined ? {} : { proves_how: proves.how, proves_by: proves.by }),
  })
  return secret
}

/** The address of a link's page. The secret is after the #, so that no server's or proxy's log contains it. */
export const addressOfLink = (origin: string, secret: string): string => `${origin}/console/link#${secret}`
