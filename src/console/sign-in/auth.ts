/**
 * The sign-in library, configured: passwords, sessions, links, TOTP, passkeys, a company's OIDC. Loaded when the
 * console is first used.
 */
import { passkey } from '@better-auth/passkey'
import { APIError, betterAuth } from 'better-auth'
import { magicLink, twoFactor } from 'better-auth/plugins'
import { LINK_MS } from '../../control/people/links.ts'
import { personById } from '../../control/people/new-person.ts'
import { endCredentials } from '../../control/people/proof.ts'
import { hashOfLink } from '../../control/tenants/tenants.ts'
import { harmless, storable } from '../../core/storable.ts'
import type { Company } from '../../settings/companies.ts'
import type { PeopleRows } from '../../store/people/people-port.ts'
import { peopleAdapter } from './auth-adapter.ts'
import { admitsCompany, companyPlugins, type InTime } from './company-auth.ts'
import { hashOfPassword } from './password-hash.ts'

type AuthParts = {
  readonly people: PeopleRows
  /** Signs cookies and encrypts TOTP secrets. */
  readonly secret: string
  /** The console's address; its scheme decides about the cookie. */
  readonly origin: string
  readonly inTime: InTime
  /** Set for signing in by the company's provider, whose addresses are fetched at once. */
  readonly company?: Company
  /** How a refresh token of that provider is stored. */
  readonly seal: (token: string) => string
}

const SESSION_SECONDS = 7 * 86_400
const REFRESH_SECONDS = 86_400
const PASSWORD_LEAST = 12

/** The person's finger, face or PIN makes a passkey two factors; without it, a found device would be enough. */
const passkeys = (origin: string) =>
  passkey({
    rpName: 'Turnpike',
    rpID: new URL(origin).hostname,
    origin,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    authentication: {
      afterVerification: async ({ verification }) => {
        if (!verification.authenticationInfo.userVerified) throw new APIError('UNAUTHORIZED')
      },
    },
    schema: { passkey: { fields: { credentialID: 'credentialId' } } },
  })

/** We make and send the links; the library redeems them. */
const oneTimeLinks = () =>
  magicLink({
    disableSignUp: true,
    expiresIn: LINK_MS / 1_000,
    storeToken: { type: 'custom-hasher', hash: async (token) => hashOfLink(token) },
    sendMagicLink: async () => undefined,
  })

/** Of the tokens only the refresh token is kept, sealed: with it the provider is asked again. */
const keptTokens =
  (seal: AuthParts['seal']) =>
  async <Account extends object>(account: Account & { readonly refreshToken?: unknown }) => {
    const { refreshToken } = account
    const kept = typeof refreshToken === 'string' ? seal(refreshToken) : null
    return { data: { ...account, accessToken: null, refreshToken: kept, idToken: null } }
  }

/**
 * Before a company's provider is linked to somebody, everything else that signs them in ends: it may be of whoever had
 * the account before its owner came.
 */
const accountHooks = ({ people, company, seal }: AuthParts) => ({
  create: {
    before: async <Account extends { readonly providerId: string; readonly userId: string }>(
      account: Account,
    ) => {
      const person = account.providerId === company?.id ? await personById(people, account.userId) : undefined
      if (person !== undefined) await endCredentials(people, person)
      return keptTokens(seal)(account)
    },
  },
  update: { before: keptTokens(seal) },
})

/** A person is called as their company's provider says, as far as that can be stored and read. */
const readably = async <User extends { readonly name: string }>(user: User) => ({
  data: { ...user, name: harmless(storable(user.name)) },
})

/** A text of ours in a row of the library, which no request sets. */
const ours = { type: 'string', input: false, required: false } as const

/** Opens the library. It never sees a request directly: routes of ours call each of its functions. */
export const openAuth = (parts: AuthParts) => {
  const { origin, company } = parts
  const secure = origin.startsWith('https://')
  return betterAuth({
    appName: 'Turnpike',
    baseURL: origin,
    basePath: '/console/api/session',
    secret: parts.secret,
    database: peopleAdapter(parts.people),
    telemetry: { enabled: false },
    logger: { disabled: true },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD_LEAST,
      maxPasswordLength: 200,
      password: {
        hash: (password) => hashOfPassword(password),
        verify: ({ hash, password }) => Bun.password.verify(password, hash),
      },
    },
    user: {
      additionalFields: { operator: { type: 'boolean', input: false, required: false, defaultValue: false } },
      ...(company === undefined ? {} : { validateUserInfo: admitsCompany(company, parts.people) }),
    },
    session: {
      expiresIn: SESSION_SECONDS,
      updateAge: REFRESH_SECONDS,
      cookieCache: { enabled: false },
      additionalFields: { orgId: ours, endsAt: ours },
    },
    databaseHooks: { account: accountHooks(parts), user: { create: { before: readably } } },
    // By the rules of `admitsCompany`, which asks what the provider says of the address.
    account: {
      accountLinking: {
        enabled: true,
        trustedProviders: company === undefined ? [] : [company.id],
        requireLocalEmailVerified: false,
      },
    },
    // We count attempts ourselves, by address and by account, over all processes together.
    rateLimit: { enabled: false },
    advanced: {
      useSecureCookies: false,
      disableCSRFCheck: false,
      cookies: {
        session_token: { name: secure ? '__Host-turnpike_session' : 'turnpike_session' },
      },
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/', secure },
      database: { generateId: () => Bun.randomUUIDv7() },
    },
    plugins: [
      oneTimeLinks(),
      twoFactor({ issuer: 'Turnpike' }),
      passkeys(origin),
      ...(company === undefined ? [] : companyPlugins(company, parts.inTime)),
    ],
  })
}

export type Auth = ReturnType<typeof openAuth>
