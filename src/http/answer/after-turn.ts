/** What a refused request still owes its rates, and where its refusal is explained. */
import { Refusal } from '../../core/refusal.ts'
import { takeSmallTurn, tellRates } from '../../gateway/enter/small-turn.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import { HelperRefusal } from './helper-refusal.ts'

/** Statuses that say that the request is wrong in itself. */
const WRONG: ReadonlySet<number> = new Set([400, 404, 405, 408, 410, 413, 415])

/**
 * A wrong request of a key that took no turn as a call takes one here: beyond the rate its answer is the 429. Other
 * refusals tell the rates. Returns what the answer is made of.
 */
export const afterTurn = async (gateway: Gateway, trace: Trace, thrown: unknown): Promise<unknown> => {
  const { key, headers } = trace
  if (key === undefined || headers['x-ratelimit-limit'] !== undefined) return thrown
  const isWrong = (thrown instanceof Refusal || thrown instanceof HelperRefusal) && WRONG.has(thrown.status)
  try {
    if (isWrong) await takeSmallTurn(gateway, key, trace)
    else tellRates(gateway, trace)
    return thrown
  } catch (refusal) {
    return refusal
  }
}

/** Where this server explains the error in detail. */
export const helpFor = (code: string) => ({ link: `</reference/errors#${code}>; rel="help"` })
