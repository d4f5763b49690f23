/** The key that stands for all callers without one, on servers where single calls can be paid for. */
import { must } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import { x402Unavailable } from '../../payment/funding.ts'
import type { X402 } from '../../payment/x402.ts'
import { isEnabled, type Key } from '../../tenancy/key.ts'
import type { Gateway } from '../parts/gateway.ts'
import { noteKey, type Trace } from '../parts/trace.ts'

/** The key. The operator may limit or disable it like any other. Throws the 402 when it is not available. */
export const guestKey = async (gateway: Gateway, x402: X402, trace: Trace): Promise<Key> => {
  const found = must(await gateway.book.caller(x402.guestsHash))
  const { guestsHashBefore: before } = x402
  const key = found ?? (before === undefined ? undefined : must(await gateway.book.caller(before)))
  if (key === undefined || !isEnabled(key, monthOf(gateway.clock.now()))) throw x402Unavailable()
  noteKey(trace, key.id)
  return key
}
