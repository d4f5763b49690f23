/**
 * The company's identity provider, for the sign-in library: found by discovery, its tokens checked against its keys and none
 * stored but the sealed refresh token. The library leaves out some checks of OpenID Connect and has no time limit; both are here.
 */
import type { BetterAuthOptions, BetterAuthPlugin } from 'better-auth'
import { getSessionFromCtx } from 'better-auth/api'
import { genericOAuth } from 'better-auth/plugins'
import type { Company } from '../../settings/companies.ts'
import type { PeopleRows } from '../../store/people/people-port.ts'
import { claimsOf, told } from './claims.ts'

/** The answer of a provider, or nothing if it takes too long: nothing comes of a later one, and the runtime ends the request. */
export type InTime = <T>(answer: Promise<T>) => Promise<T | undefined>

type Context = Parameters<NonNullable<BetterAuthPlugin['init']>>[0]
type Provider = Context['socialProviders'][number]

/** A token for several clients must say that it was made for this one (OpenID Connect Core 3.1.3.7). */
const isMadeFor =
  (clientId: string) =>
  ({ aud, azp }: { readonly aud?: unknown; readonly azp?: unknown }): boolean =>
    azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId

/**
 * Mends the provider in place, because its functions use its members. Its keys need no limit of ours: the library gives their
 * request five seconds.
 */
const strict = (provider: Provider, clientId: string, inTime: InTime): void => {
  const { idToken, validateAuthorizationCode, getUserInfo, refreshAccessToken } = provider
  if (idToken !== undefined && 'jwks' in idToken) idToken.verifyClaims = isMadeFor(clientId)
  provider.validateAuthorizationCode = async (data) => (await inTime(validateAuthorizationCode(data))) ?? null
  provider.refreshAccessToken = async (token, context) => {
    const answer =
      refreshAccessToken === undefined ? undefined : await inTime(refreshAccessToken(token, context))
    if (answer === undefined) throw new Error('it did not answer in time')
    return answer
  }
  provider.getUserInfo = async (tokens) => {
    // Only the token says that it belongs to this sign-in, and who signs in.
    if (tokens.idToken === undefined) return null
    const found = await inTime(getUserInfo(tokens))
    if (found === undefined || found === null || !('sub' in found.data)) return null
    return found.data.sub === claimsOf(tokens.idToken).sub ? found : null
  }
}

/** Comes after the library's own plugin, which has made the provider by then. */
const strictly = (clientId: string, inTime: InTime): BetterAuthPlugin => ({
  id: 'strict-company',
  init: ({ socialProviders }) => {
    for (const provider of socialProviders) strict(provider, clientId, inTime)
  },
})

/** The plugins for a company's provider. */
export const companyPlugins = ({ id, issuer, clientId, clientSecret, scopes }: Company, inTime: InTime) => [
  genericOAuth({
    config: [
      {
        providerId: id,
        discoveryUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
        clientId,
        ...(clientSecret === undefined ? {} : { clientSecret: clientSecret.reveal() }),
        scopes: scopes.split(' '),
        pkce: true,
        requireIdTokenVerification: true,
      },
    ],
  }),
  strictly(clientId, inTime),
]

/** Why somebody is not let in. */
export type NotAdmitted = 'email_not_verified' | 'foreign_address' | 'signup_disabled' | 'operator_by_address'

type Validate = Parameters<NonNullable<NonNullable<BetterAuthOptions['user']>['validateUserInfo']>>
type Identity = Validate[0]
type Endpoint = Validate[1]

const isOperator = async (people: PeopleRows, id: string): Promise<boolean> => {
  const of = [
    { column: 'id', is: '=', value: id },
    { column: 'operator', is: '=', value: 1 },
  ] as const
  return (await people.count('person', of)) > 0
}

/** Whether the provider may speak for the address. */
const speaksFor = ({ domains }: Company, email: unknown): boolean =>
  domains === undefined || domains.includes(String(email).toLowerCase().split('@').at(-1) ?? '')

/**
 * Whom the provider's word lets in. Somebody whom the provider's own name for them is linked to comes in whatever the address
 * is now. Others come by their address, which somebody else could have typed if the provider does not say that it is verified.
 * An operator is never found by an address: they are linked from a session of their own.
 */
export const admitsCompany =
  (company: Company, people: PeopleRows) =>
  async (
    { user, source: { action, oauth } }: Identity,
    context: Endpoint,
  ): Promise<{ error: NotAdmitted } | undefined> => {
    const note = told.getStore()
    if (note !== undefined) note.claims = oauth?.profile
    if (oauth === undefined || action === 'sign-in') return
    const verified = String(oauth.profile?.email_verified) === 'true'
    if (!verified && !company.trustEmail) return { error: 'email_not_verified' }
    // Else the provider of one company could open the accounts of another's people.
    if (!speaksFor(company, oauth.profile?.email)) return { error: 'foreign_address' }
    if (action === 'link-account' && (await isOperator(people, String(user.id)))) {
      const signedIn = await getSessionFromCtx(context)
      if (signedIn?.user.id !== user.id) return { error: 'operator_by_address' }
    }
    // Without an organisation for newcomers, only people whom somebody added can sign in.
    if (action === 'create-user' && company.org === undefined) return { error: 'signup_disabled' }
  }
