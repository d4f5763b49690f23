/** The key that stands for callers without one, where calls can be paid one by one. */
import { must } from '../core/refusal.ts'
import { monthOf } from '../core/time.ts'
import { x402Unavailable } from '../payment/funding.ts'
import type { X402 } from '../payment/x402.ts'
import { isEnabled, type Key } from '../tenancy/key.ts'
import type { Gateway } from './gateway.ts'
import type { Trace } from './trace.ts'

/** The operator may limit or disable it like any other. Throws the 402 where it is not to be had. */
export const guestKey = async (gateway: Gateway, x402: X402, trace: Trace): Promise<Key> => {
  const found = must(await gateway.book.caller(x402.guestsHash))
  const { guestsHashBefore: before } = x402
  const key = found ?? (before === undefined ? undefined : must(await gateway.book.caller(before)))
  if (key === undefined || !isEnabled(key, monthOf(gateway.clock.now()))) throw x402Unavailable()
  trace.keyId = key.id
  return key
}
