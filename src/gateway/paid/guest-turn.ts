/** One request of a caller who has not paid yet, counted by its network address. */
import { guestsLimited } from '../../admission/rate.ts'
import type { Gateway } from '../parts/gateway.ts'
import { addRateHeaders, type Trace } from '../parts/trace.ts'

/** Kinds are counted separately, so that a flood of one leaves the others alone. */
type GuestKind =
  | 'quote'
  | 'payment'
  | 'trial'
  | 'claim'
  | 'payer'
  | 'list'
  | 'tools'
  | 'reference'
  | 'sign-in'
  | 'token'
  | 'log'

/**
 * Counts the request before any work is done for it, or throws the 429. Returns a function that takes it out of the
 * count again once it turns out to be paid.
 */
export const takeGuestTurn = (
  gateway: Gateway,
  kind: GuestKind,
  origin: string,
  trace: Trace,
): (() => void) => {
  const name = `${kind} ${origin}`
  const limit = gateway.options.guestRpm
  const { admitted, remaining, leftMs } = gateway.memory.guestRates.take(
    name,
    limit,
    gateway.clock.monotonicMs(),
  )
  if (admitted) return () => gateway.memory.guestRates.giveBack(name)
  addRateHeaders(trace, { limit, remaining, resetAt: gateway.clock.now() + leftMs })
  throw guestsLimited(limit, leftMs)
}
