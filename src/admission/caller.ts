/** Who may call: the state of a key, applied to the present call. Pure decisions; the book supplies the knowledge. */
import { decimalFromNano, type ExactNumber } from '../core/money.ts'
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'
import type { Instant, Month } from '../core/time.ts'
import type { LoanRefused } from '../ledger/types.ts'
import { CELL_HEADER } from '../settings/cells.ts'
import { awayOf, isEnabled, type Key, placeAway } from '../tenancy/key.ts'
import { type CapName, limitRows } from '../tenancy/limits.ts'

const TOKEN = /^sk-[A-Za-z0-9_-]{16,200}$/

/** The credential in an `Authorization` header, whatever it begins with. */
const bearerOf = (authorization: string | null): string | Refusal => {
  if (authorization === null || authorization.trim() === '')
    return refuse('missing_authorization', "Send your key in the header 'Authorization: Bearer sk-…'.", {
      headers: { 'www-authenticate': 'Bearer' },
    })
  const match = /^bearer +(\S+)$/i.exec(authorization.trim())
  const token = match?.[1]
  if (token === undefined) return wrongKey("The key must be sent as 'Authorization: Bearer sk-…'.")
  return token
}

/** The token of an `Authorization` value. The scheme is case-insensitive (RFC 9110). */
export const bearerToken = (authorization: string | null): string | Refusal => {
  const token = bearerOf(authorization)
  return typeof token !== 'string' || TOKEN.test(token) ? token : unknownKey()
}

/** One answer for every key that is not ours, so that nobody learns anything from it. */
export const unknownKey = (): Refusal =>
  wrongKey('The API key is not valid. Keys begin with sk- and are shown once, when they are made.')

const wrongKey = (message: string): Refusal =>
  refuse('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })

/**
 * The 401 of an access token that has ended. Clients of the gateway protocol ask for a sign-in at once when they are told
 * not to retry, and else after minutes.
 */
export const signInEnded = (): Refusal =>
  refuse('invalid_api_key', 'The sign-in of this agent has ended; sign in again.', {
    members: { reason: 'sign_in_ended' },
    headers: { 'www-authenticate': 'Bearer error="invalid_token"', 'x-should-retry': 'false' },
  })

/** The 401 of a trial's key whose time is over. */
export const trialEnded = (signUpUrl: string | undefined): Refusal =>
  refuse('invalid_api_key', `The trial has ended. ${signUpAt(signUpUrl)}`, {
    members: { reason: 'trial_ended', ...signUpMember(signUpUrl) },
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })

/** The 401 of a key whose time is over, or that of a key above it. */
export const expiredKey = (at: Instant, own: boolean): Refusal =>
  refuse(
    'invalid_api_key',
    `The API key${own ? '' : ' above this one'} expired at ${new Date(at).toISOString()}; who made it can give it more time.`,
    { members: { reason: 'expired' }, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
  )

/** What a caller can do when there is no trial, or it has ended. */
export const signUpAt = (signUpUrl: string | undefined): string =>
  signUpUrl === undefined
    ? 'Sign up with the operator of this server for a key.'
    : `Sign up for a key: ${signUpUrl}`

export const signUpMember = (signUpUrl: string | undefined): Readonly<Record<string, string>> =>
  signUpUrl === undefined ? {} : { sign_up_url: signUpUrl }

/** The 402 of a trial's key says what has happened: the trial has ended when it has less left than any call needs. */
export const trialShort = (
  refusal: Refusal,
  minimumCredits: ExactNumber,
  signUpUrl: string | undefined,
): Refusal => {
  if (refusal.code !== 'insufficient_balance' || refusal.members.limit !== 'wallet') return refusal
  const { available_credits: available } = refusal.members
  const over =
    typeof available === 'number' && typeof minimumCredits === 'number' && available < minimumCredits
  const text = over ? 'The trial has ended: its credit is used up.' : refusal.message
  return refuse('insufficient_balance', `${text} ${signUpAt(signUpUrl)}`, {
    members: { ...refusal.members, ...(over ? { reason: 'trial_ended' } : {}), ...signUpMember(signUpUrl) },
    headers: refusal.headers,
  })
}

/** The 404 of a sub-wallet that does not exist or is not this key's. */
export const unknownSubWallet = (): Refusal =>
  refuse(
    'not_found',
    'There is no such sub-wallet, or it is not yours; GET /api/wallet/sub-wallets lists those you have.',
  )

/** The 403 of a tag's value that gets no budget, because its tag has one for as many as it may. */
export const noBudgetLeft = ({ tag, value, valuesMax = 0 }: NonNullable<LoanRefused['budget']>): Refusal =>
  refuse(
    'budget_full',
    `${tag}=${value} is new, and the default budget of '${tag}' is for ${valuesMax} values, which it has. Use a known value, raise values_max of the budget, or set 'beyond' to other.`,
    { members: { budget: `${tag}=${value}` } },
  )

const byOthers = (who: string, { disabledBy, above }: Key): string =>
  disabledBy === undefined || !above.includes(disabledBy)
    ? `It was disabled by the ${who}; only they can enable it.`
    : 'It was disabled together with the key above it; whoever disabled that one can enable it.'

const texts = {
  self: () => 'It was disabled through its own limits endpoint; PUT {"disabled": false} there enables it.',
  operator: (key: Key) => byOthers('operator', key),
  reseller: (key: Key) => byOthers('reseller', key),
  spend_cap: (key: Key) => `Its lifetime spend cap is reached. ${raising('spendCap', key)}`,
  monthly_cap: (key: Key) =>
    `Its monthly cap is reached; it works again next month (UTC). ${raising('monthlyCap', key)}`,
} as const

/** Who can raise a cap that was reached: the key itself only up to what its creator set. */
const raising = (cap: CapName, { ancestors, limits, granted: { [cap]: granted } }: Key): string => {
  const { member } = limitRows[cap]
  const own = limits[cap]
  if (granted !== undefined && own !== undefined && own >= granted)
    return `The operator or the reseller set ${member}; only they can raise it.`
  // What a tenant is told of money is not known everywhere that a key is found disabled.
  const to = ancestors.length > 0 ? 'what was set for it' : granted && decimalFromNano(granted)
  const most = granted === undefined ? '' : `, to ${to} at most`
  return `PUT /v1/key/wholesale/me/limits raises ${member}${most}.`
}

/** The 503 of a key whose organisation is on its way to another cell, and the 421 of one that is there. */
export const elsewhere = ({ leaving, cell }: NonNullable<ReturnType<typeof awayOf>>): Refusal =>
  leaving
    ? refuse(
        'moving',
        `The organisation is being moved to the cell ${cell}. Nothing was charged; try again in 1 s.`,
        {
          members: { ...retryIn(1).members, cell },
          headers: retryIn(1).headers,
        },
      )
    : refuse('moved', `The organisation has moved to the cell ${cell}: send the request to its address.`, {
        members: { cell },
        headers: { [CELL_HEADER]: cell },
      })

/**
 * The same for whoever brings no key of the organisation, such as an operator: without the header by which a request is passed on,
 * because the other cell does not know them.
 */
export const notHere = (cell: string): Refusal => {
  const { code, message, members } = elsewhere(placeAway(cell))
  return refuse(code, message, {
    members,
    headers: members.retry_after === undefined ? {} : retryIn(1).headers,
  })
}

/** The 403 of a disabled key: why it is disabled, and who can change that. */
export const disabledKey = (key: Key): Refusal => {
  const away = awayOf(key)
  if (away !== undefined) return elsewhere(away)
  const reason = key.disabledReason ?? 'operator'
  return refuse('key_disabled', `The key is disabled. ${texts[reason](key)}`, { members: { reason } })
}

export const checkEnabled = (key: Key, month: Month): Refusal | undefined =>
  isEnabled(key, month) ? undefined : disabledKey(key)
