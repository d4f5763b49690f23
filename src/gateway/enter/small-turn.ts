/**
 * The turn of what is no call and yet costs work: writes, and requests that are wrong in themselves. Each process counts
 * them in memory, beside the windows of calls and by the same limits, because the store's count would cost more than
 * they do.
 */
import { smallRequestsLimited } from '../../admission/rate.ts'
import { must } from '../../core/refusal.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import { leastRequests } from '../../tenancy/rates.ts'
import type { Gateway } from '../parts/gateway.ts'
import { addRateHeaders, type Trace } from '../parts/trace.ts'
import { placesOf } from './key-turn.ts'

/** Counts the request of a known key for a minute, or throws the 429; keys below a key with rates share those. */
export const takeSmallTurn = async (gateway: Gateway, key: Key, trace: Trace): Promise<void> => {
  const { book, clock, memory, options } = gateway
  const makers = key.above.length === 0 ? [] : must(await book.makersOf(key))
  const [[own, limits], ...others] = placesOf(key, makers)
  const bounds = [[own, { ...limits, rpm: limits.rpm ?? options.planRpm }] as const, ...others]
  for (const [place, rates] of bounds) {
    const limit = leastRequests(rates)
    if (limit === undefined) continue
    const turn = memory.guestRates.take(`small ${place}`, limit, clock.monotonicMs())
    const { admitted, remaining, leftMs } = turn
    if (place === own || !admitted) addRateHeaders(trace, { limit, remaining, resetAt: clock.now() + leftMs })
    if (!admitted) throw smallRequestsLimited(limit, leftMs)
  }
}

/** An answer that used up nothing tells what is left of the key's own windows, as far as this process knows. */
export const tellRates = ({ book, options }: Gateway, trace: Trace): void => {
  const { key } = trace
  if (key === undefined) return
  const left = book.rateLeft(placeOf(key), key.limits, options.planRpm)
  if (left !== undefined) addRateHeaders(trace, left)
}
