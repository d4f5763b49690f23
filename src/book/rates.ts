/**
 * Rates of keys, exact over all processes. What a request needs is first taken from the store's windows, and then spent
 * from all windows of the key at once, or from none. Keys with a large limit take chunks and return what they did not
 * use; a rejected request takes nothing.
 */
import type { KeyId } from '../tenancy/key.ts'
import type { RateLimits } from '../tenancy/rates.ts'
import type { RateVerdict, TokenRequest } from './contract.ts'
import { KeyRates, type RatesParts } from './key-rates.ts'

const NO_TOKENS: TokenRequest = { least: 0, most: 0 }

export type Rates = {
  /** `planRpm` binds a key without its own requests per minute; with undefined such a key has no such limit. */
  take(
    keyId: KeyId,
    limits: RateLimits,
    planRpm: number | undefined,
    tokens?: TokenRequest,
  ): RateVerdict | Promise<RateVerdict>
  /** Returns chunks that were not used since the last heartbeat. */
  returnIdle(): void
}

export const createRates = (parts: RatesParts): Rates => {
  const keys = new Map<KeyId, KeyRates>()

  const ratesOf = (keyId: KeyId): KeyRates => {
    let rates = keys.get(keyId)
    if (rates === undefined) {
      rates = new KeyRates(keyId, parts)
      keys.set(keyId, rates)
    }
    return rates
  }

  return {
    take: (keyId, limits, planRpm, tokens = NO_TOKENS) => {
      const rates = ratesOf(keyId)
      rates.follow(limits, planRpm)
      return rates.take(tokens)
    },
    returnIdle: () => {
      const nowMs = parts.clock.monotonicMs()
      for (const [keyId, rates] of keys) {
        rates.returnIdle(nowMs)
        if (rates.forgotten) keys.delete(keyId)
      }
    },
  }
}
