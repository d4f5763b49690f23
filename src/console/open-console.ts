/** The console of a gateway, opened on first use: until then none of it is in memory. */
import { refuse, retryIn } from '../core/refusal.ts'
import type { Gateway } from '../gateway/parts/gateway.ts'
import type { Company } from '../settings/companies.ts'
import { sealingTokens, sessionSecret } from './old-secret.ts'
import type { Auth } from './sign-in/auth.ts'
import type { InTime } from './sign-in/company-auth.ts'

export type OpenConsole = {
  /** The sign-in library for an origin, because its cookie and passkeys depend on that. */
  auth(origin: string): Promise<Auth>
  /**
   * The same with a company's identity provider. Each is separate, so that other ways to sign in do not wait for the
   * provider.
   */
  company(company: Company, origin: string): Promise<Auth>
  /** Brings the roll-ups up to date, at most once in a while; nobody waits for it. */
  keepRolledUp(): void
}

const ROLL_UP_EVERY_MS = 5 * 60_000

/** How long a provider may take to answer one request. */
const PROVIDER_MS = 10_000

/** When those who waited for a provider that is away may try again. */
const AGAIN_S = 2

/** Hosts differ only if no origin is set; then a request may name any host. */
const ORIGINS_KEPT = 8

/** One for each origin; the oldest is forgotten. */
const keptByOrigin = (open: (origin: string) => Promise<Auth>) => {
  const kept = new Map<string, Promise<Auth>>()
  return (origin: string): Promise<Auth> => {
    const found = kept.get(origin)
    if (found !== undefined) return found
    const auth = open(origin)
    kept.set(origin, auth)
    auth.catch(() => kept.delete(origin))
    const oldest = kept.size > ORIGINS_KEPT ? kept.keys().next().value : undefined
    if (oldest !== undefined) kept.delete(oldest)
    return auth
  }
}

/**
 * Whether the provider could be asked for its addresses. If not, the library goes on without it, so such a one must not be
 * kept.
 */
const hasCompany = async ({ $context }: Auth, company: Company, inTime: InTime): Promise<boolean> => {
  const context = await inTime($context)
  return context?.socialProviders.some(({ id }) => id === company.id) === true
}

const open = (gateway: Gateway): OpenConsole => {
  const inTime: InTime = async (answer) =>
    (await Promise.race([answer, gateway.clock.sleep(PROVIDER_MS)])) ?? undefined
  let rolledAt = Number.NEGATIVE_INFINITY
  const opening = async (origin: string, more: { readonly company?: Company } = {}) => {
    // Passkeys need it first; bundled into one file it would come after them.
    await import('reflect-metadata')
    const { openAuth } = await import('./sign-in/auth.ts')
    const secret = sessionSecret(gateway.hash)
    const { seal } = sealingTokens(gateway.hash)
    return openAuth({ people: gateway.store.people, secret, origin, inTime, seal, ...more })
  }
  const withCompany = async (company: Company, origin: string): Promise<Auth> => {
    const auth = await opening(origin, { company })
    if (await hasCompany(auth, company, inTime)) return auth
    const { setting } = company
    gateway.log.warn('the identity provider of a company cannot be asked', { setting })
    throw refuse(
      'service_unavailable',
      'Your company’s identity provider does not answer; try again, or sign in another way.',
      retryIn(AGAIN_S),
    )
  }
  const companies = new Map<string, (origin: string) => Promise<Auth>>()
  return {
    auth: keptByOrigin((origin) => opening(origin)),
    company: (company, origin) => {
      const kept = companies.get(company.id) ?? keptByOrigin((one) => withCompany(company, one))
      companies.set(company.id, kept)
      return kept(origin)
    },
    keepRolledUp: () => {
      const now = gateway.clock.monotonicMs()
      if (now - rolledAt < ROLL_UP_EVERY_MS) return
      rolledAt = now
      gateway.store.reports.rollUp().catch((error: unknown) => {
        gateway.log.warn('the roll-ups could not be made', { error: String(error) })
      })
    },
  }
}

/** By store: successive gateways share one console. */
const opened = new WeakMap<Gateway['store'], OpenConsole>()

/** The console of the gateway. Throws a 404 if the operator has turned it off. */
export const consoleOf = (gateway: Gateway) => {
  const settings = gateway.console
  if (settings?.on !== true) throw refuse('not_found', 'This server has no console (CONSOLE=off).')
  let console = opened.get(gateway.store)
  if (console === undefined) {
    console = open(gateway)
    opened.set(gateway.store, console)
  }
  return { console, settings }
}
