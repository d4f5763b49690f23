/** The refusal for whatever was thrown: a refusal itself, a fault of the store, or a bug of ours. */
import { Refusal, refuse, unavailable } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Trace } from '../gateway/trace.ts'
import { StoreFault } from '../store/faults.ts'

/** The refusal for whatever was thrown; a fault of our own is logged. */
export const refusalFor = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof StoreFault) {
    gateway.log.warn('the store failed', { call: trace.callId, error: thrown.message })
    return unavailable('The ledger cannot be reached.')
  }
  return internalError(gateway, trace, thrown)
}

const internalError = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  gateway.memory.faults.note(gateway.clock.monotonicMs())
  gateway.log.error('internal error', {
    call: trace.callId,
    error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
  })
  return refuse(
    'internal_error',
    'The server failed to handle this call; it was not charged. The request id helps the operator find out why.',
  )
}

/** Where this server explains the error in detail. */
export const helpFor = (code: string) => ({ link: `</reference/errors#${code}>; rel="help"` })
