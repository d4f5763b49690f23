/** `companies:` of turnpike.yaml: further companies whose own identity providers sign people in. */
import { z } from 'zod'
import { Secret } from '../../core/secret.ts'
import { bad } from '../../settings/bad-setting.ts'
import type { Company } from '../../settings/companies.ts'
import { DEFAULT_SCOPES, ISSUER, SCOPES } from '../../settings/console.ts'
import { roles } from '../../store/people/people-port.ts'

export const companyShape = z.strictObject({
  issuer: z.string().regex(ISSUER, 'must be an https address'),
  client_id: z.string().min(1).max(500),
  client_secret: z.string().min(1).max(2000).optional(),
  name: z.string().min(1).max(60),
  domains: z
    .array(
      z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be what is behind the @, such as acme.example'),
    )
    .min(1),
  org: z.string().min(1).max(100).optional(),
  role: z.enum(roles).exclude(['owner']).optional(),
  scopes: z.string().regex(SCOPES, 'must be scopes separated by spaces, openid first').optional(),
  groups_claim: z.string().min(1).max(200).optional(),
  trust_email: z.boolean().optional(),
})

/** By their ids, which stand in the addresses that providers send people back to. */
export const companiesShape = z.record(
  z
    .string()
    .regex(/^(?!company$)[a-z][a-z0-9-]{0,30}$/, 'must be a name of small letters other than company'),
  companyShape,
)

/** Throws BadSetting. */
export const companiesConfigOf = (companies: z.infer<typeof companiesShape>): readonly Company[] => {
  const speakers = new Map<string, string>()
  for (const [id, { domains }] of Object.entries(companies))
    for (const domain of domains) {
      const other = speakers.get(domain)
      if (other !== undefined && other !== id)
        bad(
          `companies.${id}.domains: ${domain} is also of companies.${other}; one provider speaks for an address`,
        )
      speakers.set(domain, id)
    }
  return Object.entries(companies).map(([id, it]) => ({
    id,
    setting: `companies.${id}`,
    name: it.name,
    issuer: it.issuer,
    clientId: it.client_id,
    clientSecret: it.client_secret === undefined ? undefined : new Secret(it.client_secret),
    trustEmail: it.trust_email ?? false,
    org: it.org,
    role: it.role ?? 'developer',
    scopes: it.scopes ?? DEFAULT_SCOPES,
    groupsClaim: it.groups_claim,
    domains: it.domains,
  }))
}
