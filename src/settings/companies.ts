/** Companies whose own identity providers (OpenID Connect) sign people in: that of OIDC_ISSUER, and those of turnpike.yaml. */
import type { Secret } from '../core/secret.ts'
import type { consoleSettings } from './console.ts'
import type { ValuesOf } from './setting.ts'

type OwnSettings = ValuesOf<typeof consoleSettings>

export type Company = {
  /** Stands in the address that the provider sends people back to. */
  readonly id: string
  /** The setting that names it. */
  readonly setting: string
  /** On the button. */
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Secret | undefined
  /** Whether an address counts that the provider does not call verified. */
  readonly trustEmail: boolean
  /** The organisation of people whom nobody here has added. */
  readonly org: string | undefined
  readonly role: OwnSettings['oidcRole']
  /** Separated by spaces. Source: RFC 6749, section 3.3. */
  readonly scopes: string
  /** The claim that lists a person's groups. */
  readonly groupsClaim: string | undefined
  /** What is behind the @ of the addresses that it may speak for; any where it is absent. */
  readonly domains?: readonly string[]
}

/** The id of that of OIDC_ISSUER. */
const OWN = 'company'

/** All of them, in the order of their buttons. */
export const companiesOf = (
  settings: OwnSettings & { readonly companies?: readonly Company[] },
): readonly Company[] => {
  const { oidcIssuer: issuer, oidcClientId: clientId = '', companies = [] } = settings
  if (issuer === undefined) return companies
  const own: Company = {
    id: OWN,
    setting: 'OIDC_ISSUER',
    name: settings.oidcName,
    issuer,
    clientId,
    clientSecret: settings.oidcClientSecret,
    trustEmail: settings.oidcTrustEmail,
    org: settings.oidcOrg,
    role: settings.oidcRole,
    scopes: settings.oidcScopes,
    groupsClaim: settings.oidcGroupsClaim,
  }
  return [own, ...companies]
}
