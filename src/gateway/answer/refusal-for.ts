/** The refusal for whatever was thrown: a refusal itself, a fault of the store, or a bug of ours. */
import { notHere } from '../../admission/caller.ts'
import { Refusal, refuse, unavailable } from '../../core/refusal.ts'
import { Elsewhere, StoreFault } from '../../store/faults.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'

/** The refusal for whatever was thrown; a fault of our own is logged. */
export const refusalFor = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  const refusal = asRefusal(gateway, trace, thrown)
  noteTrouble(gateway, refusal)
  return refusal
}

/**
 * Notes a refusal that is the server's trouble and not the caller's, for /api/status. The ledger, a drain and a vendor have
 * lines of their own there, which end with the trouble.
 */
export const noteTrouble = (
  { book, clock, memory, offering }: Gateway,
  { status, code, message, members }: Pick<Refusal, 'status' | 'code' | 'message' | 'members'>,
): void => {
  if (status < 500 || offering.vendors.has(String(members.provider))) return
  const { fresh, draining } = book.health()
  if (fresh && !draining) memory.faults.note(clock.monotonicMs(), troubles[code] ?? whyOf(message))
}

/** What is told to everybody; a message may name a call. */
const troubles: Readonly<Partial<Record<string, string>>> = {
  internal_error: 'a request failed through a fault of this server within the last minute',
  upstream_error: 'a service that this server asks failed within the last minute',
  payment_unconfirmed: 'payments could not be confirmed within the last minute',
}
const whyOf = (message: string): string =>
  `calls were refused within the last minute: ${message.split(/[.;] /)[0]}`

const asRefusal = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof Elsewhere) return notHere(thrown.cell)
  if (thrown instanceof StoreFault) {
    // While the ledger is away its own line says so, once.
    if (gateway.book.health().fresh)
      gateway.log.warn('the store failed', { call: trace.callId, error: thrown.message })
    return unavailable('The ledger cannot be reached.')
  }
  return internalError(gateway, trace, thrown)
}

const internalError = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  gateway.log.error('internal error', {
    call: trace.callId,
    error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
  })
  return refuse(
    'internal_error',
    'The server failed to handle this call; it was not charged. The request id helps the operator find out why.',
  )
}
