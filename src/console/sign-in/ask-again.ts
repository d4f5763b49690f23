/**
 * Asks a company's provider again about a person whom it signed in, by the refresh token that it gave (RFC 6749, section 6).
 * Of all processes one asks at a time, because many providers take a refresh token once.
 */
import { endLoginsOf } from '../../control/people/logins.ts'
import { messageOf } from '../../core/message-of.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { type Company, companiesOf } from '../../settings/companies.ts'
import { theHouse } from '../../store/people/event-port.ts'
import type { PeopleRow } from '../../store/people/people-port.ts'
import { sealingTokens } from '../old-secret.ts'
import { consoleOf } from '../open-console.ts'
import { claimsOf, regroup } from './claims.ts'

/** `away` is a provider that has not answered for a day. */
type Standing = 'known' | 'refused' | 'away'

type Asking = {
  readonly personId: string
  /** The console's address. */
  readonly origin: string
  /** How old an answer may be, in milliseconds. */
  readonly everyMs: number
}

/** Without an answer for so long, agents get no new token. */
const AWAY_MS = 86_400_000

/** What a provider says of the person, in RFC 6749, section 5.2, and OpenID Connect Core 3.1.2.6; other errors are ours. */
const REFUSALS: readonly unknown[] = [
  'invalid_grant',
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
]

const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof Object && 'error' in thrown && REFUSALS.includes(thrown.error)

const sameRow = ({ id = null, refresh_token: token = null }: PeopleRow) =>
  [
    { column: 'id', is: '=', value: id },
    { column: 'refresh_token', is: '=', value: token },
  ] as const

/** Ends the sign-ins of the person's agents on every process, and the person's sessions. */
const end = async (gateway: Gateway, personId: string): Promise<void> => {
  await endLoginsOf(gateway, personId, theHouse)
  await gateway.store.people.remove('person_session', [{ column: 'user_id', is: '=', value: personId }])
}

const refuse = async (gateway: Gateway, company: Company, row: PeopleRow): Promise<Standing> => {
  const { people, events } = gateway.store
  const personId = String(row.user_id)
  // Whoever has signed in by the company since then has another token.
  if ((await people.update('person_account', sameRow(row), { refresh_token: '' })).length === 0)
    return 'known'
  await end(gateway, personId)
  const after = { by: company.issuer }
  await events.record({ actor: theHouse, orgId: 'people', what: 'person.refused', subject: personId, after })
  return 'refused'
}

/** Asks the provider, and stores the next refresh token, before which the present one may be worth nothing. */
const ask = async (
  gateway: Gateway,
  company: Company,
  row: PeopleRow,
  { origin }: Asking,
): Promise<Standing> => {
  const { people } = gateway.store
  const { seal, unseal } = sealingTokens(gateway.hash)
  const [stored, now] = [String(row.refresh_token), gateway.clock.now()]
  const token = unseal(stored)
  // It was sealed under a secret that is no more, as were the tokens of all agents.
  if (token === undefined) return 'known'
  try {
    const { $context } = await consoleOf(gateway).console.company(company, origin)
    const provider = (await $context).socialProviders.find(({ id }) => id === company.id)
    const given = await provider?.refreshAccessToken?.(token)
    const claims = given?.idToken === undefined ? undefined : claimsOf(given.idToken)
    // Source: OpenID Connect Core 12.2.
    if (claims !== undefined && claims.sub !== row.account_id) return refuse(gateway, company, row)
    const next = given?.refreshToken === undefined ? stored : seal(given.refreshToken)
    await people.update('person_account', sameRow(row), { refresh_token: next, answered_at: now })
    await regroup(gateway, company, String(row.user_id), claims)
    return 'known'
  } catch (thrown) {
    if (isRefusal(thrown)) return refuse(gateway, company, row)
    const { setting } = company
    gateway.log.warn('a company was not heard about a person', { setting, error: messageOf(thrown) })
    return now - Number(row.answered_at ?? 0) < AWAY_MS ? 'known' : 'away'
  }
}

const standingIn = async (
  gateway: Gateway,
  company: Company,
  row: PeopleRow,
  asking: Asking,
): Promise<Standing> => {
  if (row.refresh_token === '') {
    // Again, in case the process that was told died before it had ended all.
    await end(gateway, asking.personId)
    return 'refused'
  }
  const now = gateway.clock.now()
  const mine = await gateway.store.people.update(
    'person_account',
    [
      ...sameRow(row),
      { column: 'asked_at', is: '=', value: null, or: true },
      { column: 'asked_at', is: '<', value: now - asking.everyMs, or: true },
    ],
    { asked_at: now },
  )
  if (mine.length > 0) return ask(gateway, company, row, asking)
  return now - Number(row.answered_at ?? 0) < AWAY_MS ? 'known' : 'away'
}

/**
 * What the companies say of the person now. Whom one of them refuses is signed out before the answer, and stays so until
 * they sign in by it. People whom no company signed in, or for whom it gave no refresh token, are known.
 */
export const askAgain = async (gateway: Gateway, asking: Asking): Promise<Standing> => {
  const companies = gateway.console === undefined ? [] : companiesOf(gateway.console)
  if (companies.length === 0) return 'known'
  const rows = await gateway.store.people.find('person_account', {
    where: [
      { column: 'user_id', is: '=', value: asking.personId },
      { column: 'refresh_token', is: '<>', value: null },
    ],
  })
  const all = await Promise.all(
    rows.map((row) => {
      const company = companies.find(({ id }) => id === row.provider_id)
      return company === undefined ? 'known' : standingIn(gateway, company, row, asking)
    }),
  )
  return all.find((one) => one === 'refused') ?? all.find((one) => one === 'away') ?? 'known'
}
