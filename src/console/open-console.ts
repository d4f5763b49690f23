/** The console of a gateway, opened when somebody first uses it: until then nothing of it is in memory. */
import { refuse } from '../core/refusal.ts'
import type { ConsoleSettings, Gateway } from '../gateway/gateway.ts'
import type { Auth } from './auth.ts'
import { sessionSecret } from './old-secret.ts'

export type OpenConsole = {
  /** The sign-in library for an origin: its cookie and passkeys depend on that. */
  auth(origin: string): Promise<Auth>
  /** The same with the company's identity provider, by itself: whoever signs in otherwise does not wait for that. */
  company(origin: string): Promise<Auth>
  /** Sums what is over into the roll-ups, at most once in a while; nobody waits for it. */
  keepRolledUp(): void
}

const ROLL_UP_EVERY_MS = 5 * 60_000

/** Hosts differ only where no origin is set; then a request may name any. */
const ORIGINS_KEPT = 8

/** One of a kind for each origin, the oldest forgotten. */
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

const open = (gateway: Gateway, settings: ConsoleSettings): OpenConsole => {
  let rolledAt = Number.NEGATIVE_INFINITY
  const opening = (more: { readonly company?: ConsoleSettings }) =>
    keptByOrigin(async (origin) => {
      // Passkeys need it first; bundled into one file it would come behind them.
      await import('reflect-metadata')
      const { openAuth } = await import('./auth.ts')
      const secret = sessionSecret(gateway.hash)
      return openAuth({ people: gateway.store.people, secret, origin, ...more })
    })
  return {
    auth: opening({}),
    company: opening({ company: settings }),
    keepRolledUp: () => {
      const now = gateway.clock.monotonicMs()
      if (now - rolledAt < ROLL_UP_EVERY_MS) return
      rolledAt = now
      gateway.store.reports.rollUp().catch((error: unknown) => {
        gateway.log.warn('the roll-ups were not made', { error: String(error) })
      })
    },
  }
}

/** By the store: gateways that follow each other have one console. */
const opened = new WeakMap<Gateway['store'], OpenConsole>()

/** The console of the gateway. Throws a 404 where the operator has turned it off. */
export const consoleOf = (gateway: Gateway) => {
  const settings = gateway.console
  if (settings?.on !== true) throw refuse('not_found', 'This server has no console (CONSOLE=off).')
  let console = opened.get(gateway.store)
  if (console === undefined) {
    console = open(gateway, settings)
    opened.set(gateway.store, console)
  }
  return { console, settings }
}
